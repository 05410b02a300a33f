"""What a speckit agent is given: read from a text and built from fields."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Verdict
from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.speckit import (
    AgentInput,
    FeedbackContext,
    WorkflowContext,
    write_input,
)
from goop_mcp.protocols.speckit.model import SEVERITIES, Issue
from goop_mcp.protocols.speckit.samples import CLARIFY_REPLY, FEEDBACK_INPUT, WORKFLOW_INPUT
from tests.protocols.json_replies import changed, judge, judge_both, the_finding, weighty_rules
from tests.protocols.json_strategies import keys
from tests.requirements import requirement


def given_in(verdict: Verdict) -> AgentInput:
    assert isinstance(verdict.envelope, AgentInput)
    return verdict.envelope


@requirement("S-01")
@pytest.mark.parametrize("around", ["{}", "You are plan.\n\n{}", "```text\n{}```\n"])
def test_context_and_request_are_read(around: str) -> None:
    for verdict in judge_both(around.format(WORKFLOW_INPUT), "speckit"):
        assert verdict.findings == ()
        assert given_in(verdict).user_request == "Add OAuth login"
        context = given_in(verdict).workflow_context
        assert context is not None
        assert context.feature_id == "007-oauth-login"


def test_request_of_several_lines_is_kept_whole() -> None:
    words = "Add OAuth login\n\nwith {braces}, `code` and\n- a list"
    given = given_in(judge(changed(WORKFLOW_INPUT, ("Add OAuth login", words)), "speckit"))

    assert given.user_request == words


@requirement("S-02")
@pytest.mark.parametrize("field", ["workflow_id", "feature_id", "feature_dir", "previous_results"])
def test_context_without_a_field_is_refused(field: str) -> None:
    head, _, rest = WORKFLOW_INPUT.partition("{")
    values = json.loads("{" + rest.partition("\n\nUSER")[0])
    del values[field]

    for verdict in judge_both(f"{head}{json.dumps(values)}\n\nUSER_REQUEST: x", "speckit"):
        finding = the_finding(verdict, "speckit/missing-field")
        assert weighty_rules(verdict) == {"speckit/missing-field"}
        assert finding.path == f"/workflow_context/{field}"
        assert finding.line == 2


@requirement("S-02")
def test_another_feature_dir_gets_a_warning_at_its_place() -> None:
    text = changed(WORKFLOW_INPUT, ('"specs/007-oauth-login/"', '"features/7/"'))

    finding = the_finding(judge(text, "speckit"), "speckit/feature-dir-differs")

    assert finding.severity == "warning"
    assert text.splitlines()[(finding.line or 0) - 1][(finding.column or 0) - 1 :].startswith(
        '"features/7/"'
    )


@requirement("S-03")
def test_files_of_earlier_results_are_found() -> None:
    results: dict[str, Any] = {
        "specify": {"status": "success", "result": {"spec_file": "specs/1/old.md"}},
        "clarify": {"status": "success", "spec_file": "specs/1/spec.md"},
        "plan": {"status": "success", "result": {"plan_file": "specs/1/plan.md"}},
        "tasks": {
            "status": "success",
            "result": {"tasks_file": "specs/1/tasks.md", "task_count": 3},
        },
    }
    context = WorkflowContext(
        workflow_id="w", feature_id="1", feature_dir="specs/1/", previous_results=results
    )

    assert context.files == {
        "spec_file": "specs/1/spec.md",
        "plan_file": "specs/1/plan.md",
        "tasks_file": "specs/1/tasks.md",
    }


@requirement("S-04")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"feature_id": "007-oauth-login"', '"feature_id": "../x"'),
        ('"feature_dir": "specs/007-oauth-login/"', '"feature_dir": "../x"'),
        ('"spec_file": "specs/007-oauth-login/spec.md"', '"spec_file": "../x"'),
    ],
)
def test_path_that_leads_out_is_refused(old: str, new: str) -> None:
    for verdict in judge_both(changed(WORKFLOW_INPUT, (old, new)), "speckit"):
        assert "path/outside-workspace" in weighty_rules(verdict)
        assert the_finding(verdict, "path/outside-workspace").line is not None
        assert not verdict.accepted


@requirement("S-05")
def test_feedback_is_read_with_and_without_a_workflow_and_may_be_absent() -> None:
    alone = given_in(judge(FEEDBACK_INPUT, "speckit"))
    both = given_in(
        judge(WORKFLOW_INPUT.replace("USER_REQUEST", f"{FEEDBACK_INPUT}\nUSER_REQUEST"), "speckit")
    )

    assert alone.feedback_context is not None
    assert alone.feedback_context.issues_to_fix[0].message == "REQ-5 has no task"
    assert alone.workflow_context is None
    assert both.feedback_context == alone.feedback_context
    assert both.workflow_context is not None
    assert both.user_request == "Add OAuth login"
    absent = judge(WORKFLOW_INPUT, "speckit")
    assert absent.accepted
    assert given_in(absent).feedback_context is None


@requirement("S-06")
@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('"severity": "HIGH"', '"severity": "BLOCKER"', "speckit/unknown-value"),
        ('"severity": "HIGH"', '"severity": "high"', "speckit/value-case"),
        ('"location": "tasks.md:1"', '"location": "tasks.md"', "speckit/location-without-line"),
        ('      "message": "REQ-5 has no task",\n', "", "speckit/missing-field"),
        ('"type": "coverage_gap"', '"type": "<issue-type>"', "speckit/placeholder-left"),
    ],
)
def test_issue_is_judged_field_by_field(old: str, new: str, rule: str) -> None:
    text = changed(FEEDBACK_INPUT, (old, new))

    for verdict in judge_both(text, "speckit"):
        finding = the_finding(verdict, rule)
        assert weighty_rules(verdict) == {rule}
        assert (finding.path or "").startswith("/feedback_context/issues_to_fix/0")


def test_feedback_without_an_issue_is_refused() -> None:
    values = json.loads(FEEDBACK_INPUT.partition(":")[2])

    verdict = judge(f"FEEDBACK_CONTEXT:\n{json.dumps({**values, 'issues_to_fix': []})}", "speckit")

    assert weighty_rules(verdict) == {"speckit/missing-field"}


@pytest.mark.parametrize(("iteration", "fits"), [(1, True), (2, True), (3, False)])
def test_iteration_over_its_maximum_is_refused(iteration: int, fits: bool) -> None:
    verdict = judge(
        changed(FEEDBACK_INPUT, ('"iteration": 1', f'"iteration": {iteration}')), "speckit"
    )

    assert weighty_rules(verdict) == (set() if fits else {"speckit/feedback-exhausted"})


def test_issues_are_given_the_worst_first_and_in_order_otherwise() -> None:
    issues = tuple(
        _issue(severity, name)
        for name, severity in enumerate(("LOW", "CRITICAL", "HIGH", "CRITICAL", "MEDIUM"))
    )
    context = FeedbackContext(
        feedback_from="test", iteration=1, max_iterations=2, issues_to_fix=issues
    )

    assert [(issue.severity, issue.message) for issue in context.by_severity] == [
        ("CRITICAL", "1"),
        ("CRITICAL", "3"),
        ("HIGH", "2"),
        ("MEDIUM", "4"),
        ("LOW", "0"),
    ]


def test_answer_after_the_context_it_quotes_counts() -> None:
    verdict = judge(f"{WORKFLOW_INPUT}\n{CLARIFY_REPLY}", "speckit")

    assert weighty_rules(verdict) == {"envelope/multiple"}
    assert not isinstance(verdict.envelope, AgentInput)


def test_loose_context_is_repaired_and_written_again() -> None:
    lenient, strict = judge_both(WORKFLOW_INPUT.replace('"feature_id"', "'feature_id'"), "speckit")

    assert weighty_rules(lenient) == {"json/loose-syntax"}
    assert not strict.accepted
    assert lenient.repaired_text is not None
    assert judge(lenient.repaired_text, "speckit", "strict").envelope == lenient.envelope
    assert lenient.envelope == judge(WORKFLOW_INPUT, "speckit").envelope


# Building


def _issue(severity: str, number: int) -> Issue:
    return Issue(
        severity=severity,
        type="gap",
        message=str(number),
        location="a.md:1",
        recommendation="fix it",
    )


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="<|"), min_size=1, max_size=20).map(
    lambda text: f"a{text.strip()}z".replace("`", "'")
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.text(max_size=8)
    | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys(5), inner, max_size=3),
    max_leaves=6,
)
ISSUES = st.builds(
    Issue,
    severity=st.sampled_from(SEVERITIES),
    type=WORDS,
    message=WORDS,
    location=st.just("src/a.py:12"),
    recommendation=WORDS,
    extensions=st.dictionaries(st.just("extra"), JSON),
)
FEEDBACK = st.builds(
    FeedbackContext,
    feedback_from=st.sampled_from(["analyze", "test", "review"]),
    iteration=st.just(1),
    max_iterations=st.integers(1, 3),
    issues_to_fix=st.lists(ISSUES, min_size=1, max_size=3).map(tuple),
    extensions=st.dictionaries(st.sampled_from(["note", "a/b~c"]), JSON),
)
WORKFLOW = st.builds(
    WorkflowContext,
    workflow_id=WORDS,
    feature_id=st.just("7-x"),
    feature_dir=st.just("specs/7-x/"),
    previous_results=st.dictionaries(
        st.sampled_from(["own", "deploy"]),
        st.fixed_dictionaries({"status": st.just("success"), "result": JSON}),
    ),
)
REQUESTS = st.none() | WORDS


@requirement("S-01", "S-05")
@given(st.none() | WORKFLOW, st.none() | FEEDBACK, REQUESTS)
def test_written_input_is_accepted_and_reads_as_the_same_input(
    workflow: WorkflowContext | None, feedback: FeedbackContext | None, request: str | None
) -> None:
    given = AgentInput(workflow_context=workflow, feedback_context=feedback, user_request=request)
    if workflow is None and feedback is None:
        return

    verdict = judge(write_input(given), "speckit", "strict")

    assert verdict.accepted, verdict.feedback
    assert verdict.envelope == given


@requirement("S-01")
def test_parts_are_written_alone_too() -> None:
    given = given_in(judge(WORKFLOW_INPUT, "speckit"))
    feedback = given_in(judge(FEEDBACK_INPUT, "speckit")).feedback_context
    assert given.workflow_context is not None
    assert feedback is not None

    written = write_input(replace(given, feedback_context=None))
    alone = write_input(AgentInput(feedback_context=feedback))

    assert judge(written, "speckit").envelope == given
    assert given_in(judge(alone, "speckit")).feedback_context == feedback


@pytest.mark.parametrize("request_", ["x\nFEEDBACK_CONTEXT:\n{}", "USER_REQUEST: again", " x", ""])
def test_request_that_would_be_read_as_something_else_is_not_written(request_: str) -> None:
    context = WorkflowContext(workflow_id="w", feature_id="1", feature_dir="specs/1/")

    with pytest.raises(NotWritableError):
        write_input(AgentInput(workflow_context=context, user_request=request_))


def test_what_was_cut_off_is_not_written_as_a_whole() -> None:
    cut = judge(WORKFLOW_INPUT[:200], "speckit")

    assert given_in(cut).partial
    with pytest.raises(NotWritableError, match="cut off"):
        write_input(given_in(cut))
