"""A memory is saved once, within its limits, and never with a secret."""

import math
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from goop_mcp.memory.drafts import MemoryDraft, MemoryRefusedError, PreparedMemory, prepare
from goop_mcp.memory.importance import packages_importance
from goop_mcp.memory.repository import forget_memory, get_memory
from goop_mcp.memory.saving import save_memory
from goop_mcp.memory.similarity import sketches, tokens
from goop_mcp.redaction import PRIVATE, REDACTED
from goop_mcp.store.interface import Store

DRAFT = MemoryDraft(title="Sessions live in Redis", content="The cookie holds only an id.")
HUGE = pytest.param(10**5000, id="huge")
SECRET = "ghp_" + "a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"


def refused(draft: MemoryDraft) -> MemoryRefusedError:
    with pytest.raises(MemoryRefusedError) as caught:
        prepare(draft)
    return caught.value


def test_a_saved_memory_is_read_back_as_it_was_given(store: Store) -> None:
    draft = replace(
        DRAFT,
        type="decision",
        importance=0.7,
        concepts=["auth", "sessions"],
        facts=["an id has 128 bits"],
        source_files=["src/auth/session.py"],
        agent="goop-executor",
        session_id="s-1",
        idempotency_key="w2t3",
    )

    saved = save_memory(store, draft, clock=lambda: datetime(2026, 1, 15, 10, 30, tzinfo=UTC))
    kept = get_memory(store, saved.id)

    assert (saved.status, saved.redactions, saved.similar, saved.findings) == ("saved", 0, (), ())
    assert (kept.title, kept.content, kept.type, kept.importance) == (
        draft.title,
        draft.content,
        "decision",
        0.7,
    )
    assert (kept.concepts, kept.facts) == (("auth", "sessions"), ("an id has 128 bits",))
    assert (kept.source_files, kept.agent, kept.session_id) == (
        ("src/auth/session.py",),
        "goop-executor",
        "s-1",
    )
    assert (kept.created_at, kept.revision, kept.uid) == (
        "2026-01-15T10:30:00.000Z",
        saved.revision,
        saved.uid,
    )


def test_revisions_follow_each_other(store: Store) -> None:
    first = save_memory(store, DRAFT)
    second = save_memory(store, replace(DRAFT, title="Another title"))

    assert second.revision == first.revision + 1


def test_the_same_words_are_a_duplicate_whatever_their_case_and_blanks(store: Store) -> None:
    first = save_memory(store, DRAFT)
    again = save_memory(
        store,
        replace(DRAFT, title="SESSIONS  live in redis", content="the cookie\nholds only an id. "),
    )

    assert (again.status, again.id, again.revision) == ("duplicate", first.id, first.revision)
    assert store.read(lambda reading: reading.revision()) == first.revision


def test_the_same_key_with_the_same_words_is_a_duplicate(store: Store) -> None:
    first = save_memory(store, replace(DRAFT, idempotency_key="k"))

    assert save_memory(store, replace(DRAFT, idempotency_key="k")).id == first.id
    assert save_memory(store, replace(DRAFT, idempotency_key="other key")).status == "duplicate"


def test_the_same_key_with_other_words_is_refused_with_the_first_id(store: Store) -> None:
    first = save_memory(store, replace(DRAFT, idempotency_key="k"))

    with pytest.raises(MemoryRefusedError, match=f"memory {first.id}, which has another text"):
        save_memory(store, replace(DRAFT, content="30 s", idempotency_key="k"))
    assert store.read(lambda reading: reading.revision()) == first.revision


def test_a_forgotten_memory_frees_its_key_and_its_words(store: Store) -> None:
    first = save_memory(store, replace(DRAFT, idempotency_key="k"))
    forget_memory(store, first.id)

    again = save_memory(store, replace(DRAFT, idempotency_key="k"))

    assert (again.status, again.id != first.id) == ("saved", True)


def test_fifty_calls_at_once_with_one_text_save_it_once(store: Store) -> None:
    with ThreadPoolExecutor(50) as threads:
        saved = list(threads.map(lambda _: save_memory(store, DRAFT), range(50)))

    assert [each.status for each in saved].count("saved") == 1
    assert len({each.id for each in saved}) == 1


def test_nearly_the_same_memory_is_kept_and_named(store: Store) -> None:
    words = "The client waits for the answer of the payment service and gives up after"
    first = save_memory(store, MemoryDraft(title="Timeout of payments", content=f"{words} 30 s."))
    save_memory(
        store, MemoryDraft(title="Deployments", content="They happen on Tuesdays before noon.")
    )
    other_type = save_memory(
        store, MemoryDraft(title="Timeout of payments", content=f"{words} 40 s.", type="note")
    )
    second = save_memory(store, MemoryDraft(title="Timeout of payments", content=f"{words} 300 s."))

    assert other_type.similar == ()
    assert (second.status, second.similar) == ("saved", (first.id,))
    assert get_memory(store, second.id).content.endswith("300 s.")


