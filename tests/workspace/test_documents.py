"""Documents are read tolerantly, and what we write is read back as it was meant."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.workspace.documents.blueprint import Blueprint, PlannedFile, read_blueprint
from goop_mcp.workspace.documents.chronicle import Chronicle, read_chronicle
from goop_mcp.workspace.documents.entries import (
    AdlEntry,
    ChronicleEntry,
    adl_text,
    chronicle_text,
    read_adl,
)
from goop_mcp.workspace.documents.handoff import (
    DoneTask,
    HandoffCommit,
    NextTask,
    SessionHandoff,
    handoff_text,
    read_handoff,
)
from goop_mcp.workspace.documents.markdown import find_headings, read_markdown
from goop_mcp.workspace.documents.requirements import InterviewFacts, read_requirements
from goop_mcp.workspace.documents.spec import Spec, measure_coverage, read_spec
from goop_mcp.workspace.documents.status_markers import TaskStatus, read_status
from tests.requirements import requirement
from tests.workspace.projects import NOW, text_of

SPEC = text_of("profile_0x", "SPEC.md")
BLUEPRINT = text_of("profile_0x", "BLUEPRINT.md")
CHRONICLE = text_of("profile_0x", "CHRONICLE.md")
REQUIREMENTS = text_of("profile_0x", "REQUIREMENTS.md")
READERS: dict[Callable[[str], object], type] = {
    read_spec: Spec,
    read_blueprint: Blueprint,
    read_chronicle: Chronicle,
    read_handoff: SessionHandoff,
    read_requirements: InterviewFacts,
    read_adl: tuple,
}


# markdown


def test_headings_in_fences_and_comments_do_not_count() -> None:
    text = (
        "# One\n```\n# No\n```\n<!--\n# No\n-->\n~~~~\n```\n# No\n~~~~\n## Two ##\n#######"
        " Seven\n#None\n"
    )

    assert [section.title for section in read_markdown(text).walk()] == ["One", "Two"]


def test_a_heading_after_a_byte_order_mark_is_found() -> None:
    (heading,) = find_headings("\ufeff# One\nx\ufeff# No\n")
    assert (heading.title, heading.start) == ("One", 1)


def test_line_numbers_are_those_of_the_file_in_every_style_of_line_ends() -> None:
    for end in ("\n", "\r\n", "\r"):
        one, two = read_markdown(f"\ufeff# One{end}{end}text{end}## Two").walk()
        assert (one.line, two.line) == (1, 4)


def test_a_comment_that_begins_in_code_hides_nothing() -> None:
    assert [section.title for section in read_markdown("```\n<!-- \n```\n# One\n").walk()] == [
        "One"
    ]


@given(
    st.lists(
        st.sampled_from(
            ["# a", "## b ##", "```", "~~~", "<!--", "-->", "", "text", "   # c", "    # d"]
        )
    )
)
def test_headings_are_found_at_the_same_places_with_and_without_reading_the_rest(
    lines: list[str],
) -> None:
    text = "\n".join(lines)

    assert [
        (each.level, each.title, text.count("\n", 0, each.start) + 1)
        for each in find_headings(text)
    ] == [(each.level, each.title, each.line) for each in read_markdown(text).walk()]


@given(st.text(st.sampled_from("#`~*-|: \n\r<!>[x]W1.TMH✓⏳Wave Task "), max_size=200))
def test_every_reader_makes_a_document_of_any_text_whatever(text: str) -> None:
    assert {reader: type(reader(text)) for reader in READERS} == READERS


def test_status_words_and_icons_mean_the_same() -> None:
    samples = {
        TaskStatus.DONE: ["complete", "✓", "✅ Done", "Completed 2026-01-01", "**passed**"],
        TaskStatus.PENDING: ["pending", "⏳", "not done", "incomplete", "not yet started", "TODO"],
        TaskStatus.IN_PROGRESS: ["in progress", "In_Progress", "partial"],
        TaskStatus.BLOCKED: ["blocked", "✗", "❌ was done once"],
        None: ["", "the Spec", "condone"],
    }

    assert {status: [read_status(text) for text in texts] for status, texts in samples.items()} == {
        status: [status] * len(texts) for status, texts in samples.items()
    }


# SPEC.md


def test_a_spec_is_read_with_its_must_haves() -> None:
    spec = read_spec(SPEC)

    assert (spec.name, spec.version, spec.locked, spec.locked_line) == ("Todo API", "1.2", True, 7)
    assert [
        (each.id, each.title, [str(task) for task in each.traced_to]) for each in spec.must_haves
    ] == [
        ("MH1", "Lists can be created", ["W1.T1", "W1.T2"]),
        ("MH2", "Items can be ticked off", ["W2.T1"]),
        ("MH3", "Sign-in", ["W3.T1"]),
    ]
    assert [each.passed for each in spec.must_haves] == [True, False, False]
    assert (spec.nice_to_haves, spec.assumptions) == (("NH1: Search",), ("One machine is enough",))
    assert (spec.amendments, spec.stated_coverage) == (2, 100.0)


def test_a_header_that_says_unlocked_is_not_locked() -> None:
    headers = {
        "Locked: No": False,
        "Locked: 🔓 Unlocked": False,
        "Status: Locked": True,
        "**Locked**: true": True,
        "": None,
    }

    assert {
        header: read_spec(f"# SPEC: x\n\n{header}\n\n## Vision\n").locked for header in headers
    } == headers


@requirement("P-03")
def test_coverage_counts_must_haves_that_some_task_serves() -> None:
    coverage = measure_coverage(read_spec(SPEC), read_blueprint(BLUEPRINT))

    assert (coverage.must_haves, coverage.traced, coverage.percent) == (3, 3, 100.0)
    assert [str(task) for task in coverage.idle_tasks] == ["W2.T2"]


def test_a_task_that_the_plan_does_not_have_traces_nothing() -> None:
    spec = read_spec(
        "# SPEC: x\n### MH1: a\nTraced To: W1.T1\n### MH2: b\nTraced To: W9.T9\n### MH3: c\n"
    )
    coverage = measure_coverage(spec, read_blueprint("## Wave 1: x\n### Task 1.1: y\n"))

    assert (coverage.untraced, round(coverage.percent, 2)) == (("MH2", "MH3"), 33.33)
    assert measure_coverage(spec, None).percent == 0.0


# BLUEPRINT.md


def test_a_blueprint_is_read_with_waves_and_tasks_of_both_forms() -> None:
    plan = read_blueprint(BLUEPRINT)

    assert [
        (wave.number, wave.name, [str(task.id) for task in wave.tasks]) for wave in plan.waves
    ] == [
        (1, "Storage", ["W1.T1", "W1.T2"]),
        (2, "Handlers", ["W2.T1", "W2.T2"]),
        (3, "Sign-in", ["W3.T1", "W3.T2"]),
    ]
    table, older = plan.task("Task 1.1"), plan.task("w2t2")
    assert table is not None
    assert (table.executor, table.parallel, table.must_haves) == (
        "goop-executor-medium",
        True,
        ("MH1",),
    )
    assert [(file.path, file.action) for file in table.files] == [
        ("src/storage/schema.sql", "create"),
        ("src/storage/index.ts", "modify"),
    ]
    assert table.verification == ("npm run migrate", "npm test -- storage")
    assert older is not None
    assert (older.intent, older.verification) == (
        "One handler that turns errors into JSON",
        ("npm test -- errors",),
    )
    assert older.files == (PlannedFile(path="src/http/errors.ts"),)


def test_windows_line_ends_give_the_same_plan() -> None:
    assert read_blueprint(text_of("windows", "BLUEPRINT.md")) == read_blueprint(BLUEPRINT)


def test_a_plan_of_v1_has_tasks_without_waves() -> None:
    plan = read_blueprint(text_of("profile_v1", "BLUEPRINT.md"))

    assert plan.waves == ()
    assert [(task.name, task.id.guessed) for task in plan.tasks] == [
        ("Parse the file", True),
        ("Print the result", True),
    ]
    assert [file.path for file in plan.tasks[1].files] == ["src/print.py", "src/cli.py"]
    assert plan.task("1.2") == plan.tasks[1]


CHECK_LIST = """\
# BLUEPRINT: x

