"""An older copy of the database is put back: no revision stands for two things, nothing is lost."""

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from goop_mcp.context import AppContext
from goop_mcp.hosts.doctor.project import check_database
from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.repository import all_memories
from goop_mcp.memory.saving import save_memory
from goop_mcp.services.project_documents import find_project_document
from goop_mcp.services.project_status import project_status
from goop_mcp.services.record_report import RecordedReport
from goop_mcp.settings import DatabaseUrl, Settings
from tests.cli.running import run
from tests.postgres import Database, Server
from tests.services.reporting import record, report

MESSAGE = (
    "the database was replaced by an older copy, or the project's files came from elsewhere: it had"
    " revision {had}, and revisions up to {used} were given before"
)
ENTRY = re.compile(r"<!-- goop:rev (\d+) -->(.*?)<!-- goop:end \1 -->", re.DOTALL)
NOTE = "A sentence that a person wrote."
STATE = (
    '{"version": 1, "project": {"name": "x", "initialized": "2026-01-01T00:00:00Z"}, "workflow":'
    ' {"phase": "execute", "specLocked": true, "mode": "standard", "currentWave": 2,'
    ' "totalWaves": 3, "lastActivity": "2026-01-01T00:00:00Z", "interviewComplete": true}}'
)


class Played:
    """A project that is played, and every meaning that each revision was seen to have."""

    def __init__(self, settings: Settings) -> None:
        self.settings, self.application = settings, AppContext(settings)
        self.folder = settings.project / ".goopspec"
        self.meanings = defaultdict[tuple[str, int], set[str]](set)
        self.messages: list[str] = []
        self.texts: list[str] = []

    def restart(self) -> None:
        """Continue in another process."""
        self.application.close()
        self.application = AppContext(self.settings)

    def report(self, summary: str, **parts: str) -> RecordedReport:
        """Record a report, and read every document after it."""
        answer = record(self.application.writing_context(), report(summary=summary, **parts))
        assert answer.written.revision is not None
        self.meanings["answer", answer.written.revision].add(summary)
        self.messages += answer.remarks
        self.texts.append(summary)
        self.look()
        return answer

    def save(self, title: str) -> None:
        store = self.application.writing_store()
        saved = save_memory(store, MemoryDraft(title=title, content=f"The text of {title}."))
        self.meanings["answer", saved.revision].add(title)

    def documents(self) -> dict[str, str]:
        """Return what any reader gets: files with archives, or documents of the database."""
        found = {
            str(path.relative_to(self.folder)): path.read_text()
            for path in self.folder.rglob("*.md")
        }
        if not self.settings.writes_files:
            for name in ("CHRONICLE.md", "ADL.md", "HANDOFF.md"):
                context = self.application
                text = find_project_document(context.files, name, recorded=context.recorded)
                found |= {name: text} if text is not None else {}
        return found

    def look(self) -> None:
        for name, text in self.documents().items():
            # A conflict file and an archive have entries of the document that they belong to.
            document = re.split(r"[.-]", name.rpartition("/")[2])[0]
            for revision, entry in ENTRY.findall(text):
                self.meanings[document, int(revision)].add(entry.strip())
            if document == "HANDOFF":
                for revision in re.findall(r"goop:rev (\d+)", text):
                    self.meanings[document, int(revision)].add(text)

    def means_one_thing(self) -> bool:
        """Whether each revision has had one meaning everywhere."""
        twice = {key: found for key, found in self.meanings.items() if len(found) > 1}
        assert not twice
        return True


@contextmanager
def played(settings: Settings) -> Iterator[Played]:
    folder = settings.project
    (folder / ".goopspec").mkdir()
    (folder / ".goopspec" / "state.json").write_text(STATE)
    one = Played(settings)
    try:
        yield one
    finally:
        one.application.close()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Played]:
    with played(Settings(project=tmp_path)) as one:
        yield one


def begin(project: Played) -> None:
    project.report("Early 0.")
    project.save("An early memory")
    project.report("Early 1.", new_session="true")


