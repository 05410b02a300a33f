"""A document keeps its newest entries; the archive has each older one exactly once."""

import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from operator import methodcaller
from pathlib import Path

import pytest

from goop_mcp.errors import DocumentMissingError, PathRefusedError
from goop_mcp.services.project_documents import find_project_document, read_archive
from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewEvent, Projection
from goop_mcp.workspace.archive import MOST_ENTRIES, archived_parts
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projection_text import EntryBlock, blocks_of, insert_blocks
from goop_mcp.workspace.projections import (
    ProjectionPlan,
    is_stale,
    open_conflicts,
    plan_projections,
)
from goop_mcp.workspace.recovery import recover
from goop_mcp.workspace.replacing import sha256
from tests.postgres import Database
from tests.requirements import requirement
from tests.workspace.projects import as_it_is

CHRONICLE, ADL = ".goopspec/CHRONICLE.md", ".goopspec/ADL.md"
JANUARY, FEBRUARY = "2026-01-20T08:00:00Z", "2026-02-20T08:00:00Z"
ENTRY = re.compile(r"^- entry (\d+)\.", re.MULTILINE)


class Project:
    """A project on disk and its database, whose entries are numbered."""

    def __init__(self, root: Path) -> None:
        self.root, self.files = root, ProjectFiles(root)
        self.store: Store = open_store(None, project=root)
        self.number = 0

    def load(
        self, count: int, *, now: str = JANUARY, document: str = "CHRONICLE.md", more: str = ""
    ) -> None:
        """Add entries that no file shows yet."""
        for _ in range(count):
            self.store.write(methodcaller("add_event", self.entry(now, document, more)))

    def record(
        self, *, now: str = JANUARY, document: str = "CHRONICLE.md", more: str = ""
    ) -> ProjectionPlan:
        """Add an entry and show it, as every writer does."""
        event = self.entry(now, document, more)

        def change(writing: WriteTransaction) -> ProjectionPlan:
            writing.add_event(event)
            return plan_projections(writing, self.files, now=now, redact=as_it_is)

        return self.store.write(change, then=self.apply)

    def entry(self, now: str, document: str, more: str) -> NewEvent:
        self.number += 1
        text = f"- entry {self.number}.{more}"
        return NewEvent(
            kind="report", author="goop-executor", text=text, created_at=now, document=document
        )

    def apply(self, plan: ProjectionPlan) -> None:
        plan.apply(self.files)

    def path(self, name: str) -> Path:
        return self.root / name

    def shown(self, name: str = CHRONICLE) -> list[int]:
        return [int(number) for number in ENTRY.findall(self.path(name).read_text())]

    def archived(self, stem: str = "CHRONICLE") -> list[int]:
        files = sorted((self.root / ".goopspec" / "archive").glob(f"{stem}-*.md"))
        return [int(number) for path in files for number in ENTRY.findall(path.read_text())]

    def each_once(self) -> bool:
        numbers = Counter([*self.archived(), *self.shown()])
        return numbers == Counter(range(1, self.number + 1))


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    project = Project(tmp_path)
    yield project
    project.store.close()


@requirement("G-49")
def test_a_chronicle_keeps_its_newest_entries_and_the_archive_has_the_others(
    project: Project,
) -> None:
    for number in range(130):
        project.record(now=JANUARY if number < 20 else FEBRUARY)

    assert project.shown() == list(range(31, 131))
    assert project.archived() == list(range(1, 31))
    assert [path.name for path in sorted(project.path(".goopspec/archive").iterdir())] == [
        "CHRONICLE-2026-01.md",
        "CHRONICLE-2026-02.md",
    ]
    assert (
        project.path(".goopspec/archive/CHRONICLE-2026-01.md")
        .read_text()
        .startswith("# CHRONICLE 2026-01\n\nEntr")
    )
    assert project.store.read(open_conflicts) == ()
    assert not project.store.read(lambda reading: is_stale(reading, project.files))


def test_a_clock_between_two_months_makes_one_part_of_each(project: Project) -> None:
    project.load(1000)
    project.load(100, now=FEBRUARY)
    for number in range(40):
        project.record(now=(JANUARY, FEBRUARY)[number % 2])
    assert project.each_once()


def test_large_entries_are_fewer(project: Project) -> None:
    for _ in range(40):
        project.record(more="x" * 20_000)

    assert 200_000 < project.path(CHRONICLE).stat().st_size < 256 * 1024 + 1000
    assert project.each_once()


def test_the_log_of_decisions_is_kept_small_alike(project: Project) -> None:
    for _ in range(105):
        project.record(document="ADL.md")
    assert project.shown(ADL) == list(range(6, 106))
    assert project.archived("ADL") == [1, 2, 3, 4, 5]


