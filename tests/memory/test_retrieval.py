"""How many of 36 memories among 350 notes are found within the first five."""

import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from goop_mcp.memory.import_export.importing import import_memories
from goop_mcp.memory.searching import SearchRequest, search_memory
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.repository import ROOT

CASES = ROOT / "tests" / "cases" / "memory"


class Question(NamedTuple):
    """The title to be found, the query of somebody who knows it, and of somebody who does not."""

    title: str
    keywords: str
    phrasings: list[str]


QUESTIONS = [
    Question(**json.loads(line))
    for line in (CASES / "questions.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = open_store(None, project=tmp_path_factory.mktemp("notes"))
    report = import_memories(store, (CASES / "notes.jsonl").read_text("utf-8"))
    assert (report.saved, report.unread) == (350, [])
    yield store
    store.close()


def missed(store: Store, phrasings: dict[str, list[str]]) -> list[str]:
    return [
        title
        for title, queries in phrasings.items()
        if title
        not in {
            item.memory.title for item in search_memory(store, SearchRequest(queries=queries)).items
        }
    ]


def test_every_memory_is_found_by_keywords(notes: Store) -> None:
    assert missed(notes, {question.title: [question.keywords] for question in QUESTIONS}) == []


def test_three_phrasings_find_nine_in_ten_and_more_than_one_does(notes: Store) -> None:
    by_one = missed(notes, {question.title: question.phrasings[:1] for question in QUESTIONS})
    by_three = missed(notes, {question.title: question.phrasings for question in QUESTIONS})

    assert len(by_three) <= len(QUESTIONS) // 10
    assert len(by_three) < len(by_one)
