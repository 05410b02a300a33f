"""A report leaves an entry in the diary that says what it did and where."""

import re

import pytest

from goop_mcp import validate
from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.views import (
    NO_REPORT,
    CheckView,
    FileView,
    MemoryView,
    OutcomeKind,
    ReportView,
)
from goop_mcp.workspace.documents.entries import AdlEntry, ChronicleEntry, adl_text, chronicle_text
from goop_mcp.workspace.documents.handoff import NextTask, SessionHandoff, handoff_text
from goop_mcp.workspace.report_effects import entry_of_report, log_of_report
from tests.repository import ROOT
from tests.requirements import requirement
from tests.workspace.projects import NOW

CASES = ROOT / "tests" / "cases" / "goop_report"


@requirement("G-49")
def test_the_entry_of_a_report_holds_files_commits_phase_wave_and_task() -> None:
    report = ADAPTERS["goop_report"].read(
        validate((CASES / "016_executor_complete.xml").read_text(encoding="utf-8"))
    )
    assert isinstance(report, ReportView)

    lines = chronicle_text(entry_of_report(report, time=NOW)).split("\n")

    touched = ["`src/auth/service.ts`", "`src/auth/middleware.ts`", "`src/auth/types.ts`"]
    assert lines == [
        f"### {NOW} · goop-executor",
        "",
        "- **Position:** Phase execute · Wave 2/3 · Task 3/4",
        "- **Action:** W2.T3 Implement user authentication: COMPLETE",
        (
            "- **Outcome:** Implemented JWT-based authentication with login/logout endpoints and"
            " middleware."
        ),
        f"- **Files:** {', '.join(f'{path} (created)' for path in touched)}",
        "- **Commit:** `a1b2c3d` feat(auth): implement JWT authentication service",
        "- **Claimed Only:** check tests passed, check typecheck passed",
    ]


@requirement("G-47")
def test_a_failed_check_and_a_blocker_with_its_options_are_in_the_entry() -> None:
    report = ReportView(
        outcome=OutcomeKind.GATE_FAILED,
        native_status="COMPLETE",
        task_id="W1.T1",
        summary="Parsed.",
        checks=(CheckView("tests", False, "2 failed"), CheckView("lint", True)),
        blockers="RULE 4 DEVIATION: Another database. Options: A) Postgres, B) SQLite",
    )

    assert chronicle_text(entry_of_report(report, time=NOW, claimed=["src/a.py"])).split("\n")[
        2:
    ] == [
        "- **Action:** W1.T1: COMPLETE, but 1 check failed",
        "- **Outcome:** Parsed.",
        "- **Failed Checks:** tests (2 failed)",
        "- **Blockers:** RULE 4 DEVIATION: Another database. Options: A) Postgres, B) SQLite",
        "- **Claimed Only:** check lint passed, src/a.py",
    ]


@requirement("G-44", "G-47")
def test_a_passed_check_that_shows_nothing_is_in_the_entry() -> None:
    empty = CheckView("tests", True, "CI will run it")
    report = ReportView(
        outcome=OutcomeKind.WITHOUT_RESULT,
        native_status="COMPLETE",
        task_id="W1.T1",
        summary="Parsed.",
        checks=(empty, CheckView("lint", True)),
        checks_without_result=(empty,),
    )

    assert chronicle_text(entry_of_report(report, time=NOW)).split("\n")[2:] == [
        "- **Action:** W1.T1: COMPLETE, but 1 check shows no result",
        "- **Outcome:** Parsed.",
        "- **Claimed Only:** check tests passed, without a result, check lint passed",
    ]


