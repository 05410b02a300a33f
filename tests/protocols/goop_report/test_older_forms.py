"""Older and sibling forms of the report are read, converted and named (WORKFLOW, section 8)."""

import json
from typing import Any

import pytest

from goop_mcp import Expectations, Severity, Verdict, validate
from goop_mcp.protocols.goop_report.model import FileAction, FileChange, Phase, Status
from tests.requirements import requirement
from tests.validation.replies import (
    DRAFT,
    EXECUTOR,
    MODES,
    fenced,
    judge,
    judge_both,
    report_of,
    rules_of,
    weighty_rules,
)

LEGACY = "subagent_protocol/legacy-response"
SECTIONS = "subagent_protocol/markdown-sections"
OTHER_ROOT = "subagent_protocol/other-root"
EXECUTOR_REPORT = report_of(judge(EXECUTOR))


def assert_converted(text: str, rule: str) -> Verdict:
    """Check that lenient mode accepts the form with one warning and strict mode refuses it; return the former."""
    lenient, strict = judge_both(text)
    assert rules_of(lenient, Severity.ERROR) == set()
    assert weighty_rules(lenient) == {rule}
    assert [finding.rule for finding in lenient.findings].count(rule) == 1
    assert rules_of(strict, Severity.ERROR) == {rule}
    assert strict.envelope == lenient.envelope
    assert strict.repaired_text is None
    return lenient


def legacy(**fields: Any) -> str:  # noqa: ANN401 - JSON values
    """Return a response of protocol 0.1.3 in a reply."""
    values = {"status": "complete", "summary": "Added the login endpoint"} | fields
    return f"Done.\n\n```json\n{json.dumps(values, indent=2)}\n```\n"


# The JSON of protocol 0.1.3


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
def test_failed_response_without_blockers_takes_its_blocker_from_the_summary(blockers: dict[str, list[str]]) -> None:
    verdict = assert_converted(legacy(status="failed", summary="Could not install jose", **blockers), LEGACY)

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
    assert [(commit.sha, commit.message) for commit in report.artifacts.commits] == [("a1b2c3d", "")]
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
        pytest.param('Here it is: {"status": "complete", "summary": "Added it"} as asked.', id="in_a_sentence"),
        pytest.param('```\n{"status": "complete", "summary": "Added it"}\n```', id="fence_without_a_language"),
        pytest.param(
            '{"example": {"a": "}"}}\n\n{"status": "complete", "summary": "Added it"}', id="after_another_object"
        ),
        pytest.param(
            '{"status": "failed", "summary": "First try"}\n\n{"status": "complete", "summary": "Added it"}',
            id="after_an_earlier_response",
        ),
        pytest.param(
            '<think>{"status": "failed", "summary": "x"}</think>\n{"status": "complete", "summary": "Added it"}',
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
        pytest.param('{"status": "complete", "summary": "x", "agent": "plan", "result": {}}', id="speckit"),
        pytest.param('<think>{"status": "complete", "summary": "x"}</think>\nDone.', id="only_thought"),
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
        assert report_or_none(verdict) in (None, Status.COMPLETE)
        assert verdict.feedback is not None


def report_or_none(verdict: Verdict) -> Status | None:
    return None if verdict.envelope is None else report_of(verdict).status


@pytest.mark.parametrize("value", [17, None, True, {"a": 1}, [1, None, {"b": []}], "text", [[]], "x" * 5_000])
@pytest.mark.parametrize("field", ["files_created", "files_modified", "commit", "notes", "blockers", "next_steps"])
def test_field_of_an_unexpected_kind_breaks_nothing(field: str, value: object) -> None:
    for verdict in judge_both(legacy(**{field: value})):
        assert (verdict.feedback is None) == verdict.accepted
        json.dumps(verdict.to_dict())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"status": "complete", "status": "failed", "summary": "x"}', id="key_twice"),
        pytest.param('{"status": "complete", "summary": "x", "n": NaN}', id="not_a_number"),
        pytest.param('{"status": "complete", "summary": "x", "n": ' + "9" * 5_000 + "}", id="long_number"),
        pytest.param('{"status": "complete", "summary": "x", "a": ' + "[" * 100_000 + "}", id="open_lists"),
        pytest.param('{"status": "complete", "summary": "x", "a": ' + "[" * 5_000 + "]" * 5_000 + "}", id="deep_lists"),
        pytest.param('{"status": "complete", "summary": "\\ud800"}', id="escaped_lone_surrogate"),
        pytest.param('{"status": "complete", "summary": "a\ud800b"}', id="lone_surrogate"),
        pytest.param('{"status": "complete", "summary": "a\\u0000b"}', id="escaped_nul"),
        pytest.param('{"status": "complete", "summary": "x", "notes": ["\\u001b[0m"]}', id="escaped_terminal_colour"),
        pytest.param("## STATUS\ncomplete\n\n## SUMMARY\na\x00b\n", id="nul_in_a_section"),
        pytest.param("## STATUS\ncomplete\n\n## SUMMARY\n\x1b[32mok\x1b[0m\n", id="terminal_colours_in_a_section"),
        pytest.param(
            "## STATUS\ncomplete\n\n## SUMMARY\nx\n\n## ARTIFACTS\n- a\ud800.py - y\n", id="surrogate_in_a_path"
        ),
        pytest.param("<debug_report><status>BUG FIXED</status><x>\x00</x></debug_report>", id="nul_under_another_root"),
    ],
)
def test_odd_values_in_an_older_form_break_nothing(text: str) -> None:
    for verdict in judge_both(text):
        assert (verdict.feedback is None) == verdict.accepted
        json.dumps(verdict.to_dict())
        if verdict.repaired_text is not None:
            assert judge(verdict.repaired_text).envelope is not None