def test_what_people_wrote_stays_where_it_is(project: Project) -> None:
    diary = "# Diary\n\n## Recent Activity\n\n### Monday\n\n- Ours.\n\n---\n\n## Notes\n\nKeep.\n"
    before = diary.replace("\n", "\r\n")
    project.path(CHRONICLE).parent.mkdir()
    project.path(CHRONICLE).write_bytes(before.encode())
    for _ in range(105):
        project.record()

    project.path(CHRONICLE).write_bytes(
        project.path(CHRONICLE).read_bytes().replace(b"Keep.", b"Keep this.")
    )
    for _ in range(5):
        project.record()

    found = project.path(CHRONICLE).read_bytes().decode()
    assert re.sub(
        r"\r\n\r\n<!-- goop:rev (\d+) -->.*?<!-- goop:end \1 -->", "", found, flags=re.DOTALL
    ) == (before.replace("Keep.", "Keep this."))
    assert project.each_once()


def test_an_old_entry_that_people_changed_is_theirs_and_ours_is_in_the_archive(
    project: Project,
) -> None:
    for _ in range(MOST_ENTRIES):
        project.record()

    project.path(CHRONICLE).write_text(
        project.path(CHRONICLE).read_text().replace("- entry 1.", "- entry 1. Not so!")
    )
    project.record()

    assert "- entry 1. Not so!" in project.path(CHRONICLE).read_text()
    assert project.store.read(open_conflicts) == ()
    assert project.archived() == [1]


def test_while_a_conflict_is_open_the_archive_goes_on_and_nothing_is_doubled_after_it(
    project: Project,
) -> None:
    for _ in range(MOST_ENTRIES):
        project.record()

    whole = project.path(CHRONICLE).read_text()
    project.path(CHRONICLE).write_text(whole.replace("- entry 90.", "- entry 90. Not so!"))
    for _ in range(30):
        project.record()

    [conflict] = project.store.read(open_conflicts)
    assert len(ENTRY.findall(project.path(conflict.ours).read_text())) <= MOST_ENTRIES

    project.path(CHRONICLE).write_text(whole)
    project.record()

    assert project.store.read(open_conflicts) == ()
    assert project.each_once()


@pytest.mark.parametrize("size", [20, 60_000], ids=["many", "more than may be read elsewhere"])
def test_an_old_large_chronicle_is_made_small_with_the_first_change(
    project: Project, size: int
) -> None:
    project.load(300, more="x" * size)
    # Written as versions before the archive did.
    blocks = blocks_of(project.store.read(lambda reading: reading.events(document="CHRONICLE.md")))
    text = insert_blocks(None, blocks, document="CHRONICLE.md").encode()
    project.path(CHRONICLE).write_bytes(text)
    row = Projection(path=CHRONICLE, revision=300, sha256=None, pending_sha256=sha256(text))
    project.store.write(lambda writing: writing.set_projection(row))

    plan = project.record()

    assert plan.conflicts == ()
    assert project.each_once()
    assert project.path(CHRONICLE).stat().st_size < 300 * 1024
    assert [path.name for path in project.path(".goopspec").glob("*conflict*")] == []


def test_entries_of_an_archived_time_that_come_back_with_an_old_file_go_again(
    project: Project,
) -> None:
    for _ in range(MOST_ENTRIES):
        project.record()

    old = project.path(CHRONICLE).read_text()
    for _ in range(3):
        project.record()

    first = old[
        old.index("<!-- goop:rev 1 -->") : old.index("<!-- goop:end 1 -->")
        + len("<!-- goop:end 1 -->")
    ]
    now = project.path(CHRONICLE).read_text()
    project.path(CHRONICLE).write_text(
        now.replace("## Recent Activity\n", f"## Recent Activity\n\n{first}\n", 1)
    )

    project.record()

    assert project.each_once()


def killed(project: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "tests.workspace.recorder", str(project), *arguments]
    assert subprocess.run(command, check=False, timeout=300).returncode == -signal.SIGKILL


def texts(project: Project) -> Counter[str]:
    found = [project.path(CHRONICLE), *project.path(".goopspec/archive").glob("*.md")]
    return Counter(
        line
        for path in found
        for line in path.read_text().split("\n")
        if line.startswith("- entry")
    )


