"""State, task and summary of a report."""

import pytest

from goop_mcp import Expectations, Severity, validate
from goop_mcp.protocols.goop_report.model import Counter, Phase
from goop_mcp.workflow.task_ids import TaskId, parse_task_id
from tests.requirements import requirement
from tests.validation.replies import (
    EXECUTOR,
    MODES,
    PLANNER,
    SUMMARY,
    changed,
    judge,
    judge_both,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

TASK_ID = "<task_id>W2.T3</task_id>"
PHASE = "<phase>execute</phase>"
WAVE = '<wave current="2" total="3"/>'
TASK = '<task current="3" total="4"/>'
VERSION = ' version="0.1.6"'


@requirement("G-12")
def test_task_id_of_the_written_form_is_accepted() -> None:
    for verdict in judge_both(EXECUTOR):
        assert verdict.findings == ()
        assert report_of(verdict).task_id == "W2.T3"


@requirement("G-12")
@pytest.mark.parametrize("spelling", ["2.3", "T2.3", "Task 2.3", "w2t3", "Wave 2, Task 3"])
def test_other_spelling_of_a_task_id_is_a_warning_and_the_same_task_for_routing(
    spelling: str,
) -> None:
    for verdict in judge_both(changed(EXECUTOR, (TASK_ID, f"<task_id>{spelling}</task_id>"))):
        assert weighty_rules(verdict) == {"goop_report/task-id-form"}
        assert verdict.accepted
        assert parse_task_id(report_of(verdict).task_id or "") == TaskId(2, 3)


@requirement("G-12")
@pytest.mark.parametrize("text", ["auth", "TASK-17", "W2-T3-final", "3"])
def test_task_id_of_no_known_form_is_a_warning_and_kept(text: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (TASK_ID, f"<task_id>{text}</task_id>"))):
        assert weighty_rules(verdict) == {"goop_report/task-id-form"}
        assert report_of(verdict).task_id == text


@requirement("G-12")
def test_report_of_another_phase_needs_no_task_id() -> None:
    for verdict in judge_both(changed(EXECUTOR, (TASK_ID, ""), (PHASE, "<phase>accept</phase>"))):
        assert verdict.findings == ()


@requirement("G-12")
@pytest.mark.parametrize(
    ("task_id", "wave", "task"),
    [
        ("W2.T3", '<wave current="3" total="3"/>', TASK),
        ("W2.T3", WAVE, '<task current="4" total="4"/>'),
        ("W1.T3", WAVE, TASK),
    ],
)
def test_task_id_that_differs_from_the_state_is_a_warning(
    task_id: str, wave: str, task: str
) -> None:
    text = changed(EXECUTOR, (TASK_ID, f"<task_id>{task_id}</task_id>"), (WAVE, wave), (TASK, task))

    assert weighty_rules(judge(text)) == {"goop_report/task-id-differs-from-state"}


@requirement("G-13")
def test_report_without_a_task_name_is_in_order() -> None:
    for verdict in judge_both(
        changed(EXECUTOR, ("<task_name>Implement user authentication</task_name>", ""))
    ):
        assert verdict.findings == ()
        assert report_of(verdict).task_name is None


@requirement("G-14")
@pytest.mark.parametrize("phase", ["plan", "specify", "execute", "accept", "research"])
def test_each_of_the_five_phases_is_read(phase: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (PHASE, f"<phase>{phase}</phase>"))):
        state = report_of(verdict).state
        assert verdict.findings == ()
        assert state is not None
        assert state.phase == phase