# The sections of Markdown


def sections(**parts: str) -> str:
    values = {"STATUS": "complete", "SUMMARY": "Added the login endpoint."} | parts
    return "".join(f"## {name}\n{text}\n\n" for name, text in values.items())


@requirement("P-08")
@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("complete", Status.COMPLETE),
        ("Complete", Status.COMPLETE),
        ("PARTIAL", Status.PARTIAL),
        ("checkpoint", Status.CHECKPOINT),
        ("complete - all tests pass", Status.COMPLETE),
    ],
)
def test_sections_of_markdown_are_read_by_their_first_word(word: str, status: Status) -> None:
    verdict = assert_converted(sections(STATUS=word), SECTIONS)

    assert report_of(verdict).status is status
    assert report_of(verdict).summary == "Added the login endpoint."


@pytest.mark.parametrize("word", ["done", "success", "failed", "completed", "✅", "not complete"])
def test_other_word_in_the_status_section_is_never_complete(word: str) -> None:
    for verdict in judge_both(sections(STATUS=word)):
        assert "goop_report/unknown-status" in rules_of(verdict, Severity.ERROR)
        assert report_of(verdict).status is None


def test_blocked_sections_take_their_blocker_from_next_or_the_summary() -> None:
    with_next = report_of(judge(sections(STATUS="blocked", NEXT="Give me the key."))).handoff
    without = report_of(judge(sections(STATUS="blocked", SUMMARY="No key."))).handoff

    assert with_next is not None
    assert with_next.blockers == "Give me the key."
    assert without is not None
    assert without.blockers == "No key."


def test_sections_may_stand_in_any_order() -> None:
    text = "## SUMMARY\nAdded it.\n\n## NEXT\nnothing\n\n## STATUS\ncomplete\n"

    assert report_of(assert_converted(text, SECTIONS)).summary == "Added it."


def test_artifacts_are_list_items_of_path_and_text_without_an_action() -> None:
    verdict = assert_converted(sections(ARTIFACTS="- src/login.py - the endpoint\n- `README.md`\n"), SECTIONS)

    artifacts = report_of(verdict).artifacts
    assert artifacts is not None
    assert [file.action for file in artifacts.files] == [None, None]
    assert artifacts.files[0].path == "src/login.py"
    assert artifacts.files[0].description == "the endpoint"
    assert "README.md" in str(artifacts.files[1].path)


def test_artifacts_none_are_no_files() -> None:
    artifacts = report_of(assert_converted(sections(ARTIFACTS="none"), SECTIONS)).artifacts

    assert artifacts is None or artifacts.files == ()


@pytest.mark.parametrize(
    ("line", "passed"),
    [
        ("- tests: pass", True),
        ("- tests passed", True),
        ("- ✓ tests", True),
        ("- typecheck: OK", True),
        ("- tests: fail", False),
        ("- 2 tests failed", False),
        ("- ✗ lint", False),
        ("- looked at it", None),
    ],
)
def test_checks_are_passed_or_failed_from_clear_words_only(line: str, passed: bool | None) -> None:
    checks = report_of(judge(sections(STATUS="partial", VERIFICATION=line))).verification

    assert checks is not None
    assert [check.passed for check in checks] == [passed]


def test_verification_not_applicable_is_no_check() -> None:
    assert not report_of(assert_converted(sections(VERIFICATION="n/a"), SECTIONS)).verification


