"""The JSON response of protocol 0.1.3 is read as a report."""

import json

import pytest

from goop_mcp import Expectations, Verdict, validate
from goop_mcp.protocols.goop_report.model import FileAction, FileChange, Phase, Status
from tests.protocols.goop_report.legacy_replies import (
    LEGACY,
    assert_converted,
    legacy,
)
from tests.requirements import requirement
from tests.validation.replies import (
    judge,
    judge_both,
    report_of,
    weighty_rules,
)


@requirement("P-09")
def test_response_of_the_old_protocol_is_a_warning_or_an_error_by_mode() -> None:
    verdict = assert_converted(legacy(), LEGACY)

    assert verdict.protocol == "goop_report"
    assert report_of(verdict).summary == "Added the login endpoint"


@requirement("P-10")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("complete", Status.COMPLETE),
        ("partial", Status.PARTIAL),
        ("blocked", Status.BLOCKED),
        ("failed", Status.BLOCKED),
    ],
)
def test_each_old_status_maps_to_one_of_the_four(old: str, new: Status) -> None:
    blockers = [] if new is Status.COMPLETE else ["no key"]

    verdict = assert_converted(legacy(status=old, blockers=blockers), LEGACY)

    assert report_of(verdict).status is new


@requirement("P-10")
def test_failed_response_takes_its_blocker_from_blockers() -> None:
    handoff = report_of(judge(legacy(status="failed", blockers=["no key", "no network"]))).handoff

    assert handoff is not None
    assert handoff.blockers == "no key\nno network"


@requirement("P-10")
@pytest.mark.parametrize("blockers", [{}, {"blockers": []}])
def test_failed_response_without_blockers_takes_its_blocker_from_the_summary(
    blockers: dict[str, list[str]],
) -> None:
    verdict = assert_converted(
        legacy(status="failed", summary="Could not install jose", **blockers), LEGACY
    )

    handoff = report_of(verdict).handoff
    assert handoff is not None
    assert handoff.blockers == "Could not install jose"


@requirement("P-09")
def test_every_field_of_the_old_response_is_carried_over() -> None:
    text = legacy(
        files_created=["src/login.py"],
        files_modified=["src/app.py", "README.md"],
        commit="a1b2c3d",
        notes=["kept the old route", "see the log"],
        next_steps=["test the endpoint", "write the docs"],
    )

    verdict = assert_converted(text, LEGACY)

    report = report_of(verdict)
    assert report.artifacts is not None
    assert set(report.artifacts.files) == {
        FileChange(path="src/login.py", action=FileAction.CREATED),
        FileChange(path="src/app.py", action=FileAction.MODIFIED),
        FileChange(path="README.md", action=FileAction.MODIFIED),
    }
    assert [(commit.sha, commit.message) for commit in report.artifacts.commits] == [
        ("a1b2c3d", "")
    ]
    assert report.handoff is not None
    assert report.handoff.next_action is not None
    assert report.handoff.next_action.agent is None
    for step in ("test the endpoint", "write the docs"):
        assert step in report.handoff.next_action.text

    notes = verdict.to_dict()["envelope"]["extensions"]["notes"]
    assert "kept the old route" in str(notes)
    assert "see the log" in str(notes)


@requirement("P-09")
def test_what_the_old_response_cannot_say_stays_absent() -> None:
    report = report_of(judge(legacy()))

    assert report.agent is None
    assert report.task_id is None
    assert report.version is None
    assert report.verification is None
    assert report.memory is None
    assert report.state is None or report.state.phase is None


@requirement("P-09")
def test_agent_and_phase_of_an_old_response_come_from_the_caller() -> None:
    expected = Expectations(agent="goop-executor", phase="execute")

    verdict = validate(legacy(), protocol="goop_report", expected=expected)

    report = report_of(verdict)
    assert weighty_rules(verdict) == {LEGACY}
    assert report.agent == "goop-executor"
    assert report.state is not None
    assert report.state.phase is Phase.EXECUTE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"status": "complete", "summary": "Added it"}', id="bare"),
        pytest.param(
            'Here it is: {"status": "complete", "summary": "Added it"} as asked.',
            id="in_a_sentence",
        ),
        pytest.param(
            '```\n{"status": "complete", "summary": "Added it"}\n```', id="fence_without_a_language"
        ),
        pytest.param(
            '{"example": {"a": "}"}}\n\n{"status": "complete", "summary": "Added it"}',
            id="after_another_object",
        ),
        pytest.param(
            '{"status": "failed", "summary": "First try"}\n\n{"status": "complete", "summary":'
            ' "Added it"}',
            id="after_an_earlier_response",
        ),
        pytest.param(
            '<think>{"status": "failed", "summary": "x"}</think>\n{"status": "complete", "summary":'
            ' "Added it"}',
            id="after_a_thought",
        ),
    ],
)
def test_old_response_is_found_wherever_it_stands(text: str) -> None:
    report = report_of(judge(text))

    assert report.summary == "Added it"
    assert report.status is Status.COMPLETE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"status": "success", "summary": "x"}', id="status_of_another_protocol"),
        pytest.param('{"status": "complete"}', id="no_summary"),
        pytest.param('{"summary": "x"}', id="no_status"),
        pytest.param(
            '{"status": "complete", "summary": "x", "agent": "plan", "result": {}}', id="speckit"
        ),
        pytest.param(
            '<think>{"status": "complete", "summary": "x"}</think>\nDone.', id="only_thought"
        ),
        pytest.param('{"status": "complete", "summary": "x"', id="cut_off"),
        pytest.param('{"a": {"status": "complete", "summary": "x"}}', id="inside_another_object"),
        pytest.param('["complete", "x"]', id="a_list"),
        pytest.param('{"status": ["complete"], "summary": "x"}', id="status_is_a_list"),
        pytest.param('{"status": "complete", "summary": {"a": 1}}', id="summary_is_an_object"),
    ],
)
def test_other_objects_are_no_response_of_the_old_protocol(text: str) -> None:
    for verdict in judge_both(text):
        assert not verdict.accepted
        assert status_or_none(verdict) in (None, Status.COMPLETE)
        assert verdict.feedback is not None


def status_or_none(verdict: Verdict) -> Status | None:
    return None if verdict.envelope is None else report_of(verdict).status


@pytest.mark.parametrize(
    "value", [17, None, True, {"a": 1}, [1, None, {"b": []}], "text", [[]], "x" * 5_000]
)
@pytest.mark.parametrize(
    "field", ["files_created", "files_modified", "commit", "notes", "blockers", "next_steps"]
)
def test_field_of_an_unexpected_kind_breaks_nothing(field: str, value: object) -> None:
    for verdict in judge_both(legacy(**{field: value})):
        assert (verdict.feedback is None) == verdict.accepted
        json.dumps(verdict.to_dict())


def test_earlier_response_is_not_taken_in_place_of_one_that_was_cut_off() -> None:
    response = json.dumps({"status": "complete", "summary": "Added the login endpoint"})

    assert validate(response).accepted
    assert not validate(f"{response}\n\nAnd now the real one:\n\n{response[:-20]}").accepted
