"""Any fields make an envelope that our own validator accepts, or an error that names the field."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goop_mcp import route, validate
from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import FAMILIES
from goop_mcp.protocols.factory.tables import KEYS
from goop_mcp.services.build_report import FIELDS, PROTOCOLS, ReportFieldsError, build_report
from goop_mcp.validation.findings import Severity
from tests.services.reporting import NOW

pytestmark = pytest.mark.requirement("P-20")

TIGER = "tiger-4711-xyz-tiger-4711"
TASK = {
    "status": "COMPLETE",
    "agent": "goop-executor",
    "phase": "execute",
    "task_id": "W2.T1",
    "summary": "Login works & stays <fast>.",
    "checks": [{"name": "tests", "passed": True, "evidence": "pytest -q: 12 passed"}],
    "next_action": "Review it",
}
WORKFLOW: dict[str, Any] = {
    "workflow_context": {
        "workflow_id": "w1",
        "feature_id": "007",
        "feature_dir": "specs/007/",
        "previous_results": {},
    },
    "user_request": "Add OAuth login",
}
FEEDBACK: dict[str, Any] = {
    "feedback_from": "test",
    "iteration": 1,
    "max_iterations": 3,
    "issues_to_fix": [
        {
            "severity": "HIGH",
            "type": "bug",
            "message": "The token is never checked",
            "location": "src/a.py:12",
            "recommendation": "Check it",
        }
    ],
}
GOOD: dict[str, list[dict[str, Any]]] = {
    "goop_report": [
        TASK,
        {
            **TASK,
            "task_name": "Log in",
            "wave": "2/3",
            "task": "1 / 4",
            "files": [{"path": "src/a b.py", "action": "created", "description": 'The "best"'}],
            "commits": [{"sha": "a1b2c3d", "message": "feat: log in"}],
            "memories": [{"type": "decision", "importance": 0.7, "title": "jose <3"}],
            "next_agent": "goop-tester",
            "next_command": "/goop-execute",
            "files_to_read": ["src/a b.py"],
            "spec_locked": True,
            "ready": True,
            "suggest_new_session": False,
        },
        {**TASK, "status": "BLOCKED", "blockers": "Nobody decided on the format."},
        {**TASK, "status": "PARTIAL", "checks": []},
    ],
    "agent_request": [
        {
            "original_intent": "Make it fast",
            "current_task_summary": "Cache the answers of the search",
            "task_details": "Use what is there & measure.",
            "deliverables": [{"kind": "file", "path": "src/cache.py", "text": "The cache"}],
        }
    ],
    "speckit": [
        {
            "agent": "plan",
            "status": "error",
            "execution_time_ms": 12,
            "error": {
                "type": "ValidationError",
                "code": "E1",
                "message": "There is no spec.",
                "recoverable": False,
                "recovery_strategy": "ask_user",
            },
        },
        WORKFLOW,
        {"feedback_context": FEEDBACK, "user_request": "Again, please"},
    ],
    "factory": [
        {"status": "questions", "questions": [{"id": "q1", "question": "Which format?"}]},
    ],
}


def check(text: str, protocol: str) -> None:
    for mode in ("lenient", "strict"):
        for wanted in (protocol, "auto"):
            verdict = validate(f"Done.\n\n{text}", protocol=wanted, mode=mode)
            assert verdict.protocol == protocol
            assert [each for each in verdict.findings if each.severity is not Severity.INFO] == []
            assert verdict.repairs == ()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_fields_make_an_envelope_of_each_family(protocol: str, tmp_path: Path) -> None:
    for fields in GOOD[protocol]:
        built = build_report(fields, protocol=protocol, project=tmp_path, now=NOW)
        check(built.text, protocol)


def test_every_protocol_has_its_fields() -> None:
    assert {each.name for each in FAMILIES} == set(PROTOCOLS)
    assert set(FIELDS["factory"]) == KEYS


@pytest.mark.parametrize(
    ("change", "agent", "asks"),
    [
        ({"next_action": "W2.T4: the form"}, "goop-executor", False),
        ({"next_action": "w3.t1"}, "goop-executor", False),
        ({"next_action": "W2.T1 again"}, "orchestrator", True),
        ({"next_action": "Review it"}, "orchestrator", True),
        ({"next_action": "Ask about W2.T4"}, "orchestrator", True),
        ({"next_agent": "orchestrator"}, "orchestrator", False),
        ({"next_action": "W2.T4", "next_agent": "goop-tester"}, "goop-tester", False),
        (
            {"suggest_new_session": True, "next_command": "/goop-resume"},
            "orchestrator",
            False,
        ),
        ({"status": "PARTIAL"}, "orchestrator", False),
    ],
)
def test_the_next_task_is_for_an_agent_and_else_a_remark_says_who_is_asked(
    change: dict[str, Any], agent: str, asks: bool, tmp_path: Path
) -> None:
    built = build_report({**TASK, **change}, project=tmp_path, now=NOW)
    assert f'<next_action agent="{agent}">' in built.text
    decision = route(validate(built.text))
    remarks = [each for each in built.to_dict()["remarks"] if "a person is asked" in each]
    assert bool(remarks) is asks
    if asks:
        assert decision.actions == ("ask_user",)
    elif agent != "orchestrator":
        assert decision.actions == ("save_state", "continue_next")
        assert decision.next_agent == agent


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"status": "DONE"}, "status is 'DONE'; expected one of COMPLETE, PARTIAL"),
        ({"phase": 3}, "phase is a number; expected one of plan, specify"),
        ({"summary": " "}, "summary is empty; write it or leave it out"),
        ({"summary": "a\0b"}, "summary holds a control character; remove it"),
        ({"summary": "[what was done]"}, "summary: "),
        ({"agent": None, "next_action": None}, "agent is missing; next_action is missing"),
        ({"checks": []}, "checks: status is COMPLETE and no check is reported"),
        ({"checks": {}}, "checks is an object; expected a list"),
        ({"checks": [{"name": "t", "passed": "yes"}]}, "checks[0].passed is a text; expected true"),
        ({"files": [{"action": "created"}]}, "files[0] has no path"),
        ({"files": [{"path": "a", "by": "me"}]}, "files[0] has no key 'by'; expected path, action"),
        ({"files": ["a"] * 2_000}, "files has 2,000 items; expected at most 1,000"),
        ({"memories": [{"type": "idea"}]}, "memories[0].type is 'idea'; expected one of decision"),
        ({"files_to_read": [3]}, "files_to_read[0] is a number; expected a text"),
        ({"wave": "second"}, "wave is 'second'; expected the number and the total, such as 2/3"),
        ({"wave": "3/2"}, "wave"),
        ({"next_agent": "somebody"}, "next_agent: next agent is 'somebody'"),
        ({"status": "BLOCKED"}, "blockers: status is BLOCKED and blockers is empty"),
        ({"ready": "yes"}, "ready is a text; expected true or false"),
        ({"summary": "x" * 600_000}, "characters; expected at most 524,288: shorten the texts"),
    ],
)
def test_an_error_names_the_field_and_the_fix(
    tmp_path: Path, change: dict[str, object], problem: str
) -> None:
    with pytest.raises(ReportFieldsError) as raised:
        build_report({**TASK, **change}, project=tmp_path, now=NOW)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("protocol", "fields", "problem"),
    [
        ("factory", {}, "status is missing"),
        ("speckit", {}, "agent is missing; status is missing"),
        ("speckit", {"user_request": "x"}, "workflow_context is missing"),
        ("speckit", {**WORKFLOW, "status": "success"}, "status belongs to an answer"),
        ("speckit", {**WORKFLOW, "workflow_context": {"workflow_id": "w"}}, "feature_id"),
        ("speckit", {**WORKFLOW, "workflow_context": "w"}, "workflow_context is a text"),
        ("speckit", {"feedback_context": []}, "feedback_context is a list"),
        ("speckit", {**WORKFLOW, "user_request": 3}, "user_request is not text"),
        ("speckit", {**WORKFLOW, "user_request": " "}, "the user's request is blank"),
        ("speckit", {**WORKFLOW, "user_request": "x\nFEEDBACK_CONTEXT:\n{}"}, "like a context"),
    ],
)
def test_an_error_of_the_other_protocols_names_the_field(
    tmp_path: Path, protocol: str, fields: dict[str, object], problem: str
) -> None:
    with pytest.raises(ReportFieldsError) as raised:
        build_report(fields, protocol=protocol, project=tmp_path, now=NOW)
    assert problem.lower() in str(raised.value).lower()


def test_unknown_fields_and_protocols_are_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'summary'"):
        build_report({**TASK, "sumary": "x"}, project=tmp_path, now=NOW)
    with pytest.raises(UnknownNameError, match="did you mean 'speckit'"):
        build_report(TASK, protocol="spekit", project=tmp_path, now=NOW)


def test_secrets_are_removed_from_the_fields(tmp_path: Path) -> None:
    built = build_report(
        {**TASK, "summary": f"It used api_key={TIGER} so far."}, project=tmp_path, now=NOW
    )
    assert built.redactions == 1
    assert TIGER not in built.text


# Pieces that end sections, open others, or read like template text or another protocol.
PIECES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "COMPLETE", "BLOCKED", "execute", "goop-executor", "orchestrator", "W1.T1", "2/3",
            "<goop_report>", "</summary>", "]]>", "&amp;", "```", "## STATUS", "[path]", "None",
            "N/A", "TODO", "{\"status\": \"success\"}", "<agent_request>", "a/b.py", "../x", "\r\n",
            "plan", "success", "error", "failure", "created", "note", "WORKFLOW_CONTEXT:",
        ]
    ),
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(PIECES, st.booleans(), st.integers(-5, 10**7), st.floats(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                st.sampled_from(["path", "action", "name", "passed", "evidence", "type", "title"]),
                st.sampled_from(["kind", "text", "id", "question", "message", "code", "sha"]),
                PIECES,
            ),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=8,
)
# A sentence names one of the fields, or something that stands in one of them.
NAMES_A_FIELD = re.compile(
    r"\b(?:constraint|deliverable|" + "|".join({n for each in FIELDS.values() for n in each}) + ")"
)


def check_built(fields: dict[str, Any], protocol: str, project: Path) -> None:
    """Build the fields: the envelope is valid, or the error names one of the fields."""
    problem = None
    try:
        built = build_report(fields, protocol=protocol, project=project, now=NOW)
    except (ReportFieldsError, UnknownNameError) as error:
        problem = str(error)

    if problem is None:
        check(built.text, protocol)
    else:
        assert NAMES_A_FIELD.search(problem), problem


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_fields_make_a_valid_envelope_or_an_error_that_names_one(
    tmp_path: Path, protocol: str, data: st.DataObject
) -> None:
    changed = data.draw(st.dictionaries(st.sampled_from(FIELDS[protocol]), VALUES, max_size=3))
    fields = {**data.draw(st.sampled_from(GOOD[protocol])), **changed}
    check_built(fields, protocol, tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_text_in_a_field_is_written_so_that_it_is_read_again(
    tmp_path: Path, protocol: str, data: st.DataObject
) -> None:
    places = [name for name, value in GOOD[protocol][0].items() if isinstance(value, str)]
    pieces = data.draw(st.lists(PIECES, min_size=1, max_size=4))
    fields = {**GOOD[protocol][0], data.draw(st.sampled_from(places)): " ".join(pieces)}
    check_built(fields, protocol, tmp_path)