## Spec Mapping

| Must-Have | Tasks |
|---|---|
| MH2 | W2.T1 |

## Wave 1: Storage

- [x] W1.T1: Parse (MH1)
  - Files: `src/a.py`, `src/b.py`
  - Verify: `pytest -q`
- [ ] T2: Print
- 1.5 seconds are enough

## Wave 2: Serve

- [ ] **Task 2.1: Serve**

## Verification Checklist

- [ ] W9.T9 was tried by hand
"""
GROUPED_LIST = """\
# BLUEPRINT: x

- [ ] Wave 1: Storage
  - [x] W1.T1: Parse (MH1)
    - Files: `src/a.py`, `src/b.py`
    - Verify: `pytest -q`
  - [ ] T2: Print
- **Wave 2: Serve**
  - W2.T1: Serve MH2
"""
TASK_TABLE = """\
# BLUEPRINT: x

## Wave 1: Storage

| Task | Name | Files | Verify | Covers | Status |
|---|:-:|---|---|---|---|
| W1.T1 | Parse | `src/a.py`, `src/b.py` | `pytest -q` | MH1 | done |
| T2 | Print | | | | |

## Wave 2: Serve

| ID | What | Must-Haves |
|---|---|---|
| 2.1 | Serve | MH2 |
"""


@pytest.mark.parametrize("text", [CHECK_LIST, GROUPED_LIST, TASK_TABLE])
def test_tasks_in_check_lists_and_tables_are_read(text: str) -> None:
    plan = read_blueprint(text)

    assert [(wave.number, wave.name) for wave in plan.waves] == [(1, "Storage"), (2, "Serve")]
    assert [str(task.id) for task in plan.tasks] == ["W1.T1", "W1.T2", "W2.T1"]
    first = plan.task("W1.T1")
    assert first is not None
    assert first.name in ("Parse", "Parse (MH1)")
    assert [file.path for file in first.files] == ["src/a.py", "src/b.py"]
    assert (first.verification, first.must_haves) == (("pytest -q",), ("MH1",))
    assert first.status is TaskStatus.DONE
    assert "Parse" in text.split("\n")[first.line - 1]
    assert [str(id) for id in plan.serving("MH2")] == ["W2.T1"]


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (CHECK_LIST, "- [x] W1", "- [ ] W1"),
        (TASK_TABLE, "| done |", "| open |"),
    ],
)
def test_progress_in_a_list_or_table_does_not_change_the_digest(
    text: str, old: str, new: str
) -> None:
    assert _digest_after(text.replace(old, new)) == _digest_after(text)
    assert _digest_after(text.replace("src/a.py", "src/c.py")) != _digest_after(text)


def test_lists_do_not_count_where_headings_name_the_tasks() -> None:
    plan = read_blueprint(TASK + "\n## Notes\n\n- [ ] W1.T9: Not of this plan\n")
    assert [str(task.id) for task in plan.tasks] == ["W1.T1", "W1.T2"]


TASK = """\
# BLUEPRINT: x

