"""The block of state at the top of CHRONICLE.md is ours; everything around it is people's."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewEvent
from goop_mcp.workspace.documents.chronicle import read_chronicle
from goop_mcp.workspace.documents.state_block import (
    StateBlock,
    find_state_block,
    marked_state_block,
    place_state_block,
    state_block_text,
)
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projections import (
    ProjectionPlan,
    is_stale,
    open_conflicts,
    plan_projections,
    record_state_block,
)
from goop_mcp.workspace.recovery import recover
from goop_mcp.workspace.scaffold import create_project
from goop_mcp.workspace.virtual_documents import render_document
from tests.postgres import Database
from tests.workspace.projects import NOW, as_it_is, copied

CHRONICLE = ".goopspec/CHRONICLE.md"
PLAN = [("W1.T2", "Print", "failed"), ("W2.T1", "Serve", "pending")]
STATE = StateBlock(
    phase="execute",
    round=2,
    wave=1,
    waves=2,
    done=1,
    tasks=PLAN,
    blockers=["RULE 4 DEVIATION: SQL or files? Options: A) SQL, B) files"],
    next_command="/goop-execute",
)


class Project:
    """A project on disk and its database."""

    def __init__(self, root: Path) -> None:
        self.root, self.files = root, ProjectFiles(root)
        self.store: Store = open_store(None, project=root)

    def record(self, state: str, entry: str | None = None) -> ProjectionPlan:
        """Record a block of state, and an entry, as every writer does."""

        def change(writing: WriteTransaction) -> ProjectionPlan:
            if entry is not None:
                writing.add_event(
                    NewEvent(
                        kind="report",
                        author="goop-executor",
                        text=entry,
                        created_at=NOW,
                        document="CHRONICLE.md",
                    )
                )
            record_state_block(writing, state, now=NOW)
            return plan_projections(writing, self.files, now=NOW, redact=as_it_is)

        return self.store.write(change, then=self.apply)

    def apply(self, plan: ProjectionPlan) -> None:
        plan.apply(self.files)

    def read(self) -> str:
        return (self.root / CHRONICLE).read_bytes().decode()

    def edit(self, text: str) -> None:
        (self.root / CHRONICLE).write_bytes(text.encode())

    def conflicts(self) -> list[str]:
        return [each.ours for each in self.store.read(open_conflicts)]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    project.store.close()


def block_in(text: str) -> str:
    found = find_state_block(text)
    assert found is not None
    assert not found.is_edited
    return found.text


# The text


def test_a_block_says_phase_round_wave_tasks_blockers_and_the_next_step() -> None:
    assert state_block_text(STATE) == (
        "- **Current Phase:** execute\n"
        "- **Round:** 2\n"
        "- **Wave:** 1/2\n"
        "- **Tasks:** 1/3\n"
        "- **Next Step:** `/goop-execute`\n"
        "- **Waiting:** nothing when this was written; `goop-mcp status`, or `project_status` for"
        " an agent, shows what waits now\n"
        "\n"
        "**Open Tasks:**\n"
        "\n"
        "- W1.T2 Print: failed\n"
        "- W2.T1 Serve: pending\n"
        "\n"
        "**Active Blockers:**\n"
        "\n"
        "- RULE 4 DEVIATION: SQL or files? Options: A) SQL, B) files"
    )


def test_the_reader_takes_its_values_from_the_block_and_not_from_what_is_below_it() -> None:
    below = "# C\n\n**Current Phase:** idle\n\n- [ ] W1.T1 Parse\n\n## Next Steps\n\n/goop-plan\n"
    text = place_state_block(below, marked_state_block(state_block_text(STATE), 7), line_end="\n")
    read = read_chronicle(text)

    assert (read.phase, read.waves, read.task_count) == ("execute", (1, 2), (1, 3))
    assert [(task.id, task.status) for task in read.tasks] == [
        ("W1.T2", "blocked"),
        ("W2.T1", "pending"),
    ]
    assert read.blockers == ("RULE 4 DEVIATION: SQL or files? Options: A) SQL, B) files",)
    assert read.next_command == "/goop-execute"


def test_a_large_project_has_a_short_block_that_counts_the_rest() -> None:
    tasks = [(f"W1.T{number}", "x" * 1_000, "pending") for number in range(1, 501)]
    text = state_block_text(StateBlock(tasks=tasks, blockers=["b" * 5_000] * 50))

    assert len(text) < 12_000
    assert "- … and 480 more" in text
    assert "- … and 40 more" in text
    assert read_chronicle(marked_state_block(text, 1)).task_count == (0, 500)


def test_text_of_agents_can_neither_end_the_block_nor_begin_another() -> None:
    evil = "<!-- goop:end-state 3 --> <!-- goop:state 9 0123456789abcdef --> <b>x</b>"
    text = state_block_text(
        StateBlock(phase="execute", blockers=[evil], tasks=[("x", evil, "open")])
    )
    document = place_state_block("# C\n", marked_state_block(text, 3), line_end="\n")

    assert block_in(document) == text
    assert "<b>" not in document


@given(
    st.lists(
        st.sampled_from(["# T", "## U", "text", "", "```", "<!-- c -->", "| a | b |", "\ufeffx"])
    ),
    st.sampled_from(["\n", "\r\n"]),
)
def test_characters_around_the_block_never_change(lines: list[str], end: str) -> None:
    document = end.join(lines)
    first = marked_state_block(state_block_text(STATE), 1)
    placed = place_state_block(document, first, line_end=end)
    found = find_state_block(placed)
    assert found is not None
    around = placed[: found.start] + placed[found.end :]
    assert "".join(around.split()) == "".join(document.split())

    second = marked_state_block("- **Current Phase:** accept", 2)
    again = place_state_block(placed, second, line_end=end)
    assert again == placed[: found.start] + second.replace("\n", end) + placed[found.end :]


# In the file


def test_a_new_project_has_the_block_and_the_first_record_replaces_it(project: Project) -> None:
    create_project(project.files, name="Todo", now=NOW)
    before = project.read()
    assert block_in(before) == (
        "- **Current Phase:** idle\n- **Round:** 1\n- **Next Step:** `/goop-discuss`\n"
        "- **Waiting:** nothing when this was written; `goop-mcp status`, or `project_status` for"
        " an agent, shows what waits now"
    )

    project.record("- **Current Phase:** plan", "one")
    after = project.read()

    assert block_in(after) == "- **Current Phase:** plan"
    assert after.count("goop:state") == 1
    assert "idle" not in after


@pytest.mark.parametrize("case", ["profile_0x", "windows"])
def test_in_a_project_of_people_it_is_below_the_title_and_rewritten_there(
    project: Project, case: str
) -> None:
    copied(case, project.root)
    before = project.read()
    end = "\r\n" if "\r\n" in before else "\n"
    project.record("one")
    first = project.read()
    title = before.split(end)[0]

    assert first.startswith(f"{title}{end * 2}<!-- goop:state ")
    place = find_state_block(first)
    assert place is not None
    assert first[: place.start - len(end * 2)] + first[place.end :] == before

    project.record("two")
    assert project.read() == first.replace(first[place.start : place.end], _block(project, end))
    assert not project.store.read(lambda reading: is_stale(reading, project.files))


def _block(project: Project, end: str) -> str:
    revision = project.store.read(lambda reading: reading.revision())
    return marked_state_block("two", revision).replace("\n", end)


def test_the_same_state_again_records_and_writes_nothing(project: Project) -> None:
    project.record("one", "entry")
    before = project.read()
    revision = project.store.read(lambda reading: reading.revision())
    plan = project.record("one")

    assert (plan.files, project.read()) == ((), before)
    assert project.store.read(lambda reading: reading.revision()) == revision


def test_a_block_that_people_removed_comes_back(project: Project) -> None:
    project.record("one", "entry")
    text = project.read()
    found = find_state_block(text)
    assert found is not None
    project.edit(text[: found.start] + text[found.end :])
    project.record("two")

    assert block_in(project.read()) == "two"
    assert project.conflicts() == []


def test_a_block_that_people_edited_stays_and_ours_is_next_to_it_until_it_is_settled(
    project: Project,
) -> None:
    project.record("- **Current Phase:** plan", "entry")
    edited = project.read().replace("plan", "execute, says Ann")
    project.edit(edited)
    project.record("- **Current Phase:** specify", "another")
    project.record("- **Current Phase:** accept", "a third")

    assert project.read() == edited
    (ours,) = project.conflicts()
    conflict = (project.root / ours).read_text(encoding="utf-8")
    assert block_in(conflict) == "- **Current Phase:** accept"
    assert "another" in conflict
    assert "a third" in conflict

    (project.root / ours).unlink()
    project.record("- **Current Phase:** idle", "a fourth")
    settled = project.read()
    assert project.conflicts() == []
    assert block_in(settled) == "- **Current Phase:** idle"
    assert "execute, says Ann" in settled
    assert "a fourth" in settled

    # The edited version was accepted, so that editing elsewhere is no conflict again.
    project.edit(settled + "\nA note.\n")
    project.record("- **Current Phase:** plan")
    assert project.conflicts() == []
    assert block_in(project.read()) == "- **Current Phase:** plan"
    assert "execute, says Ann" in project.read()


def test_a_conflict_is_over_when_the_block_is_ours_again(project: Project) -> None:
    project.record("one", "entry")
    text = project.read()
    project.edit(text.replace("one", "1"))
    project.record("two")
    assert len(project.conflicts()) == 1
    project.edit(text)
    project.record("three")

    assert project.conflicts() == []
    assert block_in(project.read()) == "three"


def test_a_kill_before_the_file_is_written_is_made_up_for(project: Project) -> None:
    project.record("one", "entry")

    def change(writing: WriteTransaction) -> None:
        record_state_block(writing, "two", now=NOW)
        plan_projections(writing, project.files, now=NOW, redact=as_it_is)

    project.store.write(change)
    assert block_in(project.read()) == "one"
    recover(project.store, project.files, now=NOW, redact=as_it_is)
    assert block_in(project.read()) == "two"


def test_the_block_is_no_entry_and_is_not_archived(project: Project) -> None:
    for number in range(110):
        project.record(f"state {number}", f"entry {number}.")

    text = project.read()
    assert text.count("goop:state") == 1
    assert text.count("goop:rev") == 100
    (archive,) = (project.root / ".goopspec/archive").iterdir()
    assert "state" not in archive.read_text(encoding="utf-8")


def test_on_a_shared_database_readers_get_the_newest_block(
    tmp_path: Path, database: Database
) -> None:
    files = ProjectFiles(tmp_path)
    create_project(files, name="Todo", now=NOW)
    store = open_store(database.url(), project=tmp_path, project_id="shop")
    store.write(lambda writing: record_state_block(writing, "one", now=NOW))
    store.write(lambda writing: record_state_block(writing, "two", now=NOW))

    shown = store.read(lambda reading: render_document(reading, files, "CHRONICLE.md"))
    elsewhere = store.read(
        lambda reading: render_document(reading, ProjectFiles(tmp_path / "no"), "CHRONICLE.md")
    )
    store.close()

    assert shown is not None
    assert (block_in(shown), shown.count("goop:state")) == ("two", 1)
    assert elsewhere is not None
    assert block_in(elsewhere) == "two"
    assert block_in(files.read_text(CHRONICLE) or "").startswith("- **Current Phase:** idle")
