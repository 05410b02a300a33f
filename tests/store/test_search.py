"""Words find memories; the same on every engine."""

import string
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goop_mcp.store.interface import Store
from goop_mcp.store.records import MemoryFilter, Operator
from goop_mcp.store.search_text import MOST_WORDS, query_words
from goop_mcp.validation.claims import Claims, MemoryClaim
from goop_mcp.workspace.claimed_memories import check_memories
from tests.store.rows import NOW, add, found, new_memory

CONTENTS = {
    "paths": (
        "The handler is in src/auth/service.ts and reads session_id since 1.2.3, see x.dev/a-b."
    ),
    "accents": "Die Größe des Café-Menüs, na\u0308chste Seite.",
    "quote": "The user's choice was 'tabs' and not \"spaces\".",
    "code": "value = a*b OR NEAR(c, d) AND NOT e; rebuild^9 {col} : x",
    "plain": "Migrations run under the write lock.",
}


def stored(store: Store) -> dict[str, int]:
    memories = [
        replace(new_memory(name), title=name, content=content) for name, content in CONTENTS.items()
    ]
    return {memory.title: memory.id for memory in add(store, *memories)}


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("service.ts", "paths"),
        ("auth", "paths"),
        ("SESSION", "paths"),
        ("session_id", "paths"),
        ("1.2.3", "paths"),
        ("src/auth/service.ts", "paths"),
        ("grosse café", "accents"),
        ("Größe", "accents"),
        ("GRÖßE", "accents"),
        ("cafe", "accents"),
        ("nächste", "accents"),
        ("na\u0308chste", "accents"),
        ("user's", "quote"),
        ("'tabs'", "quote"),
        ("NEAR(rebuild", "code"),
        ("migration", "plain"),
        ("plain", "plain"),
    ],
)
def test_a_word_is_found_however_it_is_written(store: Store, query: str, name: str) -> None:
    ids = stored(store)
    assert found(store, query) == [ids[name]]


IDENTIFIERS = {
    "camel": "The field externalId is set by the importer.",
    "snake": "external_id must be unique within a tenant.",
    "error": "HTTPServerError is raised by fetchAllPages() after three attempts.",
    "digits": "Checked with sha256 and utf8 in parseOAuth2Token.",
    "prose": "The importer has an id of its own, external to the tenant.",
}
UNSPACED = {
    "chinese": "数据库连接池最多二十个，使用Redis缓存会话。",
    "japanese": "本番データベースの接続がタイムアウトしました。",
    "thai": "ฐานข้อมูลหลักเชื่อมต่อไม่ได้หลังจากอัปเดต",
    "korean": "데이터베이스를 복원했습니다.",
}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("externalId", {"camel", "snake", "prose"}),
        ("external_id", {"camel", "snake", "prose"}),
        ("external-id", {"camel", "snake", "prose"}),
        ("ExternalID", {"camel", "snake", "prose"}),
        ("server error", {"error"}),
        ("http server", {"error"}),
        ("fetch pages", {"error"}),
        ("utf-8", {"digits"}),
        ("oauth token", {"digits"}),
        ("SHA-256", {"digits"}),
    ],
)
def test_an_identifier_is_found_by_its_parts_and_in_any_style(
    store: Store, query: str, names: set[str]
) -> None:
    memories = [replace(new_memory(name), content=text) for name, text in IDENTIFIERS.items()]
    ids = dict(zip(IDENTIFIERS, (memory.id for memory in add(store, *memories)), strict=True))
    assert set(found(store, query, operator="AND")) == {ids[name] for name in names}


@pytest.mark.parametrize("query", ["externalId", "external_id", "externalID"])
def test_an_identifier_comes_before_its_parts(store: Store, query: str) -> None:
    memories = [replace(new_memory(name), content=text) for name, text in IDENTIFIERS.items()]
    ids = dict(zip(IDENTIFIERS, (memory.id for memory in add(store, *memories)), strict=True))
    assert found(store, query)[-1] == ids["prose"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("连接池", "chinese"),
        ("会话", "chinese"),
        ("池", "chinese"),
        ("Redis", "chinese"),
        ("缓存", "chinese"),
        ("データベース", "japanese"),
        ("接続", "japanese"),
        ("タイムアウト", "japanese"),
        ("が", "japanese"),
        ("เชื่อมต่อ", "thai"),
        ("ข้อมูล", "thai"),
        ("데이터베이스", "korean"),
        ("복원", "korean"),
    ],
)
def test_inner_words_of_scripts_without_blanks_are_found(
    store: Store, query: str, name: str
) -> None:
    memories = [replace(new_memory(name), content=text) for name, text in UNSPACED.items()]
    ids = dict(zip(UNSPACED, (memory.id for memory in add(store, *memories)), strict=True))
    assert found(store, query, operator="AND") == [ids[name]]
    assert ids[name] in found(store, f"{query} nirgends", operator="OR")