def test_next_section_is_the_next_action_with_the_agent_and_command_it_names() -> None:
    text = sections(NEXT="Let goop-tester check the endpoint, then run /goop-accept.")

    handoff = report_of(assert_converted(text, SECTIONS)).handoff

    assert handoff is not None
    assert handoff.next_action is not None
    assert handoff.next_action.text == "Let goop-tester check the endpoint, then run /goop-accept."
    assert handoff.next_action.agent == "goop-tester"
    assert handoff.next_command == "/goop-accept"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("## STATUS\ncomplete\n", id="status_alone"),
        pytest.param("## SUMMARY\nAdded it.\n", id="summary_alone"),
        pytest.param("```\n## STATUS\ncomplete\n\n## SUMMARY\nx\n```\n", id="inside_a_fence"),
        pytest.param("# STATUS\ncomplete\n\n# SUMMARY\nx\n", id="first_level"),
        pytest.param("### STATUS\ncomplete\n\n### SUMMARY\nx\n", id="third_level"),
        pytest.param("## Status of things\ncomplete\n\n## Summary of things\nx\n", id="longer_words"),
        pytest.param("STATUS\ncomplete\n\nSUMMARY\nx\n", id="no_headings"),
    ],
)
def test_other_headings_are_no_report(text: str) -> None:
    for verdict in judge_both(text):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}


# Other roots


ROOTS = [
    ("debug_report", "BUG FIXED", Status.COMPLETE, None),
    ("debug_report", "BUG IDENTIFIED", Status.PARTIAL, None),
    ("debug_report", "BUG INVESTIGATING", Status.PARTIAL, None),
    ("verification_report", "VERIFICATION PASSED", Status.COMPLETE, True),
    ("verification_report", "VERIFICATION FAILED", Status.COMPLETE, False),
    ("verification_report", "NEEDS_MANUAL", Status.BLOCKED, None),
    ("response", "DESIGN COMPLETE", Status.COMPLETE, None),
    ("response", "DESIGN OPTIONS", Status.BLOCKED, None),
    ("response", "DESIGN NEEDS_INPUT", Status.BLOCKED, None),
    ("response", "SEARCH COMPLETE", Status.COMPLETE, None),
    ("response", "SEARCH PARTIAL", Status.PARTIAL, None),
    ("response", "SEARCH NO_RESULTS", Status.PARTIAL, None),
    ("response", "TESTS COMPLETE", Status.COMPLETE, None),
    ("response", "TESTS FAILING", Status.COMPLETE, False),
    ("response", "TESTS PARTIAL", Status.PARTIAL, None),
    ("goopspec_response", "DOCS COMPLETE", Status.COMPLETE, None),
    ("goopspec_response", "DOCS PARTIAL", Status.PARTIAL, None),
    ("goopspec_response", "DOCS BLOCKED", Status.BLOCKED, None),
    ("distillation", "DISTILLATION COMPLETE", Status.COMPLETE, None),
    ("elefant_report", "COMPLETE", Status.COMPLETE, None),
    ("elefant_report", "PARTIAL", Status.PARTIAL, None),
    ("elefant_report", "BLOCKED", Status.BLOCKED, None),
]


SUMMARY = "<summary>Off by one.</summary>"
# Of the siblings only this one has the agent and the handoff of a report.
DESCENDANT = (
    "<agent>goop-executor</agent><handoff><ready>true</ready><next_action agent='user'>look</next_action>"
    "<blockers>{}</blockers><suggest_new_session>false</suggest_new_session></handoff>"
)


def rooted(root: str, status: str, content: str = SUMMARY, *, blockers: str = "NONE") -> str:
    """Return a reply with a report under a sibling root; `blockers` stands where the form has a place for it."""
    content += DESCENDANT.format(blockers) if root == "elefant_report" else ""
    return f"Here is what I found.\n\n```xml\n<{root}>\n  <status>{status}</status>\n  {content}\n</{root}>\n```\n"


@requirement("P-08")
@pytest.mark.parametrize(("root", "word", "status", "passed"), ROOTS)
def test_sibling_root_is_converted_by_the_table(root: str, word: str, status: Status, passed: bool | None) -> None:
    verdict = judge(rooted(root, word, blockers="Choose one." if status is Status.BLOCKED else "NONE"))

    report = report_of(verdict)
    assert OTHER_ROOT in rules_of(verdict, Severity.WARNING)
    assert verdict.accepted
    assert report.status is status
    assert [check.passed for check in report.verification or ()] == ([] if passed is None else [passed])


@pytest.mark.parametrize(("root", "word", "status", "passed"), ROOTS)
def test_sibling_root_is_refused_in_strict_mode(root: str, word: str, status: Status, passed: bool | None) -> None:
    verdict = judge(rooted(root, word), "strict")

    assert OTHER_ROOT in rules_of(verdict, Severity.ERROR)
    assert report_of(verdict).status is status
    assert passed in (None, True, False)


