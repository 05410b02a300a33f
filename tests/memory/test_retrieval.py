"""How many of 36 memories among some 350 others are found within the first five.

Two sets, written at different times: in `notes` most questions share a word with their note, in
`more_notes` few do, and twelve kinds of similar notes stand in the way.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from goop_mcp.memory.import_export.importing import import_memories
from goop_mcp.memory.searching import SearchRequest, search_memory
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.postgres import Database
from tests.repository import ROOT

CASES = ROOT / "tests" / "cases" / "memory"
SETS = {"notes": "questions", "more_notes": "more_questions"}


class Question(NamedTuple):
    """The title to be found, the query of somebody who knows it, and of somebody who does not."""

    title: str
    phrasings: list[str]
    keywords: str | None = None


class Searched(NamedTuple):
    """A store with the notes of a set, or of all sets, and the questions of one of them."""

    store: Store
    questions: list[Question]


def questions_of(name: str) -> list[Question]:
    lines = (CASES / f"{SETS[name]}.jsonl").read_text("utf-8").splitlines()
    return [Question(**json.loads(line)) for line in lines]


@pytest.fixture(params=[*SETS, "all", "all on PostgreSQL"])
def searched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Searched]:
    sets = [request.param] if request.param in SETS else list(SETS)
    url = None
    if request.param == "all on PostgreSQL":
        database: Database = request.getfixturevalue("database")
        url = database.url()

    store = open_store(url, project=tmp_path, project_id="shop" if url else None)
    for name in sets:
        report = import_memories(store, (CASES / f"{name}.jsonl").read_text("utf-8"))
        assert (report.saved, report.unread) == ({"notes": 350, "more_notes": 372}[name], [])

    yield Searched(store, [question for name in sets for question in questions_of(name)])
    store.close()


def missed(store: Store, phrasings: dict[str, list[str]], *, limit: int = 5) -> list[str]:
    return [
        title
        for title, queries in phrasings.items()
        if title
        not in {
            item.memory.title
            for item in search_memory(store, SearchRequest(queries=queries, limit=limit)).items
        }
    ]


def test_every_memory_is_found_by_keywords(searched: Searched) -> None:
    asked = {each.title: [each.keywords] for each in searched.questions if each.keywords}
    assert missed(searched.store, asked) == []


def test_three_phrasings_find_33_of_36_and_more_than_one_does(searched: Searched) -> None:
    questions = searched.questions
    by_one = missed(searched.store, {each.title: each.phrasings[:1] for each in questions})
    by_three = missed(searched.store, {each.title: each.phrasings for each in questions})

    assert len(by_three) * 12 <= len(questions), by_three
    assert len(by_three) < len(by_one)