@requirement("G-14")
@pytest.mark.parametrize("phase", ["deploy", "idle", "execution", "done", "plan, execute"])
def test_unknown_phase_is_an_error_that_lists_the_five(phase: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (PHASE, f"<phase>{phase}</phase>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/unknown-phase"}
        finding = the_finding(verdict, "goop_report/unknown-phase")
        assert set(finding.expected or ()) == {"plan", "specify", "execute", "accept", "research"}


@requirement("G-14")
def test_discuss_is_plan_in_lenient_mode_and_an_error_in_strict_mode() -> None:
    lenient, strict = judge_both(changed(EXECUTOR, (PHASE, "<phase>discuss</phase>")))

    state = report_of(lenient).state
    assert state is not None
    assert state.phase is Phase.PLAN
    assert rules_of(lenient, Severity.WARNING) == {"goop_report/phase-alias"}
    assert rules_of(strict, Severity.ERROR) == {"goop_report/phase-alias"}


@requirement("G-14")
def test_discuss_is_a_phase_of_its_own_in_projects_of_the_other_profile() -> None:
    text = changed(EXECUTOR, (PHASE, "<phase>discuss</phase>"))

    for mode in MODES:
        verdict = validate(text, mode=mode, expected=Expectations(profile="v1"))

        state = report_of(verdict).state
        assert weighty_rules(verdict) == set()
        assert state is not None
        assert state.phase == "discuss"


@requirement("G-15")
def test_research_is_a_phase_in_the_oldest_version_too() -> None:
    text = changed(EXECUTOR, (PHASE, "<phase>research</phase>"), (VERSION, ' version="0.1.4"'))

    for verdict in judge_both(text):
        assert verdict.findings == ()


COUNTERS = [
    pytest.param("wave", WAVE, id="wave", marks=requirement("G-16")),
    pytest.param("task", TASK, id="task", marks=requirement("G-17")),
]


@pytest.mark.parametrize(("name", "old"), COUNTERS)
def test_counter_is_read_as_two_numbers(name: str, old: str) -> None:
    text = changed(
        EXECUTOR,
        (TASK_ID, ""),
        (PHASE, "<phase>plan</phase>"),
        (old, f'<{name} current="0" total="12"/>'),
    )

    state = report_of(judge(text)).state

    assert state is not None
    assert getattr(state, name) == Counter(current=0, total=12)
    assert judge(text).findings == ()


@pytest.mark.parametrize(("name", "old"), COUNTERS)
def test_counter_beyond_its_total_is_a_warning(name: str, old: str) -> None:
    for verdict in judge_both(
        changed(EXECUTOR, (TASK_ID, ""), (old, f'<{name} current="4" total="3"/>'))
    ):
        assert weighty_rules(verdict) == {"goop_report/counter-over-total"}


@pytest.mark.parametrize("letter", ["N", "M", "X", "Y", "[n]"])
@pytest.mark.parametrize(("name", "old"), COUNTERS)
def test_letter_of_the_template_in_a_counter_is_template_text(
    name: str, old: str, letter: str
) -> None:
    for verdict in judge_both(changed(EXECUTOR, (old, f'<{name} current="{letter}" total="3"/>'))):
        assert weighty_rules(verdict) == {"goop_report/placeholder-left"}


@pytest.mark.parametrize(
    "attributes",
    [
        'current="x" total="3"',
        'current="-1" total="3"',
        'current="2.5" total="3"',
        'current="" total="3"',
        'total="3"',
        'current="two" total="3"',
        'current="2 of 3" total="3"',
        'current="²" total="3"',
    ],
)
@pytest.mark.parametrize(("name", "old"), COUNTERS)
def test_counter_that_is_no_whole_number_is_an_error(name: str, old: str, attributes: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (TASK_ID, ""), (old, f"<{name} {attributes}/>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/not-an-integer"}


@requirement("G-18")
@pytest.mark.parametrize("word", ["yes", "no", "1", "on", "locked"])
def test_lock_that_is_no_boolean_is_an_error(word: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, ("<spec_locked>true", f"<spec_locked>{word}"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/not-a-boolean"}


@requirement("G-18")
@pytest.mark.parametrize(("word", "value"), [("True", True), ("FALSE", False)])
def test_boolean_in_the_wrong_case_is_repaired_or_refused_by_mode(word: str, value: bool) -> None:
    lenient, strict = judge_both(changed(EXECUTOR, ("<spec_locked>true", f"<spec_locked>{word}")))

    state = report_of(lenient).state
    assert state is not None
    assert state.spec_locked is value
    assert rules_of(lenient, Severity.WARNING) == {"goop_report/value-case"}
    assert rules_of(strict, Severity.ERROR) == {"goop_report/value-case"}


@requirement("G-19")
def test_interview_flag_is_optional() -> None:
    without, with_flag = report_of(judge(EXECUTOR)).state, report_of(judge(PLANNER)).state

    assert judge(EXECUTOR, "strict").findings == ()
    assert without is not None
    assert without.interview_complete is None
    assert with_flag is not None
    assert with_flag.interview_complete is True


@requirement("G-19")
def test_interview_flag_that_is_no_boolean_is_an_error() -> None:
    text = changed(PLANNER, ("<interview_complete>true", "<interview_complete>almost"))

    assert rules_of(judge(text), Severity.ERROR) == {"goop_report/not-a-boolean"}


@requirement("G-20")
def test_state_needs_only_its_phase() -> None:
    for verdict in judge_both(PLANNER):
        assert rules_of(verdict, Severity.ERROR) == set()


@requirement("G-20")
def test_state_without_a_phase_is_an_error() -> None:
    for verdict in judge_both(changed(PLANNER, ("<phase>plan</phase>", ""))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/missing-field"}
        assert the_finding(verdict, "goop_report/missing-field").path == "/goop_report/state/phase"


@requirement("G-20")
def test_blank_phase_is_an_error() -> None:
    for verdict in judge_both(changed(PLANNER, ("<phase>plan</phase>", "<phase> </phase>"))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/empty-field"}


@requirement("G-21")
@pytest.mark.parametrize("blank", ["", " ", "\n  \t", "<![CDATA[ ]]>", "<!-- nothing -->"])
def test_blank_summary_is_an_error(blank: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (SUMMARY, blank))):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/empty-field"}


@requirement("G-21")
@pytest.mark.parametrize(
    "summary",
    [
        "Done",
        "Added the endpoint. Ran the tests.",
        "Upgraded lxml to 6.1.3, e.g. for speed. See docs/a.b.md.",
        "Fixed the bug in service.ts at line 3.5 of W2.T3.",
        "Added login, logout; refreshed tokens: all of it, in two files (a.ts, b.ts)!",
    ],
)
def test_summary_of_one_or_two_sentences_is_in_order(summary: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (SUMMARY, summary))):
        assert weighty_rules(verdict) == set()


@requirement("G-21")
@pytest.mark.parametrize(
    "summary",
    [
        "Read the code. Added the endpoint. Ran the tests.",
        "Done! Really done? Yes. All of it. I promise.",
        "Read the code.\n  Added the endpoint.\n  Ran the tests.",
    ],
)
def test_summary_of_more_than_two_sentences_is_a_warning(summary: str) -> None:
    for verdict in judge_both(changed(EXECUTOR, (SUMMARY, summary))):
        assert weighty_rules(verdict) == {"goop_report/summary-too-long"}


@requirement("G-40")
def test_execution_without_a_task_id_is_an_info() -> None:
    for verdict in judge_both(changed(EXECUTOR, (TASK_ID, ""))):
        assert rules_of(verdict, Severity.INFO) == {"goop_report/task-id-missing"}
        assert weighty_rules(verdict) == set()


@requirement("G-40")
def test_research_without_a_task_id_is_in_order() -> None:
    for verdict in judge_both(changed(EXECUTOR, (TASK_ID, ""), (PHASE, "<phase>research</phase>"))):
        assert verdict.findings == ()


@requirement("G-43")
def test_phase_other_than_the_current_one_is_an_error() -> None:
    for mode in MODES:
        verdict = validate(EXECUTOR, mode=mode, expected=Expectations(phase="plan"))

        assert rules_of(verdict, Severity.ERROR) == {"goop_report/phase-mismatch"}
        assert the_finding(verdict, "goop_report/phase-mismatch").expected == ("plan",)

    assert validate(EXECUTOR, expected=Expectations(phase="execute")).findings == ()


@requirement("G-43")
def test_discuss_agrees_with_an_expected_plan() -> None:
    text = changed(EXECUTOR, (PHASE, "<phase>discuss</phase>"))

    assert weighty_rules(validate(text, expected=Expectations(phase="plan"))) == {
        "goop_report/phase-alias"
    }