## Wave 1: One

### Task 1.1: Parse

| Attribute | Value |
|---|---|
| Intent | Read the file |
| Status | pending |

**Files:** `src/parse.py`

#### Acceptance

- [ ] An empty file is read

### Task 1.2: Print
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- [ ] An", "- [x] An"),
        ("| Status | pending |", "| Status | completed |"),
        ("| Status | pending |\n", ""),
        ("Task 1.1: Parse", "✅ Task 1.1:  Parse"),
        ("### Task 1.2", "---\n\n### Task 1.2"),
        ("\n", "\r\n"),
        ("Print", "Print again"),
        ("**Files:**", "<!-- a note -->\n**Files:**"),
    ],
)
def test_progress_does_not_change_the_digest_of_a_task(old: str, new: str) -> None:
    assert _digest_after(TASK.replace(old, new)) == _digest_after(TASK)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("An empty file", "A large file"),
        ("Read the file", "Read the folder"),
        ("src/parse.py", "src/read.py"),
        ("Task 1.1: Parse", "Task 1.1: Read"),
        ("Acceptance", "Verification"),
    ],
)
def test_another_definition_changes_the_digest_of_a_task(old: str, new: str) -> None:
    assert _digest_after(TASK.replace(old, new)) != _digest_after(TASK)


