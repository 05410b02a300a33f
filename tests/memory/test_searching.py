"""Memories are found by words in several phrasings; any text is a valid query."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.repository import forget_memory
from goop_mcp.memory.saving import save_memory
from goop_mcp.memory.searching import (
    LONGEST_SNIPPET,
    FoundMemories,
    SearchArgumentError,
    SearchRequest,
    search_memory,
    snippet,
)
from goop_mcp.store.interface import Store
from tests.requirements import requirement


def save(store: Store, title: str, content: str = "Nothing else.", **more: object) -> int:
    draft = replace(MemoryDraft(title=title, content=f"{title}. {content}"), **more)  # type: ignore[arg-type] # by name
    return save_memory(store, draft).id


def found(answer: FoundMemories) -> list[int]:
    return [item.memory.id for item in answer.items]


def search(store: Store, *queries: str, limit: int = 5) -> list[int]:
    return found(search_memory(store, SearchRequest(queries=queries, limit=limit)))


@requirement("P-06")
def test_queries_concepts_and_types_restrict_what_is_found(store: Store) -> None:
    wanted = save(
        store, "Tokens live an hour", type="decision", concepts=["Auth", "tokens"], importance=0.7
    )
    save(store, "Tokens live a day", type="note", concepts=["auth"], importance=0.7)
    save(store, "Tokens of the lexer", type="decision", concepts=["parser"], importance=0.7)
    save(store, "Tokens are short", type="decision", concepts=["auth"], importance=0.2)

    request = SearchRequest(
        queries=["tokens", "hour"], concepts=["AUTH"], types=["decision", "observation"]
    )

    assert found(search_memory(store, replace(request, min_importance=0.5))) == [wanted]
    assert len(found(search_memory(store, replace(request, types=(), min_importance=0)))) == 3


@requirement("P-06")
def test_a_single_query_counts_as_one_phrasing(store: Store) -> None:
    id = save(store, "Sessions live in Redis")

    assert found(search_memory(store, SearchRequest(queries="where are sessions"))) == [id]


def test_a_memory_with_all_words_comes_before_those_with_some(store: Store) -> None:
    some = save(store, "Redis Redis Redis", importance=1.0)
    every = save(
        store, "The session of a person", "It is in Redis, not in the cookie.", importance=0.0
    )

    assert search(store, "redis session cookie") == [every, some]


def test_a_memory_that_fits_more_phrasings_comes_first(store: Store) -> None:
    one = save(store, "Login state")
    both = save(store, "Session store", "Redis keeps the login state.")

    assert search(store, "login state", "session store") == [both, one]


def test_the_other_forms_of_a_word_are_found(store: Store) -> None:
    id = save(store, "Connections are pooled")

    assert search(store, "connection pool") == [id]


@pytest.mark.parametrize(
    "query", ["session_id", "auth/service.ts", "1.2.3", "Größe", "user's choice", "naïve"]
)
def test_identifiers_paths_versions_and_accents_are_found(store: Store, query: str) -> None:
    id = save(
        store,
        "Notes",
        "We spoke of session_id, src/auth/service.ts, 1.2.3, Größe, the user's choice, naïve:"
        f" {query}",
    )

    assert search(store, query) == [id]


def test_forgotten_memories_are_not_found(store: Store) -> None:
    id = save(store, "Sessions live in Redis")
    forget_memory(store, id)

    assert search(store, "sessions", "redis") == []


def test_total_and_has_more_count_what_is_not_shown(store: Store) -> None:
    for n in range(7):
        save(store, f"Note {n} about caching")

    answer = search_memory(store, SearchRequest(queries="caching", limit=5))

    assert (len(answer.items), answer.total, answer.has_more, answer.total_is_capped) == (
        5,
        7,
        True,
        False,
    )
    assert not search_memory(store, SearchRequest(queries="caching", limit=7)).has_more


def test_a_total_of_a_hundred_may_be_more(store: Store) -> None:
    for n in range(101):
        save(store, f"Note {n} about caching")

    answer = search_memory(store, SearchRequest(queries="caching", limit=50))

    assert (len(answer.items), answer.total, answer.total_is_capped) == (50, 100, True)


def test_a_query_without_words_finds_nothing_and_says_so(store: Store) -> None:
    id = save(store, "Sessions live in Redis")

    answer = search_memory(store, SearchRequest(queries=["?!", "redis", ""]))

    assert found(answer) == [id]
    assert answer.notes == (
        "query 1 has no words and finds nothing; write words or identifiers",
        "query 3 has no words and finds nothing; write words or identifiers",
    )


def test_a_query_of_100_kb_counts_with_its_beginning(store: Store) -> None:
    id = save(store, "Sessions live in Redis")

    answer = search_memory(store, SearchRequest(queries="redis " * 17_000))

    assert found(answer) == [id]
    assert answer.notes == ("query 1 counts with its first 1,000 characters only",)


def test_nothing_is_created_by_searching(store: Store) -> None:
    assert search(store, "redis") == []
    assert not store.exists()


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (SearchRequest(queries=[]), "0 queries"),
        (SearchRequest(queries=["a"] * 9), "expected 1 to 8"),
        (SearchRequest(queries="a", limit=0), "limit is 0"),
        (SearchRequest(queries="a", limit=51), "expected 1 to 50"),
        (SearchRequest(queries="a", types=["idea"]), "session_summary"),
        (SearchRequest(queries="a", min_importance=7), "min_importance is 7"),
        (SearchRequest(queries="a", min_importance=float("nan")), "min_importance"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_what_is_allowed(
    store: Store, request_: SearchRequest, words: str
) -> None:
    with pytest.raises(SearchArgumentError, match=words):
        search_memory(store, request_)


NASTY = st.sampled_from(
    [
        "'",
        '"',
        "*",
        "NEAR(",
        "AND",
        "OR",
        "NOT",
        "(",
        ")",
        "\0",
        "\ud800",
        "^",
        ":",
        "--",
        "a",
        "{",
        "-",
    ]
)
queries = st.lists(
    st.one_of(st.text(max_size=30), st.lists(NASTY, max_size=8).map(" ".join)),
    min_size=1,
    max_size=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(queries=queries, concepts=st.lists(st.text(max_size=5), max_size=2))
def test_any_text_is_a_valid_query(
    store: Store, queries: Sequence[str], concepts: Sequence[str]
) -> None:
    if not store.exists():
        save(store, "Sessions live in Redis AND NOT NEAR a cookie", concepts=["auth"])

    answer = search_memory(store, SearchRequest(queries=queries, concepts=concepts))

    assert answer.total <= 1


def test_a_snippet_begins_shortly_before_the_first_word_that_was_asked_for() -> None:
    content = (
        "Filler words come first. " * 40
        + "The connection pool has ten places. "
        + "More words follow. " * 40
    )

    shown = snippet(content, ["connections"])

    assert "connection pool has ten places" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) <= LONGEST_SNIPPET


def test_a_short_content_is_shown_whole_on_one_line() -> None:
    assert snippet("one\n  two", ["two"]) == "one two"


@given(
    st.text(), st.lists(st.text(max_size=9).filter(str.isalnum), max_size=4), st.integers(10, 300)
)
def test_no_snippet_is_longer_than_asked_for(content: str, words: list[str], limit: int) -> None:
    shown = snippet(content * 20, words, limit)

    assert len(shown) <= limit
    assert "\n" not in shown
