"""Memories leave as files and come back the same; what could not be read is named by its line."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.import_export.importing import ExchangeFormat, import_memories
from goop_mcp.memory.import_export.jsonl import write_jsonl
from goop_mcp.memory.import_export.markdown import write_markdown
from goop_mcp.memory.repository import forget_memory, list_memories
from goop_mcp.memory.saving import save_memory
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import StoredMemory

WRITERS: dict[ExchangeFormat, Callable[[Iterable[StoredMemory]], Iterable[str]]] = {
    "jsonl": write_jsonl,
    "markdown": write_markdown,
}
every_format = pytest.mark.parametrize("format", WRITERS)
SECRET = "ghp_" + "a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"

DRAFT = MemoryDraft(
    title="Sessions live in Redis",
    content="```text\nnot the end\n```\n## Not a heading\n- type: not a field\n",
    type="decision",
    importance=0.7,
    concepts=["auth", "a, b", '"quoted"'],
    facts=["two\nlines"],
    source_files=["src/auth.py"],
    agent="goop-executor",
    session_id="[s-1]",
    idempotency_key="w2t3",
)


def empty_store(project: Path) -> Store:
    project.mkdir()
    return open_store(None, project=project)


def export(store: Store, format: ExchangeFormat) -> str:
    return "".join(WRITERS[format](list_memories(store)[::-1]))


def without_places(store: Store) -> list[dict[str, object]]:
    """Return all memories without what belongs to one database."""
    return [{**asdict(memory), "id": None, "revision": None} for memory in list_memories(store)]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Store]:
    opened = empty_store(tmp_path / "other")
    yield opened
    opened.close()


@every_format
def test_what_was_exported_is_imported_the_same_and_once(
    format: ExchangeFormat, store: Store, other: Store
) -> None:
    save_memory(store, DRAFT)
    save_memory(store, MemoryDraft(title="Plain", content="Nothing but words."))
    text = export(store, format)

    first = import_memories(other, text, format=format)
    again = import_memories(other, text, format=format)

    assert (first.saved, first.duplicates, first.unread, first.remarks) == (2, 0, [], [])
    assert (again.saved, again.duplicates, again.unread) == (0, 2, [])
    assert without_places(other) == without_places(store)
    assert export(other, format) == text


storable = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(storable, max_size=30)
ticks = st.sampled_from(["`", "```", "```text", "\n", "## ", "- ", '"', "[", "\r", "\u2028", " "])
contents = st.lists(texts | ticks, max_size=6).map("".join)
drafts = st.builds(
    MemoryDraft,
    title=contents.map(lambda text: f"t{text}"),
    content=contents.map(lambda text: f"{text}c"),
    type=st.sampled_from(["decision", "observation", "note", "todo"]),
    importance=st.floats(0, 1),
    concepts=st.lists(contents, max_size=3),
    facts=st.lists(contents, max_size=3),
    source_files=st.lists(texts, max_size=3),
    agent=st.none() | contents,
    session_id=st.none() | contents,
    idempotency_key=st.none() | texts,
)


@settings(max_examples=25)
@given(drafts, st.sampled_from(list(WRITERS)))
def test_any_memory_comes_back_the_same(draft: MemoryDraft, format: ExchangeFormat) -> None:
    with TemporaryDirectory() as folder:
        stores = [empty_store(Path(folder) / name) for name in ("one", "other")]
        one, other = stores
        save_memory(one, draft)

        report = import_memories(other, export(one, format), format=format)

        assert (report.saved, report.unread, report.remarks) == (1, [], [])
        assert without_places(other) == without_places(one)
        for each in stores:
            each.close()


def test_lines_that_are_no_memory_are_named_and_the_others_are_taken(store: Store) -> None:
    lines = [
        '{"title": "One", "content": "First."}',
        "no JSON",
        "",
        "[1]",
        '{"title": "Two"}',
        '{"title": 2, "content": "x"}',
        '{"title": "Three", "content": "x", "concepts": "auth"}',
        '{"title": "Four", "content": "x", "importance": 8}',
        '{"title": "Five", "content": "x", "created_at": "yesterday"}',
        '{"title": "Six", "content": "x", "uid": "a b"}',
        '{"title": "Seven", "content": "Last.", "colour": "red"}',
        '{"n": ' + "[" * 100_000,
    ]

    report = import_memories(store, "\r\n".join(lines))

    assert report.saved == 2
    assert [remark.line for remark in report.unread] == [2, 4, 5, 6, 7, 8, 9, 10, 12]
    assert [(remark.line, remark.message) for remark in report.remarks] == [
        (11, "colour left out: a memory has no such field")
    ]


def test_other_text_between_the_memories_of_a_document_is_named(store: Store) -> None:
    text = "".join(
        [
            "# Memories\n\nHello.\nWorld.\n",
            "\n## One\n\n- type: note\nstray\n\n```text\nFirst.\n```\n",
            "\n## Two\n\nNo fence.\n",
            "\n## Three\n\n- importance: high\n\n```text\nx\n```\n",
            "\n## Four\n\n```text\nnever closed",
        ]
    )

    report = import_memories(store, text, format="markdown")

    assert report.saved == 1
    assert [remark.line for remark in report.unread] == [3, 9, 15, 19, 27]


def test_an_import_takes_secrets_out(store: Store) -> None:
    report = import_memories(store, json.dumps({"title": "Key", "content": f"It is {SECRET}"}))

    assert report.redactions == 1
    assert SECRET not in repr(list_memories(store))


def test_data_of_the_packages_is_read_with_their_scale_names_and_times(store: Store) -> None:
    values = {
        "title": "Old",
        "content": "From the packages.",
        "type": "session_summary",
        "importance": 8,
    }
    lines = [
        json.dumps(
            {**values, "sourceFiles": ["a.py"], "sessionId": "s", "createdAt": 1_768_473_000}
        ),
        json.dumps({**values, "title": "Older", "importance": 1, "createdAt": 1_768_473_000_000}),
    ]

    report = import_memories(store, "\n".join(lines), scale="packages")
    older, old = list_memories(store)

    assert (report.saved, report.unread, report.remarks) == (2, [], [])
    assert (old.importance, old.source_files, old.session_id, old.type) == (
        0.8,
        ("a.py",),
        "s",
        "session_summary",
    )
    assert older.importance == 0.1
    assert old.created_at == older.created_at == "2026-01-15T10:30:00.000Z"


def test_importance_of_unknown_scale_is_read_as_the_tools_read_it(store: Store) -> None:
    report = import_memories(
        store, '{"title": "T", "content": "c", "importance": 1}', scale="either"
    )

    assert list_memories(store)[0].importance == 1
    assert ["lowest from 1 to 10" in remark.message for remark in report.remarks] == [True]


def test_the_packages_get_their_own_scale(store: Store) -> None:
    save_memory(store, DRAFT)

    (line,) = write_jsonl(list_memories(store), scale="packages")

    assert json.loads(line)["importance"] == 7


def test_a_forgotten_memory_is_not_brought_back(store: Store) -> None:
    saved = save_memory(store, DRAFT)
    text = export(store, "jsonl")
    forget_memory(store, saved.id)

    report = import_memories(store, text)

    assert (report.saved, report.forgotten) == (0, 1)
    assert list_memories(store) == []


def test_a_key_that_is_taken_is_left_out_and_the_memory_kept(store: Store) -> None:
    first = save_memory(store, DRAFT)
    line = json.dumps({"title": "Other", "content": "Other words.", "idempotency_key": "w2t3"})

    report = import_memories(store, line)

    assert report.saved == 1
    assert [remark.message for remark in report.remarks] == [
        f"idempotency_key left out: memory {first.id} holds it"
    ]


def test_a_memory_that_was_changed_in_the_file_is_named_and_not_taken(store: Store) -> None:
    saved = save_memory(store, DRAFT)
    line = json.dumps({"uid": saved.uid, "title": "Sessions", "content": "Changed by hand."})

    report = import_memories(store, line)

    assert (report.saved, report.duplicates) == (0, 0)
    assert f"memory {saved.id} has this uid" in report.unread[0].message


def test_many_lines_are_saved_in_their_order(store: Store) -> None:
    lines = [json.dumps({"title": f"Note {n}", "content": "Words."}) for n in range(450)]

    report = import_memories(store, "\n".join(lines))

    assert report.saved == 450
    assert [memory.title for memory in list_memories(store, limit=2)] == ["Note 449", "Note 448"]


def test_an_export_names_nothing_that_is_empty(store: Store) -> None:
    save_memory(store, replace(MemoryDraft(title="Plain", content="Words.")))

    assert set(json.loads(export(store, "jsonl"))) == {
        "uid",
        "type",
        "title",
        "content",
        "importance",
        "created_at",
    }