def _digest_after(text: str) -> str:
    task = read_blueprint(text).task("W1.T1")
    assert task is not None
    assert task.digest
    return task.digest


# CHRONICLE.md


def test_a_chronicle_is_read_with_tasks_in_lists_and_tables() -> None:
    diary = read_chronicle(CHRONICLE)

    assert (diary.phase, diary.session, diary.spec_locked) == ("execute", "todo-3", True)
    assert (diary.waves, diary.task_count) == ((2, 3), (2, 6))
    assert [(task.id, task.status, task.sha) for task in diary.tasks] == [
        ("W1.T1", TaskStatus.DONE, "a1b2c3d"),
        ("W1.T2", TaskStatus.DONE, "b2c3d4e"),
        ("W2.T1", TaskStatus.PENDING, None),
        ("W2.T2", TaskStatus.BLOCKED, None),
    ]
    assert diary.blockers == ("Which error format does the mobile team want?",)
    assert [activity.commit for activity in diary.activities] == ["b2c3d4e"]
    assert diary.next_command == "/goop-execute"


def test_an_entry_of_the_diary_is_read_as_it_was_written() -> None:
    text = chronicle_text(
        ChronicleEntry(
            time=NOW,
            agent="goop-executor",
            action="W2.T1 Tick off items: COMPLETE",
            outcome="It answers.\n## Not a heading",
            phase="execute",
            wave="2/3",
            task="1/2",
            files=[("src/http/items.ts", "created"), ("src/`odd`.ts", None)],
            commits=[("a1b2c3d", "feat: items")],
        )
    )

    assert text.split("\n") == [
        f"### {NOW} · goop-executor",
        "",
        "- **Position:** Phase execute · Wave 2/3 · Task 1/2",
        "- **Action:** W2.T1 Tick off items: COMPLETE",
        "- **Outcome:** It answers. ## Not a heading",
        "- **Files:** `src/http/items.ts` (created), `src/'odd'.ts`",
        "- **Commit:** `a1b2c3d` feat: items",
    ]
    (activity,) = read_chronicle(f"## Recent Activity\n\n{text}\n").activities
    assert (activity.action, activity.outcome) == (
        "W2.T1 Tick off items: COMPLETE",
        "It answers. ## Not a heading",
    )


# REQUIREMENTS.md


def test_the_interview_is_counted_without_template_text() -> None:
    facts = read_requirements(REQUIREMENTS)

    assert (facts.name, facts.interview_complete) == ("Todo API", True)
    assert (facts.vision_sentences, facts.must_haves, facts.constraints) == (5, 3, 3)
    assert (facts.out_of_scope, facts.assumptions, facts.mitigated_risks, facts.open_questions) == (
        1,
        1,
        1,
        1,
    )