@pytest.mark.parametrize("nth", [1, 3])
@pytest.mark.parametrize("point", list(Failpoint), ids=lambda point: point.replace(" ", "-"))
def test_a_writer_killed_at_any_step_leaves_every_entry_once(
    tmp_path: Path, point: Failpoint, nth: int
) -> None:
    first = Project(tmp_path)
    for _ in range(MOST_ENTRIES):
        first.record()

    first.store.close()

    killed(tmp_path, "a", "6", str(point), str(nth))

    again = Project(tmp_path)
    again.number = 1000
    recover(again.store, again.files, now=JANUARY, redact=as_it_is)
    events = again.store.read(lambda reading: reading.events(document="CHRONICLE.md"))
    assert texts(again) == Counter(event.text for event in events)
    again.record()
    assert max(texts(again).values()) == 1
    assert len(texts(again)) == len(events) + 1
    assert len(again.shown()) <= MOST_ENTRIES
    again.store.close()


def test_an_append_that_was_cut_off_anywhere_is_completed(tmp_path: Path) -> None:
    files, path = ProjectFiles(tmp_path), ".goopspec/CHRONICLE.md"
    blocks = [
        EntryBlock(number, f"<!-- goop:rev {number} -->\nGröße {number}\n", month="2026-01")
        for number in range(1, 6)
    ]
    [first] = archived_parts(path, blocks[:2])
    [both] = archived_parts(path, blocks)
    archive = tmp_path / first.path
    first.apply(files)
    before = archive.read_bytes()
    both.apply(files)
    whole = archive.read_bytes()

    for end in range(len(whole) + 1):
        # Shorter than `before`: cut off while the first part was written.
        archive.write_bytes(whole[:end])
        assert both.is_done(files) == (end == len(whole))
        both.apply(files)
        assert archive.read_bytes() == whole, end

    assert whole.startswith(before)


def test_an_append_leaves_what_people_wrote_into_the_archive(tmp_path: Path) -> None:
    files = ProjectFiles(tmp_path)
    [part] = archived_parts(
        ".goopspec/CHRONICLE.md", [EntryBlock(1, "<!-- goop:rev 1 -->\nOne", month="2026-01")]
    )
    archive = tmp_path / part.path
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"# My own heading\n")
    part.apply(files)
    archive.write_bytes(archive.read_bytes() + b"\nA note.\n")
    part.apply(files)
    assert archive.read_bytes() == b"# My own heading\n\n\n<!-- goop:rev 1 -->\nOne\n\n\nA note.\n"


def test_an_archive_that_cannot_be_used_keeps_no_entry_from_being_recorded(
    project: Project,
) -> None:
    for _ in range(MOST_ENTRIES + 1):
        project.record()

    archive = project.path(".goopspec/archive/CHRONICLE-2026-01.md")
    archive.rename(archive.with_name("kept"))
    archive.mkdir()
    before = project.path(CHRONICLE).read_text()

    for _ in range(3):
        project.record()

    assert (
        len(project.store.read(lambda reading: reading.events(document="CHRONICLE.md")))
        == MOST_ENTRIES + 4
    )
    assert project.path(CHRONICLE).read_text() == before
    archive.rmdir()
    archive.with_name("kept").rename(archive)
    project.record()
    assert project.each_once()


def test_an_archive_that_leads_elsewhere_is_not_followed(project: Project, tmp_path: Path) -> None:
    [part] = archived_parts(".goopspec/CHRONICLE.md", [EntryBlock(1, "One", month="2026-01")])
    (tmp_path / part.path).parent.mkdir(parents=True)
    (tmp_path / part.path).symlink_to(tmp_path / "elsewhere.md")
    with pytest.raises(PathRefusedError):
        part.apply(project.files)

    assert not (tmp_path / "elsewhere.md").exists()


def test_on_a_shared_database_document_and_archive_are_rendered_as_files_would_be(
    project: Project, database: Database
) -> None:
    shared = open_store(database.url(), project=project.root, project_id="shop")
    nothing = ProjectFiles(project.root / "elsewhere")
    for number in range(130):
        project.record(now=JANUARY if number < 20 else FEBRUARY)

    events = project.store.read(lambda reading: reading.events(document="CHRONICLE.md"))
    for event in events:
        new = NewEvent(**{each.name: getattr(event, each.name) for each in fields(NewEvent)})
        shared.write(methodcaller("add_event", new))

    text = find_project_document(nothing, "CHRONICLE.md", recorded=shared)

    assert text == project.path(CHRONICLE).read_text()

    for name in ("CHRONICLE-2026-01.md", "CHRONICLE-2026-02.md"):
        file = project.path(f".goopspec/archive/{name}").read_text()
        assert read_archive(nothing, name, recorded=shared) == file
        assert read_archive(project.files, name) == file

    shared.close()


@pytest.mark.parametrize(
    "name", ["CHRONICLE-2026-03.md", "../state.json", "CHRONICLE.md", "SPEC-2026-01.md", ""]
)
def test_an_archive_that_is_not_there_is_missing(project: Project, name: str) -> None:
    project.record()
    with pytest.raises(DocumentMissingError):
        read_archive(project.files, name)
