"""The reply of a Factory agent: success, questions, failure, verdict."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Expectations, Verdict
from goop_mcp.errors import NotWritableError
from goop_mcp.protocols.factory import Reply, write_reply
from goop_mcp.protocols.factory.model import (
    CONFIDENCES,
    DELIVERABLE_TYPES,
    ERROR_TYPES,
    HINTS,
    BlockingIssue,
    CriticVerdict,
    Deliverable,
    ErrorDetail,
    FactoryQuestion,
    PartialWork,
    Status,
)
from tests.protocols.json_replies import (
    JsonCase,
    judge,
    judge_both,
    load_cases,
    read_case,
    the_finding,
    weighty_rules,
)
from tests.protocols.json_strategies import keys
from tests.protocols.speckit.test_contexts import JSON, WORDS
from tests.requirements import requirement

Values = dict[str, Any]


def reply_of(name: str) -> Values:
    values: Values = json.loads(read_case(f"factory/concrete_{name}.json"))
    return values


SUCCESS, QUESTIONS, FAILURE = (
    reply_of("architect_success"),
    reply_of("questions"),
    reply_of("failure_template"),
)
CRITIC, BLOCKING = reply_of("critic_pass"), reply_of("critic_blocking")


def rules_of(values: object, expected: Expectations | None = None) -> set[str]:
    return weighty_rules(judge_both(json.dumps(values, indent=2), "factory", expected)[0])


def without(values: Values, name: str) -> Values:
    return {key: value for key, value in values.items() if key != name}


def reply(verdict: Verdict) -> Reply:
    assert isinstance(verdict.envelope, Reply)
    return verdict.envelope


# The status


@requirement("F-10")
@pytest.mark.parametrize("values", [SUCCESS, QUESTIONS, FAILURE, CRITIC])
def test_reply_without_a_status_is_never_a_success(values: Values) -> None:
    for missing in (
        without(values, "status"),
        {**values, "status": None},
        {**values, "status": ""},
    ):
        for verdict in judge_both(json.dumps(missing), "factory"):
            assert "factory/missing-field" in weighty_rules(verdict)
            assert not verdict.accepted
            assert reply(verdict).status is None


@requirement("F-10")
@pytest.mark.parametrize("status", ["ok", "done", "succes", "completed", "error"])
def test_status_outside_the_three_is_refused(status: str) -> None:
    for verdict in judge_both(json.dumps({**SUCCESS, "status": status}), "factory"):
        assert weighty_rules(verdict) == {"factory/unknown-status"}
        assert reply(verdict).status is None


@requirement("F-08")
def test_listed_error_types_are_taken_and_others_get_a_warning() -> None:
    for name in (*ERROR_TYPES, "oops"):
        values = {**FAILURE, "error": {"type": name, "message": "m"}}
        assert rules_of(values) == (
            set() if name in ERROR_TYPES else {"factory/unknown-error-type"}
        )
        assert judge(json.dumps(values), "factory").accepted


# Success


@requirement("F-11", "F-21")
def test_success_needs_a_deliverable_unless_it_has_a_verdict() -> None:
    for values in (
        without(SUCCESS, "deliverables"),
        {**SUCCESS, "deliverables": []},
        {**SUCCESS, "deliverables": None},
    ):
        assert rules_of(values) == {"factory/success-without-deliverable"}
        assert not judge(json.dumps(values), "factory").accepted

    assert rules_of(CRITIC) == set()


@requirement("F-11", "F-14")
@pytest.mark.parametrize(
    ("path", "rule"),
    [
        (".roomodes", None),
        (".roo/rules-a/rules.md", None),
        ("/etc/x", "path/outside-workspace"),
        ("../x", "path/outside-workspace"),
        ("a/../../x", "path/outside-workspace"),
        ("", "factory/missing-field"),
        (None, "factory/missing-field"),
        (5, "factory/wrong-type"),
    ],
)
def test_path_of_a_deliverable_is_relative_to_the_workspace(path: object, rule: str | None) -> None:
    values = {**SUCCESS, "deliverables": [{"path": path, "type": "config"}]}

    for verdict in judge_both(json.dumps(values), "factory"):
        assert weighty_rules(verdict) == ({rule} if rule else set())
        assert verdict.accepted == (rule is None)


def test_absolute_path_inside_the_known_workspace_is_repaired() -> None:
    values = {**SUCCESS, "deliverables": [{"path": "/srv/p/.roomodes"}]}

    lenient, strict = judge_both(json.dumps(values), "factory", Expectations(workspace="/srv/p"))

    assert weighty_rules(lenient) == {"path/absolute"}
    assert (lenient.accepted, strict.accepted) == (True, False)
    deliverables = reply(lenient).deliverables
    assert deliverables is not None
    assert deliverables[0].path == ".roomodes"
    assert json.loads(lenient.repaired_text or "")["deliverables"] == [{"path": ".roomodes"}]


@requirement("F-29")
def test_variable_left_in_a_path_gets_a_warning_and_is_filled_where_the_session_is_known() -> None:
    text = read_case("factory/raw_architect_success.json")

    verdict = judge(text, "factory")
    filled = judge(text, "factory", expected=Expectations(session_id="s-1"))

    assert verdict.accepted
    assert the_finding(verdict, "path/template-variable").severity == "warning"
    deliverables = reply(filled).deliverables
    assert deliverables is not None
    assert deliverables[0].path == ".factory/runs/s-1/artifacts/system_architecture.md"


@requirement("F-03")
def test_listed_deliverable_types_are_taken_and_others_get_a_warning() -> None:
    for name in (*DELIVERABLE_TYPES, "code"):
        values = {**SUCCESS, "deliverables": [{"path": "a.md", "type": name}]}
        assert rules_of(values) == (
            set() if name in DELIVERABLE_TYPES else {"factory/unknown-deliverable-type"}
        )
        assert judge(json.dumps(values), "factory").accepted


@requirement("F-04")
@given(st.dictionaries(keys(8), st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9)))
def test_metrics_take_any_key_with_a_number(metrics: dict[str, float]) -> None:
    verdict = judge(json.dumps({**SUCCESS, "metrics": metrics}), "factory", "strict")

    assert weighty_rules(verdict) == set()
    assert reply(verdict).metrics == metrics


@requirement("F-05")
def test_unknown_hint_gets_a_warning_and_is_carried_through() -> None:
    for hint in (*HINTS, "ship_it"):
        verdict = judge(json.dumps({**SUCCESS, "next_action": hint}), "factory")
        assert weighty_rules(verdict) == (
            set() if hint in HINTS else {"factory/unknown-next-action"}
        )
        assert verdict.accepted
        assert reply(verdict).next_action == hint


@requirement("F-09")
@pytest.mark.parametrize(
    ("confidence", "notes", "rules"),
    [
        ("high", None, set()),
        ("medium", None, {"factory/confidence-without-notes"}),
        ("medium", " ", {"factory/confidence-without-notes"}),
        ("medium", "the retention time is a guess", set()),
        ("low", "all of it", {"factory/low-confidence"}),
        ("90%", None, {"factory/unknown-confidence"}),
        ("High", None, {"factory/value-case"}),
    ],
)
def test_confidence_under_high_is_explained(
    confidence: str, notes: str | None, rules: set[str]
) -> None:
    assert rules_of({**SUCCESS, "confidence": confidence, "confidence_notes": notes}) == rules


def test_confidence_may_be_absent() -> None:
    assert rules_of(without(SUCCESS, "confidence")) == set()
    assert CONFIDENCES[0] == "high"


@requirement("F-16")
@pytest.mark.parametrize(
    "summary", ["Done", "done.", "All done!", "OK", "Task completed", "Finished."]
)
def test_summary_that_says_nothing_gets_a_warning(summary: str) -> None:
    assert rules_of({**SUCCESS, "summary": summary}) == {"factory/vague-summary"}


@requirement("F-16", "F-17")
def test_success_without_summary_or_hint_gets_a_warning() -> None:
    assert rules_of(without(SUCCESS, "summary")) == {"factory/summary-missing"}
    assert rules_of(without(SUCCESS, "next_action")) == {"factory/next-action-missing"}
    assert judge(json.dumps(without(SUCCESS, "summary")), "factory").accepted


# The critic


@requirement("F-17")
@pytest.mark.parametrize(
    ("values", "hint", "fits"),
    [
        (BLOCKING, "proceed_to_build", False),
        (BLOCKING, "return_to_architect", True),
        (CRITIC, "return_to_architect", False),
        (CRITIC, "proceed_to_build", True),
    ],
)
def test_hint_against_the_verdict_gets_a_warning(values: Values, hint: str, fits: bool) -> None:
    found = rules_of({**values, "next_action": hint})

    assert found == (set() if fits else {"factory/next-action-contradicts-verdict"})


@requirement("F-24")
def test_verdict_and_issues_have_to_fit() -> None:
    issues = BLOCKING["blocking_issues"]
    for values in (without(BLOCKING, "blocking_issues"), {**BLOCKING, "blocking_issues": []}):
        assert rules_of(values) == {"factory/blocking-without-issues"}

    assert rules_of({**CRITIC, "blocking_issues": issues}) == {"factory/pass-with-issues"}
    assert rules_of({**CRITIC, "blocking_issues": []}) == set()
    assert not judge(json.dumps({**CRITIC, "blocking_issues": issues}), "factory").accepted


def test_issues_of_the_critic_are_read() -> None:
    found = reply(judge(json.dumps(BLOCKING), "factory"))

    assert found.status is Status.SUCCESS
    assert found.verdict is CriticVerdict.BLOCKING
    assert found.blocking_issues is not None
    assert [issue.id for issue in found.blocking_issues] == ["B1", "B2"]


@pytest.mark.parametrize("verdict", ["MAYBE", "", 5])
def test_verdict_that_is_none_is_refused(verdict: object) -> None:
    found = rules_of({**CRITIC, "verdict": verdict})

    assert found in ({"factory/unknown-verdict"}, {"factory/wrong-type"})


# Questions and failure


@requirement("F-12")
def test_questions_need_one_with_an_id() -> None:
    for values in (without(QUESTIONS, "questions"), {**QUESTIONS, "questions": []}):
        assert rules_of(values) == {"factory/no-questions"}

    for question in ({"question": "Which?"}, {"id": "", "question": "Which?"}, {"id": "q1"}):
        assert rules_of({**QUESTIONS, "questions": [question]}) == {"factory/missing-field"}

    assert rules_of({**QUESTIONS, "questions": ["Which?"]}) == {
        "factory/wrong-type",
        "factory/no-questions",
    }


@requirement("F-18")
def test_ids_are_unique_and_a_default_is_one_of_the_options() -> None:
    twice = [{"id": "q1", "question": "Which?"}, {"id": "q1", "question": "How?"}]
    assert rules_of({**QUESTIONS, "questions": twice}) == {"factory/duplicate-question-id"}
    options = [{"id": "q1", "question": "Which?", "default": "redis", "options": ["sqlite", "pg"]}]
    assert rules_of({**QUESTIONS, "questions": options}) == {"factory/default-not-in-options"}
    free = [{"id": "q1", "question": "Which?", "default": "redis"}]
    assert rules_of({**QUESTIONS, "questions": free}) == set()


@requirement("F-13")
@pytest.mark.parametrize(
    "error",
    [
        None,
        {},
        {"type": "missing_input"},
        {"message": "m"},
        {"type": "missing_input", "message": " "},
    ],
)
def test_failure_needs_type_and_message(error: object) -> None:
    for verdict in judge_both(json.dumps({**FAILURE, "error": error}), "factory"):
        assert weighty_rules(verdict) == {"factory/missing-field"}
        assert not verdict.accepted


# Writing


DELIVERABLES = st.builds(
    Deliverable,
    path=st.sampled_from(["a.md", ".roomodes", "docs/ä b.md"]),
    type=st.none() | st.sampled_from(DELIVERABLE_TYPES),
    description=st.none() | WORDS,
    extensions=st.dictionaries(st.just("size"), JSON),
)


QUESTION = st.builds(
    FactoryQuestion,
    id=WORDS.map(lambda word: f"q{word}"),
    question=WORDS,
    context=st.none() | WORDS,
    options=st.just(("a", "b")),
)
REPLIES = st.one_of(
    st.builds(
        Reply,
        status=st.just(Status.SUCCESS),
        deliverables=st.lists(DELIVERABLES, min_size=1, max_size=3).map(tuple),
        summary=WORDS,
        next_action=st.sampled_from(HINTS),
        metrics=st.none() | st.dictionaries(keys(4), st.integers(0, 99)),
        extensions=st.dictionaries(st.sampled_from(["trace", "a/b"]), JSON),
    ),
    st.builds(
        Reply,
        status=st.just(Status.SUCCESS),
        verdict=st.just(CriticVerdict.BLOCKING),
        summary=WORDS,
        next_action=st.just("return_to_architect"),
        requirements_checked=st.integers(0, 99),
        blocking_issues=st.just((BlockingIssue(id="B1", title="None"),)),
        concerns=st.lists(WORDS, max_size=2).map(tuple),
    ),
    st.builds(
        Reply,
        status=st.just(Status.QUESTIONS),
        questions=st.lists(QUESTION, min_size=1, max_size=3).map(tuple),
        partial_work=st.none() | st.just(PartialWork(completed=("a",), blocked_on=())),
        recommendation=st.none() | WORDS,
    ),
    st.builds(
        Reply,
        status=st.just(Status.FAILURE),
        error=st.builds(
            ErrorDetail, type=st.sampled_from(ERROR_TYPES), message=WORDS, recoverable=st.booleans()
        ),
        attempted=st.none() | WORDS,
    ),
)


@given(REPLIES)
def test_written_reply_is_accepted_and_reads_as_the_same_reply(written: Reply) -> None:
    verdict = judge(write_reply(written), "factory", "strict")

    assert verdict.accepted, verdict.feedback
    assert verdict.envelope == written


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in load_cases("factory")
        if case.file.endswith(".json") and case.expected["strict"] != "errors"
    ],
    ids=lambda case: case.file,
)
def test_reply_of_a_case_is_written_word_for_word(case: JsonCase) -> None:
    values = {key: value for key, value in json.loads(case.text).items() if value is not None}

    assert json.loads(write_reply(reply(judge(case.text, "factory")))) == values


def test_what_json_cannot_express_is_not_written() -> None:
    found = reply(judge(json.dumps(SUCCESS), "factory"))

    with pytest.raises(NotWritableError, match="cut off"):
        write_reply(replace(found, partial=True))

    with pytest.raises(NotWritableError, match="'status'"):
        write_reply(replace(found, extensions={"status": "failure"}))

    with pytest.raises(NotWritableError, match="JSON"):
        write_reply(replace(found, metrics={"ratio": float("inf")}))