def test_an_empty_template_has_nothing() -> None:
    text = (
        "# REQUIREMENTS: x\n## Vision\n[What. Why. How.]\n## Must-Haves\n- [ ] [Name it]\n##"
        " Assumptions\nNone\n"
    )
    facts = read_requirements(text)

    assert (
        facts.vision_sentences,
        facts.must_haves,
        facts.assumptions,
        facts.interview_complete,
    ) == (0, 0, 0, None)


# ADL.md


def test_an_entry_of_the_log_of_decisions_is_read_as_it_was_written() -> None:
    entry = AdlEntry(
        kind="DEVIATION",
        time=NOW,
        description="Input",
        action="A check",
        rule=2,
        files=("a.ts", "b.ts"),
    )

    assert adl_text(entry).startswith(
        f"## [DEVIATION] (Rule 2) - {NOW}\n\n**Description:** Input\n\n**Action:** A check\n"
    )
    assert adl_text(entry).endswith("- Files: a.ts, b.ts\n\n---")
    assert read_adl(adl_text(entry)) == (entry,)
    assert [each.rule for each in read_adl(text_of("profile_0x", "ADL.md"))] == [2]


# HANDOFF.md

HANDOFF = SessionHandoff(
    generated=NOW,
    phase="execute",
    session="todo-3",
    completed=(DoneTask("W2.T1: Tick off items", "a1b2c3d"), DoneTask("# no heading")),
    outcomes=("The service answers",),
    decisions=("JSON everywhere",),
    spec_locked=True,
    wave="2/3",
    task="W2.T2",
    files_modified=("src/http/items.ts",),
    commits=(HandoffCommit("a1b2c3d", "feat: items"),),
    command="/goop-execute",
    files_to_read=(".goopspec/SPEC.md", "src/http/items.ts"),
    context="Wave 2 is half done. The error handler is next.",
    next_task=NextTask(
        task="W2.T2: Errors as JSON",
        files=("src/http/errors.ts",),
        action="Write it",
        verify="npm test",
    ),
    blockers=("RULE 4 DEVIATION: schema. Options: A) keep, B) change",),
    gotchas=("The tests need a free port",),
    pending_decisions=("Which error format?",),
    memories=("Errors are JSON (decision)",),
)
HEADINGS = [
    "Session Handoff",
    "Accomplished This Session",
    "Completed Tasks",
    "Key Outcomes",
    "Decisions Made",
    "Current State",
    "Workflow Position",
    "Files Modified",
    "Commits Made",
    "Next Session Instructions",
    "Command to Run",
    "Files to Read First",
    "Context Summary",
    "Immediate Next Task",
    "Warnings & Blockers",
    "Active Blockers",
    "Gotchas Discovered",
    "Pending Decisions",
    "Memory Saved",
    "Resume Checklist",
]
OPTIONAL = {"Key Outcomes", "Files Modified", "Commits Made", "Gotchas Discovered", "Memory Saved"}


def test_a_handoff_has_every_heading_and_is_read_as_it_was_written() -> None:
    text = handoff_text(HANDOFF)

    assert [section.title for section in read_markdown(text).walk()] == HEADINGS
    assert read_handoff(text) == HANDOFF


def test_a_handoff_of_nothing_has_no_section_that_says_nothing() -> None:
    empty = SessionHandoff(generated=NOW, phase="idle")

    titles = [section.title for section in read_markdown(handoff_text(empty)).walk()]
    assert titles == [each for each in HEADINGS if each not in OPTIONAL]
    assert read_handoff(handoff_text(empty)) == empty


@given(st.text(max_size=80))
def test_an_agents_words_never_make_a_heading_of_a_handoff(text: str) -> None:
    handoff = SessionHandoff(
        generated=NOW,
        phase="plan",
        outcomes=(text,),
        context=text,
        blockers=(text, text),
        command=text,
    )

    titles = [section.title for section in read_markdown(handoff_text(handoff)).walk()]
    assert titles == [each for each in HEADINGS if each == "Key Outcomes" or each not in OPTIONAL]