def test_what_was_forgotten_is_not_found_by_parts_or_filters(store: Store) -> None:
    add(store, replace(new_memory("a"), content="externalId", concepts=("auth",), importance=0.9))
    store.write(lambda writing: writing.forget_memory(1, forgotten_at=NOW))
    for wanted in (MemoryFilter(), MemoryFilter(concepts=("auth",), min_importance=0.9)):
        assert found(store, "external id externalId", wanted=wanted) == []


def test_a_filter_is_no_word(store: Store) -> None:
    add(store, replace(new_memory("a"), type="todo", importance=0.9, concepts=("auth",)))
    for query in ("todo", "ttodo", "i9", "\ue000ttodo", "\ue000i9"):
        assert found(store, query) == [], query


@pytest.mark.parametrize("least", [0.05, 0.3, 0.55, 0.7, 0.75, 0.95, 1.0])
def test_any_bound_of_importance_is_exact(store: Store, least: float) -> None:
    values = [0.0, 0.04, 0.05, 0.29, 0.3, 0.5, 0.54, 0.55, 0.7, 0.74, 0.75, 0.9, 0.95, 1.0]
    for value in values:
        add(store, replace(new_memory(f"n{value}"), content="needle", importance=value))

    ids = found(store, "needle", wanted=MemoryFilter(min_importance=least), limit=50)
    assert {values[id - 1] for id in ids} == {value for value in values if value >= least}


def test_and_wants_all_words_and_or_some(store: Store) -> None:
    ids = stored(store)
    assert found(store, "migrations lock", operator="AND") == [ids["plain"]]
    assert found(store, "migrations tabs", operator="AND") == []
    assert set(found(store, "migrations tabs", operator="OR")) == {ids["plain"], ids["quote"]}


@pytest.mark.parametrize(
    "query", ["", " ", "***", "'", '"', '""', "-", ".,;:!?", "\0", "🎉", "\u202e"]
)
def test_a_query_without_words_finds_nothing_and_is_no_error(store: Store, query: str) -> None:
    stored(store)
    assert found(store, query) == []


@pytest.mark.parametrize("query", ["the", "how do we", "is it in there"])
@pytest.mark.parametrize("operator", ["AND", "OR"])
def test_words_that_english_uses_everywhere_find_no_memory_without_them(
    store: Store, query: str, operator: Operator
) -> None:
    add(store, replace(new_memory("a"), title="Redis", content="Tokens live for thirty minutes."))
    assert found(store, query, operator=operator) == []


def test_a_claimed_title_of_such_words_is_known(store: Store) -> None:
    add(store, replace(new_memory("a"), title="About this"))
    claims = Claims(memories=(MemoryClaim(title="About this", where="memories/1"),))
    assert check_memories(claims, store)[0] == []


@pytest.mark.parametrize("sign", string.punctuation + "\0\n")
def test_no_character_next_to_a_word_hides_it(store: Store, sign: str) -> None:
    ids = stored(store)
    for query in (
        f"{sign}migrations",
        f"migrations{sign}",
        f"{sign}migrations{sign}lock{sign}",
        f"mig {sign} migrations",
    ):
        assert found(store, query) == [ids["plain"]], query


def test_words_that_were_not_taken_apart_are_no_error(store: Store) -> None:
    ids = stored(store)
    odd = ['"migrations"', "lock) OR (", "NOT", "\0", ""]
    hits = store.read(
        lambda reading: reading.search(odd, operator="OR", wanted=MemoryFilter(), limit=5)
    )
    assert ids["plain"] in [hit.id for hit in hits]