def go_on(project: Played) -> None:
    for number in range(3):
        project.report(f"Late {number}.", task="W2.T2", status="BLOCKED")
    project.save("A late memory")
    project.report("Late 3.", new_session="true", next="Go on with the late plan")
    chronicle = project.folder / "CHRONICLE.md"
    chronicle.write_text(chronicle.read_text() + f"\n{NOTE}\n")


def copied_back(project: Played) -> None:
    shutil.copy(project.settings.project / "copy.db", project.folder / "goop.db")


def copied_back_without_notes(project: Played) -> None:
    copied_back(project)
    (project.folder / ".lock").unlink()


def restored(project: Played) -> None:
    ended = run("restore", "copy.db", cwd=project.settings.project)
    assert ended.code == 0
    project.messages += [line for line in ended.err.splitlines() if line]


def removed(project: Played) -> None:
    for path in project.folder.glob("goop.db*"):
        path.unlink()


def removed_with_notes(project: Played) -> None:
    removed(project)
    (project.folder / ".lock").unlink()


@pytest.mark.parametrize("first", ["report", "memory"])
@pytest.mark.parametrize(
    "way", [copied_back, copied_back_without_notes, restored, removed, removed_with_notes]
)
def test_no_revision_stands_for_two_things_after_an_older_database_was_put_back(
    project: Played, way: Callable[[Played], None], first: str
) -> None:
    begin(project)
    project.application.store.backup(project.settings.project / "copy.db")
    go_on(project)
    project.restart()

    way(project)
    if first == "memory":
        project.save("A memory after it")
    for number in range(4):
        project.report(f"After {number}.", new_session="true", next=f"Step {number}")
        project.restart()

    assert project.means_one_thing()
    documents = "\n".join(project.documents().values())
    assert all(text in documents for text in [*project.texts, NOTE, "Go on with the late plan"])
    assert len([each for each in project.messages if MESSAGE.split("{", 1)[0] in each]) == 1
    assert not any("somebody" in each for each in project.messages)


def test_a_running_process_and_another_one_give_no_revision_of_before_again(
    project: Played,
) -> None:
    begin(project)
    project.application.store.backup(project.settings.project / "copy.db")
    go_on(project)

    restored(project)
    ended = run("memory", "save", "Of a person", "Text.", cwd=project.settings.project)
    assert (ended.code, ended.err) == (0, "")
    project.save("After it")
    project.report("After it.")

    assert project.means_one_thing()
    titles = [each.title for each in all_memories(project.application.store)]
    assert titles == ["An early memory", "Of a person", "After it"]


def test_each_entry_of_a_chronicle_stays_once_when_its_database_knows_less_of_the_archive(
    project: Played,
) -> None:
    for number in range(60):
        project.report(f"Number {number}.")
    project.application.store.backup(project.settings.project / "copy.db")
    for number in range(60, 125):
        project.report(f"Number {number}.")
    assert (project.folder / "archive").is_dir()
    project.restart()

    copied_back(project)
    for number in range(125, 170):
        project.report(f"Number {number}.")

    assert project.means_one_thing()
    texts = "\n".join(text for name, text in project.documents().items() if "CHRON" in name)
    assert [texts.count(f" {text}\n") for text in project.texts] == [1] * 170
    assert not any(".conflict" in name for name in project.documents())


def test_status_and_doctor_say_so_before_and_after_the_first_change(project: Played) -> None:
    begin(project)
    project.application.store.backup(project.settings.project / "copy.db")
    go_on(project)
    project.restart()
    copied_back(project)

    def shown() -> list[str]:
        status = project_status(project.application.project_context)
        assert not status.is_stale
        warnings = [check for check in check_database(project.application) if check.fix]
        assert all((check.fix or "").startswith("put a newer copy back") for check in warnings)
        assert [check.message for check in warnings] == [
            each.partition("; ")[0] for each in status.warnings
        ]
        return list(status.warnings)

    [before] = shown()
    project.report("After it.")
    [after] = shown()
    assert before.startswith(MESSAGE.format(had=3, used=8))
    assert after == before
    # It is about the reports that count, which are those of the round.
    project.application.store.write(
        lambda writing: (
            writing.close_round(outcome="accept", closed_at="2026-02-01", plan_sha256=None),
            writing.open_round(name=None, opened_at="2026-02-01"),
        )
    )
    assert shown() == []