@pytest.mark.parametrize("root", ["debug_report", "verification_report", "goopspec_response", "distillation"])
@pytest.mark.parametrize("word", ["DONE", "", "COMPLETE?", "BUG SOLVED"])
def test_status_outside_the_table_is_an_error_of_its_own(root: str, word: str) -> None:
    for verdict in judge_both(rooted(root, word)):
        assert not verdict.accepted
        assert "goop_report/unknown-status" in rules_of(verdict, Severity.ERROR)
        assert report_of(verdict).status is None


@pytest.mark.parametrize("word", ["OK", "200", "COMPLETE", ""])
def test_response_with_a_status_outside_the_table_is_no_report(word: str) -> None:
    for verdict in judge_both(rooted("response", word)):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}


def test_everything_else_of_a_sibling_root_is_kept() -> None:
    content = "<summary>Off by one.</summary><root_cause>index starts at 1</root_cause><fix>src/a.py</fix>"

    values = judge(rooted("debug_report", "BUG FIXED", content)).to_dict()["envelope"]

    assert "index starts at 1" in str(values["extensions"]["root_cause"])
    assert "src/a.py" in str(values["extensions"]["fix"])


def test_elefant_report_says_none_in_capitals_and_its_read_files_are_kept_as_an_extension() -> None:
    content = (
        "<summary>Read it.</summary><artifacts><files><file path='a.py' action='read'>x</file>"
        "<file path='b.py' action='modified'>y</file></files></artifacts>"
    )

    verdict = judge(rooted("elefant_report", "COMPLETE", content))

    report = report_of(verdict)
    assert verdict.accepted
    assert report.handoff is not None
    assert report.handoff.blockers is None
    assert report.artifacts is not None
    assert "read" not in {str(file.action) for file in report.artifacts.files}
    assert "a.py" in str(verdict.to_dict()["envelope"]["extensions"])


def test_inner_report_wins_over_the_root_around_it() -> None:
    text = f"<verification_report>\n<status>VERIFICATION FAILED</status>\n{EXECUTOR}\n</verification_report>\n"

    verdict = judge(text)

    assert verdict.envelope == EXECUTOR_REPORT
    assert OTHER_ROOT not in weighty_rules(verdict)


# All older forms

OLDER = {
    LEGACY: legacy(notes=["a & b <c>"]),
    SECTIONS: sections(NEXT="Let goop-tester check a & b <c>."),
    OTHER_ROOT: rooted("debug_report", "BUG FIXED"),
}
ALL_OLDER = [pytest.param(text, rule, id=rule.partition("/")[2]) for rule, text in OLDER.items()]


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_is_recognised_without_naming_the_protocol(text: str, rule: str) -> None:
    verdict = validate(text, protocol="auto")

    assert verdict.protocol == "goop_report"
    assert rule in weighty_rules(verdict)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_is_looked_for_last(text: str, rule: str) -> None:
    for reply in (f"{text}\n{fenced(EXECUTOR)}", f"{fenced(EXECUTOR)}\n{text}"):
        verdict = judge(reply)

        assert verdict.envelope == EXECUTOR_REPORT
        assert rule not in weighty_rules(verdict)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_is_written_again_as_a_report(text: str, rule: str) -> None:
    verdict = judge(text)

    assert [repair.rule for repair in verdict.repairs] == [rule]
    assert verdict.repaired_text is not None
    again = judge(verdict.repaired_text)
    assert report_of(again).status is report_of(verdict).status
    assert report_of(again).summary == report_of(verdict).summary
    assert rule not in weighty_rules(again)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_place_of_the_older_form_is_named(text: str, rule: str) -> None:
    prose = "One.\n\nTwo.\n\n"

    moved = [f for f in judge(prose + text).findings if f.rule == rule]
    unmoved = [f for f in judge(text).findings if f.rule == rule]

    assert moved[0].line is not None
    assert unmoved[0].line is not None
    assert moved[0].line == unmoved[0].line + prose.count("\n")


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_cut_off_report_is_not_answered_with_an_older_form(text: str, rule: str) -> None:
    for mode in MODES:
        verdict = judge(f"{text}\n\n{EXECUTOR[:700]}", mode)

        assert rules_of(verdict, Severity.ERROR) == {"envelope/truncated"}
        assert rule not in weighty_rules(verdict)


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning"])
@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_that_was_only_thought_is_no_report(text: str, rule: str, tag: str) -> None:
    for verdict in judge_both(f"<{tag}>\n{text}\n</{tag}>\n\nAll done.\n"):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}
        assert rule not in weighty_rules(verdict)


@pytest.mark.parametrize(("text", "rule"), ALL_OLDER)
def test_older_form_beside_a_draft_that_was_only_thought_counts(text: str, rule: str) -> None:
    verdict = judge(f"<thinking>\n{DRAFT}\n</thinking>\n{text}")

    assert rule in weighty_rules(verdict)
    assert report_of(verdict).summary != "Only a draft."