def test_words_that_no_index_holds_are_distinguished_from_those_that_no_memory_has(
    store: Store,
) -> None:
    add(store, replace(new_memory("a"), title="How do we", content="The and of."))
    queries = ("unheard", "the unheard", "#!?", "", "how do we")
    answers = store.read(lambda reading: [reading.can_find(query.split()) for query in queries])
    found_by = dict(zip(queries, answers, strict=True))
    # Where such words are not indexed, no search for them says that a memory is not there.
    assert found_by["how do we"] is bool(found(store, "how do we"))
    del found_by["how do we"]
    assert found_by == {"unheard": True, "the unheard": True, "#!?": False, "": False}


def test_a_query_of_100_kb_is_no_error(store: Store) -> None:
    ids = stored(store)
    assert found(store, "migrations " + "lorem" * 20_000) == [ids["plain"]]
    assert found(store, "migrations " + "a b " * 25_000) != []


def test_filters_count_before_the_cut(store: Store) -> None:
    many = [replace(new_memory(f"n{number}"), content="needle " * 5) for number in range(300)]
    wanted = replace(
        new_memory("wanted"), content="one needle in much hay", type="todo", concepts=("Hay",)
    )
    *_, last = add(store, *many, replace(wanted, importance=0.9))
    assert found(store, "needle", wanted=MemoryFilter(types=("todo",)), limit=1) == [last.id]
    assert found(store, "needle", wanted=MemoryFilter(concepts=("hay",)), limit=1) == [last.id]
    assert found(store, "needle", wanted=MemoryFilter(min_importance=0.8), limit=1) == [last.id]
    assert found(store, "needle", wanted=MemoryFilter(types=("decision",)), limit=1) == []


def test_concepts_are_searched_as_words_too(store: Store) -> None:
    add(store, replace(new_memory("a"), concepts=("connection pool", "b")))
    assert found(store, "pool") == [1]


def test_the_limit_holds_and_scores_fall(store: Store) -> None:
    add(
        store,
        *[replace(new_memory(f"n{number}"), content="needle " * number) for number in range(1, 8)],
    )
    hits = store.read(
        lambda reading: reading.search(["needle"], operator="OR", wanted=MemoryFilter(), limit=3)
    )
    assert len(hits) == 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert found(store, "needle", limit=0) == []


def test_the_more_important_of_two_like_memories_comes_first(store: Store) -> None:
    twin = replace(new_memory("a"), title="needle", content="needle")
    low, high = (
        replace(twin, importance=0.1),
        replace(new_memory("b"), title="needle", content="needle", importance=0.9),
    )
    ids = [memory.id for memory in add(store, high, low)]
    assert found(store, "needle") == ids


def test_the_newer_of_two_like_memories_comes_first(store: Store) -> None:
    for name in ("a", "b"):
        add(store, replace(new_memory(name), title="needle", content="needle"))
    assert found(store, "needle") == [2, 1]


# Words of more than three letters that PostgreSQL's English dictionary does not index.
STOP_WORDS = (
    " about above after again against because been before being below between both does doing down"
    " during each from further have having here hers herself himself into itself just more most"
    " myself once only other ours ourselves over same should some such than that their theirs them"
    " themselves then there these they this those through under until very were what when where"
    " which while whom will with your yours yourself yourselves "
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60),
    query=st.text(),
)
def test_any_query_is_answered_and_every_word_of_a_text_finds_it(
    store: Store, text: str, query: str
) -> None:
    known = store.read(lambda reading: reading.revision())
    (memory,) = add(store, replace(new_memory(f"n{known}"), content=text))
    found(store, query)
    unindexed = STOP_WORDS if store.engine == "postgresql" else ""
    for word in query_words(text):
        if (
            word.isascii()
            and word.isalpha()
            and len(word) > 3
            and f" {word.lower()} " not in unindexed
        ):
            assert memory.id in found(store, word.upper(), limit=10_000), word


def test_only_the_first_words_of_a_query_count() -> None:
    words = [f"w{number}" for number in range(MOST_WORDS + 5)]
    assert query_words(" ".join(words)) == tuple(words[:MOST_WORDS])


def test_a_repeated_word_counts_once() -> None:
    assert query_words("a b a") == ("a", "b")