def test_a_database_that_is_as_old_as_its_files_is_not_called_older(project: Played) -> None:
    begin(project)
    go_on(project)
    project.restart()
    project.report("One more.")
    assert project.messages == []
    assert project_status(project.application.project_context).warnings == ()


def test_a_mark_that_no_change_can_have_reached_is_not_believed(project: Played) -> None:
    begin(project)
    chronicle = project.folder / "CHRONICLE.md"
    chronicle.write_text(chronicle.read_text() + "\n<!-- goop:rev 999999999999999999 -->\n")
    project.restart()
    assert project.report("One more.").written.revision == 4


def dump(database: Database, target: Path) -> None:
    database.run_tool("pg_dump", "--format=custom", "--schema=goop", f"--file={target}")


def shared(database: Database, folder: Path) -> Settings:
    url = DatabaseUrl(database.url("postgres"))
    return Settings(project=folder, database=url, project_id="shop")


@pytest.mark.parametrize("is_running", [True, False], ids=["running", "started again"])
def test_a_backup_of_postgresql_that_is_put_back_gives_no_revision_again(
    database: Database, tmp_path: Path, *, is_running: bool
) -> None:
    with played(shared(database, tmp_path)) as project:
        begin(project)
        dump(database, tmp_path / "copy")
        for number in range(20):
            project.report(f"Late {number}.")

        if not is_running:
            project.restart()
        database.run_tool("pg_restore", "--clean", "--if-exists", str(tmp_path / "copy"))
        for number in range(3):
            project.report(f"After {number}.")

        assert project.means_one_thing()
        messages = [each for each in project.messages if MESSAGE.split("{", 1)[0] in each]
        assert len(messages) == 1
        [warning] = project_status(project.application.project_context).warnings
        assert warning == messages[0]


def test_a_copy_of_postgresql_on_another_server_gives_no_revision_again(
    database: Database, tmp_path: Path
) -> None:
    with (
        Server() as other_server,
        other_server.database() as other,
        played(shared(database, tmp_path)) as project,
    ):
        begin(project)
        dump(database, tmp_path / "copy")
        for number in range(20):
            project.report(f"Late {number}.")

        project.settings = shared(other, tmp_path)
        project.restart()
        other.run_tool("psql", "--command=CREATE ROLE goop_app")
        other.run_tool("pg_restore", str(tmp_path / "copy"))
        project.report("After it.")

        assert project.means_one_thing()


def test_a_project_that_moves_to_postgresql_gives_no_revision_of_its_files_again(
    project: Played, database: Database
) -> None:
    begin(project)
    go_on(project)
    project.settings = shared(database, project.settings.project)
    project.restart()
    project.report("After it.")

    assert project.means_one_thing()


BLOCK = "<!-- goop:rev 40 -->\n- **Outcome:** Before.\n<!-- goop:end 40 -->\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CHRONICLE.md", BLOCK),
        ("ADL.conflict-12.md", BLOCK),
        ("HANDOFF.conflict-40.md", "# Handoff\n"),
        ("archive/CHRONICLE-2026-01.md", f"{BLOCK}{'A note of a person. ' * 100}\n"),
        ("archive/round-3/CHRONICLE.md", BLOCK),
        ("checkpoints/cp-20260120-080000000-40.json", "{}"),
        ("state.json", STATE.replace('{"version"', '{"revision": 40, "version"', 1)),
    ],
)
def test_a_revision_is_recognised_wherever_the_folder_shows_it(
    project: Played, name: str, text: str
) -> None:
    path = project.folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text)

    # A memory alone, which looks at no document.
    project.save("A memory")
    [(_, revision)] = project.meanings
    assert revision == 42