@pytest.mark.parametrize(
    ("case", "lines"),
    [
        (
            "speckit/concrete_implement.json",
            [
                "- **Position:** Phase implement",
                "- **Action:** 007-oauth-login: success",
                (
                    "- **Outcome:** 23 of 23 tasks completed, 127 of 127 tests passed, completion"
                    " 100 %, coverage 94.2 %, files created 45, files modified 12"
                ),
                "- **Files:** `specs/007-oauth-login/tasks.md`",
            ],
        ),
        (
            "speckit/concrete_test_failed_but_success.json",
            [
                "- **Position:** Phase test",
                "- **Action:** 007-oauth-login: success",
                (
                    "- **Outcome:** FAILED, tests passing FAILED, coverage PASSED, code quality"
                    " PASSED, build validation PASSED"
                ),
                (
                    "- **Findings:** HIGH: quality gate tests_passing FAILED: total 45, passed 43,"
                    " failed 2"
                ),
            ],
        ),
        (
            "factory/concrete_critic_blocking.json",
            [
                "- **Action:** a report without a task: success",
                "- **Outcome:** Architecture review found 2 BLOCKING issues",
                "- **Results:** BLOCKING",
                (
                    "- **Findings:** BLOCKING: B1 No STM defined: Architecture lacks state.json"
                    " schema; BLOCKING: B2 Path inconsistency: STM referenced as both .stm/ and"
                    " .pipeline-stm/"
                ),
            ],
        ),
        (
            "factory/concrete_questions.json",
            [
                "- **Action:** a report without a task: questions",
                "- **Outcome:** no summary",
                "- **Findings:** recommended: Suggest single-session for simplicity",
                (
                    "- **Questions:** Should the system support multiple concurrent sessions?"
                    " Options: A) single-session (recommended), B) multi-session"
                ),
            ],
        ),
    ],
)
def test_speckit_and_factory_leave_task_phase_counts_verdicts_and_findings(
    case: str, lines: list[str]
) -> None:
    verdict = validate((CASES.parent / case).read_text(encoding="utf-8"))
    report = ADAPTERS[case.partition("/")[0]].read(verdict)
    assert isinstance(report, ReportView)
    text = chronicle_text(entry_of_report(report, time=NOW, asked="critic"))

    author = report.agent or "critic"
    assert text.split("\n") == [f"### {NOW} · {author}", "", *lines]


def test_a_report_that_says_little_leaves_a_short_entry() -> None:
    entry = entry_of_report(NO_REPORT, time=NOW)

    assert (
        chronicle_text(entry)
        == f"### {NOW} · an agent\n\n- **Action:** a report without a task: no status\n"
        "- **Outcome:** no summary"
    )


def test_deviations_that_need_nobodys_word_and_decisions_leave_entries_in_the_log() -> None:
    report = ReportView(
        outcome=OutcomeKind.DONE,
        summary="RULE 1 DEVIATION: The clock was read twice",
        blockers="RULE 4 DEVIATION: Another database. Options: A) Postgres, B) SQLite",
        memories=(
            MemoryView("decision", 0.7, "RULE 2 DEVIATION: Limits on the login"),
            MemoryView("note", 0.4, "Hm"),
        ),
        extensions={
            "decision": "Use jose for tokens",
            "hint": "RULE 1 DEVIATION: The clock was read twice",
        },
        files=(FileView("src/clock.py", "modified"),),
    )

    entries = log_of_report(report, time=NOW)

    assert [(entry.kind, entry.rule, entry.description, entry.action) for entry in entries] == [
        ("DEVIATION", 1, "The clock was read twice", "The bug was fixed."),
        ("DEVIATION", 2, "Limits on the login", "The safeguard was added."),
        ("DECISION", None, "Use jose for tokens", "RULE 1 DEVIATION: The clock was read twice"),
    ]
    assert {entry.files for entry in entries} == {("src/clock.py",)}


HOSTILE = (
    "see <img src=https://x.example/a.png> &lt;script>alert(1)&lt;/script>",
    "![seen](https://x.example/a.png?q=secret)",
    "!\x00[seen](https://x.example/a.png) <\x07img src=x>",
    "<!-- gone --> </details> <?php ?>",
)


@pytest.mark.parametrize("words", HOSTILE)
def test_what_agents_say_is_no_html_and_no_image_in_any_document(words: str) -> None:
    entry = ChronicleEntry(
        time=NOW,
        agent=words,
        action=words,
        outcome=words,
        phase=words,
        files=[(words, words)],
        commits=[(words, words)],
    )
    log = AdlEntry(kind="DECISION", time=NOW, description=words, action=words, files=(words,))
    handoff = SessionHandoff(
        generated=NOW,
        phase="execute",
        outcomes=(words,),
        context=words,
        next_task=NextTask(task=words, action=words),
    )

    for document in (chronicle_text(entry), adl_text(log), handoff_text(handoff)):
        assert re.search(r"<[A-Za-z/!?]|&lt;|!\[", document) is None
        assert "x.example" in document or "gone" in document


def test_an_envelope_in_json_stays_none_when_a_control_character_is_taken_out_of_it() -> None:
    handoff = SessionHandoff(generated=NOW, phase="execute", context='{\x00"verdict": "PASS"}')

    assert '{"' not in handoff_text(handoff)