def test_of_a_hundred_memories_with_some_words_changed_almost_all_are_named_among_many(
    store: Store,
) -> None:
    pick = random.Random(4711)
    vocabulary = [
        "".join(pick.choices("abcdefghijklmnopqrstuvwxyz", k=2 + n // 100)) for n in range(1_000)
    ]
    texts = [pick.choices(vocabulary, k=pick.randrange(7, 80)) for _ in range(100)]
    first = [
        save_memory(store, MemoryDraft(title="Notes", content=" ".join(text))).id for text in texts
    ]
    named = 0

    for id, text in zip(first, texts, strict=True):
        changed = {pick.randrange(len(text)): "changed" for _ in range(len(text) // 10)}
        words = [changed.get(place, word) for place, word in enumerate(text)]
        pick.shuffle(words)
        again = save_memory(store, MemoryDraft(title="Notes", content=" ".join(words)))
        named += id in again.similar or again.status == "duplicate"

    assert named >= 97, named


def test_many_memories_that_are_nearly_the_same_are_all_named(store: Store) -> None:
    words = "The client waits for the answer of the payment service and gives up after"
    ids = [
        save_memory(store, MemoryDraft(title="Timeout", content=f"{words} {n} s.")).id
        for n in range(10)
    ]

    last = save_memory(store, MemoryDraft(title="Timeout", content=f"{words} 300 s."))

    assert last.similar == tuple(ids)


kept_words = st.lists(
    st.sampled_from([*"ab", "id", "session", "größe", "42", "redis", "cookie"]), max_size=30
)


@given(kept_words, kept_words)
def test_texts_of_the_same_words_have_the_same_sketches_in_any_order(
    one: list[str], other: list[str]
) -> None:
    mine, theirs = (
        sketches("note", tokens("t", " ".join(text))) for text in ([*one, *other], [*other, *one])
    )

    assert mine == theirs != sketches("todo", tokens("t", " ".join([*one, *other])))
    assert len(mine) == 4
    assert all(0 <= sketch < 2**63 for sketch in mine)


@pytest.mark.parametrize("importance", [0, 1, 1.0, 0.03, 0.7])
def test_importance_from_0_to_1_is_kept_exactly(importance: float, store: Store) -> None:
    saved = save_memory(store, replace(DRAFT, importance=importance))

    assert get_memory(store, saved.id).importance == importance
    assert saved.findings == ()


@pytest.mark.parametrize(
    "importance", [8, 10, -0.1, 1.01, True, False, "0.5", None, math.nan, math.inf, HUGE]
)
def test_any_other_importance_is_refused(importance: object) -> None:
    (finding,) = refused(replace(DRAFT, importance=importance)).findings

    assert finding.rule == "memory/importance-out-of-range"
    assert "0 to 1" in finding.message


@pytest.mark.parametrize(
    ("given", "kept"),
    [(0.4, 0.4), (1, 1.0), (1.0, 1.0), (2, 0.2), (8, 0.8), (10, 1.0), (1.5, 0.15)],
)
def test_the_tools_with_the_packages_names_take_either_scale(given: float, kept: float) -> None:
    prepared = prepare(replace(DRAFT, importance=given), scale="either")

    assert prepared.importance == kept
    assert [finding.rule for finding in prepared.findings] == (
        ["memory/importance-ambiguous"] if given == 1 else []
    )


@pytest.mark.parametrize("given", [0, -1, 11, True, "8"])
def test_the_tools_with_the_packages_names_refuse_what_is_on_neither_scale(given: object) -> None:
    with pytest.raises(MemoryRefusedError, match="importance"):
        prepare(replace(DRAFT, importance=given), scale="either")


@pytest.mark.parametrize(("ours", "theirs"), [(0, 1), (0.04, 1), (0.45, 5), (0.7, 7), (1, 10)])
def test_importance_for_the_packages_lies_between_1_and_10(ours: float, theirs: int) -> None:
    assert packages_importance(ours) == theirs


def test_a_long_title_is_cut_between_words_and_nothing_of_it_is_lost() -> None:
    title = "word " * 30

    prepared = prepare(replace(DRAFT, title=title))

    assert len(prepared.title) <= 100
    assert f"{prepared.title} {prepared.content.splitlines()[0]}" == title.strip()
    assert prepared.content.endswith(DRAFT.content)
    assert [finding.rule for finding in prepared.findings] == ["memory/title-too-long"]


@pytest.mark.parametrize(
    ("draft", "field", "limit"),
    [
        (replace(DRAFT, content="ä" * 32_769), "content", "65,536"),
        (replace(DRAFT, concepts=[f"c{n}" for n in range(33)]), "concepts", "32"),
        (replace(DRAFT, facts=[f"f{n}" for n in range(33)]), "facts", "32"),
        (replace(DRAFT, source_files=[f"s{n}" for n in range(65)]), "source_files", "64"),
        (replace(DRAFT, agent="a" * 201), "agent", "200"),
        (replace(DRAFT, idempotency_key="a" * 201), "idempotency_key", "200"),
    ],
)
def test_what_is_too_large_is_refused_with_field_and_limit(
    draft: MemoryDraft, field: str, limit: str
) -> None:
    (finding,) = refused(draft).findings

    assert (finding.rule, finding.path) == ("memory/too-large", field)
    assert limit in finding.message


def test_content_of_exactly_64_kib_is_kept(store: Store) -> None:
    saved = save_memory(store, replace(DRAFT, content="x" * 65_536))

    assert len(get_memory(store, saved.id).content) == 65_536


def test_all_reasons_are_reported_together() -> None:
    error = refused(
        MemoryDraft(title=" ", content="\u200b", type="idea", importance=8, facts=["a\0b"])
    )

    assert {finding.path for finding in error.findings} == {
        "title",
        "content",
        "type",
        "importance",
        "facts",
    }
    assert "and 4 more" in str(error)


@pytest.mark.parametrize("name", ["title", "content", "agent", "session_id", "idempotency_key"])
@pytest.mark.parametrize("character", ["\0", "\ud800"])
def test_characters_that_no_database_keeps_are_refused_in_every_field(
    name: str, character: str
) -> None:
    values = {"title": "t", "content": "c", name: f"a{character}b"}

    assert {finding.path for finding in refused(MemoryDraft(**values)).findings} == {name}


def test_secrets_are_gone_from_every_field_before_anything_is_stored(store: Store) -> None:
    draft = MemoryDraft(
        title=f"Found {SECRET}",
        content=f"It was in <private>the drawer</private>: {SECRET}",
        concepts=["auth", SECRET],
        facts=[f"token={SECRET}"],
        source_files=[f"https://joe:{SECRET}@example.org/a.py"],
        agent=f"goop-{SECRET} {SECRET}",
        session_id=SECRET,
        idempotency_key=SECRET,
    )

    saved = save_memory(store, draft)
    kept = get_memory(store, saved.id)

    assert saved.redactions >= 9
    assert SECRET not in repr(kept)
    assert "drawer" not in repr(kept)
    assert kept.content == f"It was in {PRIVATE}: {REDACTED}"
    assert [finding.rule for finding in saved.findings] == ["memory/redacted"]
    assert SECRET not in repr(saved)


def test_two_keys_that_differ_in_a_secret_stay_two_keys() -> None:
    one, other = (prepare(replace(DRAFT, idempotency_key=f"token={SECRET}{n}")) for n in (1, 2))

    assert one.idempotency_key != other.idempotency_key
    assert SECRET not in one.idempotency_key


def test_no_reason_of_a_refusal_shows_a_secret() -> None:
    error = refused(
        MemoryDraft(title=" ", content=f"{SECRET}\0", type=SECRET, agent=f"{SECRET} " * 30)
    )

    assert SECRET not in str(error) + repr(error.findings)


def outcome_of(draft: MemoryDraft) -> PreparedMemory | MemoryRefusedError:
    try:
        return prepare(draft)
    except MemoryRefusedError as error:
        return error


texts = st.text(max_size=80)
names = st.none() | texts
anything = st.builds(
    MemoryDraft,
    title=texts,
    content=texts,
    type=st.sampled_from(["decision", "note", "idea"]) | texts,
    importance=st.one_of(st.floats(), st.integers(), texts, st.booleans(), st.none()),
    concepts=st.lists(texts, max_size=4),
    facts=st.lists(texts, max_size=4),
    source_files=st.lists(texts, max_size=4),
    agent=names,
    session_id=names,
    idempotency_key=names,
)


@given(anything)
def test_any_draft_is_prepared_or_refused_with_reasons(draft: MemoryDraft) -> None:
    outcome = outcome_of(draft)

    if isinstance(outcome, MemoryRefusedError):
        assert outcome.findings
    else:
        assert 0 <= outcome.importance <= 1
        assert len(outcome.title) <= 100


plain = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]), min_size=1, max_size=40)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=plain, content=plain, concepts=st.lists(plain, max_size=3))
def test_what_could_be_prepared_can_be_stored_and_read_back(
    store: Store, title: str, content: str, concepts: list[str]
) -> None:
    draft = MemoryDraft(title=f"t{title}", content=f"c{content}", concepts=concepts)
    prepared = prepare(draft)

    kept = get_memory(store, save_memory(store, draft).id)

    assert kept.fingerprint == prepared.fingerprint
