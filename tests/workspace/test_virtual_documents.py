"""Documents rendered from the database have exactly the text that a written file would have."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from goop_mcp.errors import DocumentUnreadableError
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewEvent
from goop_mcp.workspace.documents.handoff import SessionHandoff, handoff_text
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projections import ProjectionPlan, plan_projections
from goop_mcp.workspace.virtual_documents import render_document, render_documents
from tests.postgres import Database
from tests.workspace.projects import NOW, as_it_is, copied

ENTRIES = [
    ("CHRONICLE.md", "### one · goop-executor\n\n- **Action:** one"),
    ("ADL.md", "## [DECISION] - one\n\n---"),
    ("HANDOFF.md", "# Session Handoff\n\nThe first."),
    ("CHRONICLE.md", "### two · goop-planner\n\n- **Outcome:** <!-- goop:rev 1 --> is text"),
    ("HANDOFF.md", "# Session Handoff\n\nThe second."),
]


def event(document: str, text: str) -> NewEvent:
    return NewEvent(
        kind="report", author="goop-executor", text=text, created_at=NOW, document=document
    )


def handoff(generated: str) -> str:
    return handoff_text(
        SessionHandoff(generated=generated, phase="execute", context=f"That of {generated}.")
    )


@pytest.fixture
def shared(database: Database, tmp_path: Path) -> Iterator[Store]:
    store = open_store(database.url(), project=tmp_path, project_id="shop")
    yield store
    store.close()


@pytest.fixture
def files(tmp_path: Path) -> ProjectFiles:
    (tmp_path / ".goopspec").mkdir()
    return ProjectFiles(tmp_path)


def record(store: Store, document: str, text: str) -> None:
    store.write(lambda writing: writing.add_event(event(document, text)))


def rendered(store: Store, files: ProjectFiles, name: str) -> str | None:
    return store.read(lambda reading: render_document(reading, files, name))


def show_in_files(folder: Path) -> None:
    """Record the same with a database in a file."""
    files, store = ProjectFiles(folder), open_store(None, project=folder)

    def change(document: str, text: str) -> Callable[[WriteTransaction], ProjectionPlan]:
        def planned(writing: WriteTransaction) -> ProjectionPlan:
            writing.add_event(event(document, text))
            return plan_projections(writing, files, now=NOW, redact=as_it_is)

        return planned

    def then(plan: ProjectionPlan) -> None:
        plan.apply(files)

    for document, text in ENTRIES:
        store.write(change(document, text), then=then)

    store.close()


@pytest.mark.parametrize("case", [None, "profile_0x", "windows"])
def test_a_rendered_document_is_what_a_file_would_hold(
    tmp_path: Path, shared: Store, case: str | None
) -> None:
    with_files, without = tmp_path / "with", tmp_path / "without"
    for folder in (with_files, without):
        folder.mkdir()
        if case is not None:
            copied(case, folder)

    before = sorted(without.rglob("*"))
    show_in_files(with_files)
    for document, text in ENTRIES:
        record(shared, document, text)

    for name in ("CHRONICLE.md", "ADL.md", "HANDOFF.md"):
        assert (
            rendered(shared, ProjectFiles(without), name)
            == (with_files / ".goopspec" / name).read_bytes().decode()
        )

    assert sorted(without.rglob("*")) == before


def test_what_nothing_recorded_shows_in_is_not_rendered(shared: Store, files: ProjectFiles) -> None:
    (files.root / ".goopspec" / "ADL.md").write_text("# ADL\n", encoding="utf-8")
    assert rendered(shared, files, "CHRONICLE.md") is None
    record(shared, "CHRONICLE.md", "one")
    assert rendered(shared, files, "ADL.md") is None
    assert rendered(shared, files, "SPEC.md") is None
    assert [*shared.read(lambda reading: render_documents(reading, files))] == ["CHRONICLE.md"]


def test_an_entry_that_stands_in_the_file_already_is_not_shown_twice(
    shared: Store, files: ProjectFiles
) -> None:
    record(shared, "CHRONICLE.md", "one")
    text = rendered(shared, files, "CHRONICLE.md")
    assert text is not None
    (files.root / ".goopspec" / "CHRONICLE.md").write_text(text, encoding="utf-8")
    assert rendered(shared, files, "CHRONICLE.md") is None
    record(shared, "CHRONICLE.md", "two")
    again = rendered(shared, files, "CHRONICLE.md")
    assert again == text + "\n<!-- goop:rev 2 -->\ntwo\n<!-- goop:end 2 -->\n"


@pytest.mark.parametrize(
    ("in_the_folder", "counts"),
    [
        ("2026-01-20T07:59:59Z", "recorded"),
        ("2026-01-20T08:00:01Z", "folder"),
        ("2026-01-20T09:00:01+01:00", "folder"),
        ("2026-01-20", "recorded"),
        ("2026-01-21", "folder"),
        ("some day", "recorded"),
    ],
)
def test_of_two_handoffs_the_later_one_counts(
    shared: Store, files: ProjectFiles, in_the_folder: str, counts: str
) -> None:
    (files.root / ".goopspec" / "HANDOFF.md").write_text(handoff(in_the_folder), encoding="utf-8")
    record(shared, "HANDOFF.md", handoff("2026-01-20T08:00:00Z"))
    text = rendered(shared, files, "HANDOFF.md")
    assert (text is None) == (counts == "folder")
    assert text is None or text.endswith("<!-- goop:rev 1 -->\n")


def test_a_file_that_cannot_be_read_hides_its_own_document_only(
    shared: Store, files: ProjectFiles
) -> None:
    (files.root / ".goopspec" / "CHRONICLE.md").write_bytes(b"\xff")
    for document, text in ENTRIES:
        record(shared, document, text)

    def ask(reading: ReadTransaction) -> list[str]:
        return [*render_documents(reading, files)]

    assert shared.read(ask) == ["ADL.md", "HANDOFF.md"]
    with pytest.raises(DocumentUnreadableError, match=r"CHRONICLE\.md is not UTF-8 text"):
        rendered(shared, files, "CHRONICLE.md")
