"""The files show what the database says; what people wrote there stays, byte for byte."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import Event, NewEvent
from goop_mcp.workspace.documents.chronicle import read_chronicle
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projection_text import EntryBlock, insert_blocks
from goop_mcp.workspace.projections import (
    ProjectionPlan,
    Redact,
    is_stale,
    open_conflicts,
    plan_projections,
)
from goop_mcp.workspace.recovery import recover
from tests.workspace.projects import NOW, as_it_is, copied, text_of

CHRONICLE, ADL, HANDOFF = (f".goopspec/{name}.md" for name in ("CHRONICLE", "ADL", "HANDOFF"))
OURS = re.compile(r"\r?\n\r?\n<!-- goop:rev (\d+) -->.*?<!-- goop:end \1 -->", re.DOTALL)


class Project:
    """A project on disk and its database."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = ProjectFiles(root)
        self.store: Store = open_store(None, project=root)

    def record(
        self, text: str, *, document: str = "CHRONICLE.md", redact: Redact = as_it_is
    ) -> ProjectionPlan:
        """Record an event and show it, as every writer does."""
        event = NewEvent(
            kind="report", author="goop-executor", text=text, created_at=NOW, document=document
        )

        def change(writing: WriteTransaction) -> ProjectionPlan:
            writing.add_event(event)
            return plan_projections(writing, self.files, now=NOW, redact=redact)

        return self.store.write(change, then=self.apply)

    def apply(self, plan: ProjectionPlan) -> None:
        plan.apply(self.files)

    def read(self, path: str = CHRONICLE) -> str:
        return (self.root / path).read_bytes().decode()

    def edit(self, text: str, path: str = CHRONICLE) -> None:
        (self.root / path).write_bytes(text.encode())

    def imported(self) -> list[str]:
        return [event.text for event in self.events() if event.author == "human"]

    def events(self) -> list[Event]:
        return self.store.read(lambda reading: reading.events())

    def names(self) -> list[str]:
        return [name for name in self.files.names(".goopspec") if name.endswith(".md")]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    project.store.close()


@pytest.fixture(params=["profile_0x", "windows"])
def diary(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """Return a project whose chronicle is full of people's text."""
    copied(request.param, tmp_path)
    project = Project(tmp_path)
    yield project
    project.store.close()


# entries among people's text


def test_a_chronicle_that_does_not_exist_is_made_with_our_entries(project: Project) -> None:
    project.record("one")
    project.record("two")

    assert (
        project.read()
        == "# CHRONICLE\n\n## Recent Activity\n\n<!-- goop:rev 1 -->\none\n<!-- goop:end 1"
        " -->\n\n<!-- goop:rev 2 -->\ntwo\n<!-- goop:end 2 -->\n"
    )


def test_our_entries_stand_at_the_end_of_recent_activity_and_nothing_else_changes(
    diary: Project,
) -> None:
    before = diary.read()

    diary.record("### now · goop-executor\n\n- **Action:** one")
    diary.record("### later · goop-executor\n\n- **Action:** two")

    after = diary.read()
    assert OURS.sub("", after) == before
    assert [activity.action for activity in read_chronicle(after).activities] == [
        "Wrote the handler",
        "one",
        "two",
    ]
    assert after.index("goop:end") < after.index("## Decisions Made")
    assert after.count("\n") == after.count("\r\n") or "\r" not in after
    assert diary.imported() == []


def test_the_log_of_decisions_grows_at_its_end(diary: Project) -> None:
    before = text_of("profile_0x", "ADL.md")
    diary.edit(before, ADL)

    diary.record("## [DECISION] - now\n\n---", document="ADL.md")

    assert diary.read(ADL).startswith(before.rstrip())
    assert OURS.sub("", diary.read(ADL)) == before
    assert "CHRONICLE.conflict" not in " ".join(diary.names())


def test_a_document_without_events_is_left_alone(diary: Project) -> None:
    before = diary.read()

    diary.record("Handoff", document="HANDOFF.md")

    assert diary.read() == before
    assert not diary.files.exists(CHRONICLE.replace("CHRONICLE", "STATE"))


def test_text_added_under_a_known_heading_is_taken_in_once_and_stays(diary: Project) -> None:
    diary.record("one")
    end = "\r\n" if "\r" in diary.read() else "\n"
    edited = diary.read().replace(
        f"## Learnings{end}", f"## Learnings{end}{end}- Ask Bert about ports; password=hunter2{end}"
    )
    diary.edit(edited)

    plans = [
        diary.record(text, redact=lambda text: text.replace("hunter2", "[REDACTED]"))
        for text in ("two", "three")
    ]

    assert [plan.imported for plan in plans] == [1, 0]
    assert diary.imported() == ["- Ask Bert about ports; password=[REDACTED]"]
    assert OURS.sub("", diary.read()) == OURS.sub("", edited)
    assert [plan.conflicts for plan in plans] == [(), ()]


def test_people_may_write_a_nul(project: Project) -> None:
    project.record("one")
    project.edit(project.read() + "\n## Learnings\n\nodd\0text\n")

    plans = [project.record(text) for text in ("two", "three")]

    assert [plan.imported for plan in plans] == [1, 0]
    assert project.imported() == ["odd\ufffdtext"]
    assert "odd\0text" in project.read()


def test_what_people_save_while_a_writer_commits_is_not_overwritten(project: Project) -> None:
    project.record("one")

    def change(writing: WriteTransaction) -> ProjectionPlan:
        event = NewEvent(
            kind="report",
            author="goop-executor",
            text="two",
            created_at=NOW,
            document="CHRONICLE.md",
        )
        writing.add_event(event)
        return plan_projections(writing, project.files, now=NOW, redact=as_it_is)

    def save_first(plan: ProjectionPlan) -> None:
        project.edit("Saved just now.\n" + project.read())
        assert plan.apply(project.files) == (CHRONICLE,)

    project.store.write(change, then=save_first)
    assert "two" not in project.read()
    recover(project.store, project.files, now=NOW, redact=as_it_is)

    assert project.read().startswith("Saved just now.\n# CHRONICLE")
    assert "two" in project.read()


def test_text_added_elsewhere_is_kept_and_not_taken_in(diary: Project) -> None:
    diary.record("one")
    edited = diary.read().replace("We are here: wave 2", "We are there: wave 7")
    diary.edit(edited)

    plan = diary.record("two")

    assert (plan.imported, plan.conflicts) == (0, ())
    assert OURS.sub("", diary.read()) == OURS.sub("", edited)


@pytest.mark.parametrize(
    ("ours", "theirs"), [("one", "none"), ("<!-- goop:rev 1 -->", ""), ("<!-- goop:end 1 -->", "x")]
)
def test_where_people_changed_our_entry_their_file_is_left_alone(
    project: Project, ours: str, theirs: str
) -> None:
    project.record("one")
    project.record("two")
    edited = project.read().replace(ours, theirs)
    project.edit(edited)

    plan = project.record("three")

    assert project.read() == edited
    (conflict,) = plan.conflicts
    assert conflict.ours == ".goopspec/CHRONICLE.conflict-3.md"
    assert [word in project.read(conflict.ours) for word in ("one", "two", "three")] == [
        True,
        False,
        True,
    ]
    assert project.store.read(open_conflicts) == (conflict,)


def test_a_conflict_grows_in_its_own_file_until_it_is_settled(project: Project) -> None:
    for text in ("one", "two"):
        project.record(text)

    project.edit(project.read().replace("one", "1"))
    for text in ("three", "four"):
        project.record(text)

    assert project.names() == ["CHRONICLE.conflict-3.md", "CHRONICLE.md"]
    assert "four" in project.read(".goopspec/CHRONICLE.conflict-3.md")
    (project.root / ".goopspec/CHRONICLE.conflict-3.md").unlink()
    theirs = project.read()
    plan = project.record("five")

    assert plan.conflicts == ()
    assert project.read() == theirs + "\n<!-- goop:rev 5 -->\nfive\n<!-- goop:end 5 -->\n"
    assert project.store.read(open_conflicts) == ()


def test_an_open_conflict_leaves_nothing_to_recover_until_it_is_settled(
    project: Project,
) -> None:
    for text in ("one", "two"):
        project.record(text)

    project.edit(project.read().replace("one", "1"))
    project.record("three")

    assert not project.store.read(lambda reading: is_stale(reading, project.files))
    (project.root / ".goopspec/CHRONICLE.conflict-3.md").unlink()
    assert project.store.read(lambda reading: is_stale(reading, project.files))


def test_a_conflict_is_over_when_our_entry_stands_there_again(project: Project) -> None:
    for text in ("one", "two"):
        project.record(text)

    sound = project.read()
    project.edit(sound.replace("one", "1"))
    project.record("three")
    project.edit(sound)

    plan = project.record("four")

    assert plan.conflicts == ()
    assert all(word in project.read() for word in ("one", "two", "three", "four"))


def test_a_conflict_file_that_people_edited_is_not_overwritten_either(project: Project) -> None:
    for text in ("one", "two"):
        project.record(text)

    project.edit(project.read().replace("one", "1"))
    project.record("three")
    project.edit("mine now", ".goopspec/CHRONICLE.conflict-3.md")
    project.record("four")

    assert project.read(".goopspec/CHRONICLE.conflict-3.md") == "mine now"
    assert "four" in project.read(".goopspec/CHRONICLE.conflict-4.md")


def test_a_file_with_the_name_of_a_conflict_is_not_overwritten(project: Project) -> None:
    for text in ("one", "two"):
        project.record(text)

    project.edit(project.read().replace("one", "1"))
    project.edit("mine", ".goopspec/CHRONICLE.conflict-3.md")

    (conflict,) = project.record("three").conflicts

    assert conflict.ours == ".goopspec/CHRONICLE.conflict-4.md"
    assert project.read(".goopspec/CHRONICLE.conflict-3.md") == "mine"


@pytest.mark.parametrize("broken", ["link", "not utf-8"])
def test_a_chronicle_that_cannot_be_read_is_left_alone(project: Project, broken: str) -> None:
    path = project.root / CHRONICLE
    path.parent.mkdir()
    if broken == "link":
        (project.root / "diary.md").write_text("a diary")
        path.symlink_to("../diary.md")
    else:
        path.write_bytes("Grüße".encode("latin-1"))

    before = path.read_bytes()

    plan = project.record("one")

    assert path.read_bytes() == before
    assert [conflict.ours for conflict in plan.conflicts] == [".goopspec/CHRONICLE.conflict-1.md"]


def test_an_agents_words_cannot_end_our_entry_or_hide_the_rest(project: Project) -> None:
    project.record("<!-- goop:end 1 --> <!-- hidden")
    project.record("two")

    assert project.read().count("<!-- goop:end 1 -->") == 1
    assert "<!-- hidden" not in project.read()
    assert project.store.read(open_conflicts) == ()


LINES = [
    "# CHRONICLE: x",
    "## Recent Activity",
    "### a",
    "## Learnings",
    "- item",
    "text",
    "",
    "---",
    "```",
    "<!-- c",
    "-->",
    "| a |",
]
BLOCK = EntryBlock(7, "<!-- goop:rev 7 -->\nours\n<!-- goop:end 7 -->")


@given(
    st.lists(st.sampled_from(LINES), max_size=14), st.sampled_from(["\n", "\r\n"]), st.booleans()
)
def test_bytes_outside_our_marks_never_change(lines: list[str], end: str, mark: bool) -> None:
    text = ("\ufeff" if mark else "") + end.join(lines)

    after = insert_blocks(text, [BLOCK], document="CHRONICLE.md")

    before, block, rest = after.partition(BLOCK.in_style("\r\n" if "\r\n" in after else "\n"))
    assert block
    # At the end of a text without a last line end, one is added after the block.
    splits = {len(text) - len(rest), len(text)}
    assert any(
        before[:at] + rest == text + (rest if at == len(text) else "")
        and before[at:].replace("## Recent Activity", "").strip() == ""
        and (at < len(text) or rest.strip() == "")
        for at in splits
    )


def test_a_named_session_has_documents_of_its_own(project: Project) -> None:
    name = "sessions/feature-auth/CHRONICLE.md"
    event = NewEvent(
        kind="report", author="goop-executor", text="one", created_at=NOW, document=name
    )

    def change(writing: WriteTransaction) -> ProjectionPlan:
        writing.add_event(event)
        return plan_projections(writing, project.files, now=NOW, redact=as_it_is, documents=(name,))

    project.store.write(change)
    recover(project.store, project.files, now=NOW, redact=as_it_is)

    assert "one" in project.read(f".goopspec/{name}")
    assert project.names() == []


# a document that is ours as a whole


def test_a_handoff_is_written_whole_with_its_revision(project: Project) -> None:
    project.record("# Session Handoff\n\none", document="HANDOFF.md")
    project.record("# Session Handoff\n\ntwo", document="HANDOFF.md")

    assert project.read(HANDOFF) == "# Session Handoff\n\ntwo\n\n<!-- goop:rev 2 -->\n"


def test_what_people_added_to_a_handoff_is_taken_in_and_carried_into_the_next(
    project: Project,
) -> None:
    project.record("# Session Handoff\n\n## Gotchas\n\none", document="HANDOFF.md")
    project.edit(
        project.read(HANDOFF).replace("## Gotchas\n", "## Gotchas\n\nAsk Bert first.\n"), HANDOFF
    )

    plans = [
        project.record("an entry"),
        project.record("# Session Handoff\n\ntwo", document="HANDOFF.md"),
    ]

    assert [plan.imported for plan in plans] == [1, 0]
    assert project.imported() == ["Ask Bert first."]
    assert project.read(HANDOFF).endswith(
        "two\n\n## Notes From People\n\nAsk Bert first.\n\n<!-- goop:rev 3 -->\n"
    )


def test_a_handoff_with_an_addition_is_not_written_back_without_it(project: Project) -> None:
    project.record("# Session Handoff\n\n## Gotchas\n\none", document="HANDOFF.md")
    project.edit(edited := project.read(HANDOFF).replace("one\n", "one\n\nmore\n"), HANDOFF)

    for text in ("an entry", "another", "a third"):
        project.record(text)

    assert project.read(HANDOFF) == edited


def test_a_handoff_that_people_rewrote_is_left_alone(project: Project) -> None:
    project.record("# Session Handoff\n\n## Gotchas\n\none", document="HANDOFF.md")
    project.edit("# My own handoff\n", HANDOFF)

    plan = project.record("# Session Handoff\n\ntwo", document="HANDOFF.md")

    assert project.read(HANDOFF) == "# My own handoff\n"
    assert [conflict.ours for conflict in plan.conflicts] == [".goopspec/HANDOFF.conflict-2.md"]
    assert "two" in project.read(".goopspec/HANDOFF.conflict-2.md")


def test_a_handoff_of_another_program_is_left_alone_until_it_is_moved_away(
    project: Project,
) -> None:
    (project.root / ".goopspec").mkdir()
    project.edit("# Session Handoff\n\ntheirs\n", HANDOFF)

    plan = project.record("# Session Handoff\n\nours", document="HANDOFF.md")
    (project.root / HANDOFF).rename(project.root / "theirs.md")
    project.record("an entry")

    assert len(plan.conflicts) == 1
    assert "ours" in project.read(HANDOFF)
    assert project.store.read(open_conflicts) == ()


# catching up


def test_a_new_session_takes_in_what_people_added(diary: Project) -> None:
    diary.record("one")
    end = "\r\n" if "\r" in diary.read() else "\n"
    diary.edit(
        diary.read().replace(f"## Learnings{end}", f"## Learnings{end}{end}- Ports are scarce{end}")
    )

    first, second = (recover(diary.store, diary.files, now=NOW, redact=as_it_is) for _ in range(2))

    assert (first.projections.imported, second.projections.imported) == (1, 0)
    assert diary.imported() == ["- Ports are scarce"]


def test_a_document_that_is_gone_is_rendered_again(project: Project) -> None:
    for text in ("one", "two"):
        project.record(text)

    before = project.read()
    (project.root / CHRONICLE).unlink()

    recover(project.store, project.files, now=NOW, redact=as_it_is)

    assert project.read() == before


def test_where_there_is_no_store_nothing_is_created(project: Project) -> None:
    recover(project.store, project.files, now=NOW, redact=as_it_is)

    assert list(project.root.iterdir()) == []
