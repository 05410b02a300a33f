"""Search with the caller's embedder; without it, or when it fails, the search uses words."""

from collections.abc import Sequence
from pathlib import Path

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.embedding import embed_memories, find_neighbours, search_by_meaning
from goop_mcp.memory.repository import forget_memory
from goop_mcp.memory.saving import save_memory
from goop_mcp.memory.searching import SearchRequest, search_memory
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store

TOPICS = ({"redis", "session", "login", "cookie"}, {"invoice", "bill", "money"}, {"test", "flaky"})


class TopicEmbedder:
    """Counts the words of three topics."""

    model = "topics"
    dimensions = len(TOPICS)

    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        del query
        return [
            [float(sum(word in topic for word in text.lower().split())) for topic in TOPICS]
            for text in texts
        ]


class BrokenEmbedder(TopicEmbedder):
    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        raise ConnectionError(f"{len(texts)} texts, {query}")


class ShortEmbedder(TopicEmbedder):
    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        return [vector[:1] for vector in await super().embed(texts, query=query)]


class CountingEmbedder(TopicEmbedder):
    """Notes down what it was given."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        self.texts += texts
        return await super().embed(texts, query=query)


class OtherEmbedder(TopicEmbedder):
    model = "other topics"


class BoundlessEmbedder(TopicEmbedder):
    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        return [[float("nan")] * len(vector) for vector in await super().embed(texts, query=query)]


def save(store: Store, title: str, type: str = "observation") -> int:
    return save_memory(store, MemoryDraft(title=title, content=title, type=type)).id


async def found(
    store: Store, query: str, embedder: TopicEmbedder, types: Sequence[str] = ()
) -> list[str]:
    answer = await search_by_meaning(store, SearchRequest(queries=query, types=types), embedder)
    return [item.memory.title for item in answer.items]


async def vectors(ids: dict[int, str]) -> list[tuple[int, Sequence[float]]]:
    return list(zip(ids, await TopicEmbedder().embed(list(ids.values()), query=False), strict=True))


async def test_a_memory_without_a_common_word_is_found_by_its_meaning(store: Store) -> None:
    titles = ["redis cookie", "invoice money", "flaky test"]
    ids = {save(store, title): title for title in titles}

    near = await find_neighbours(TopicEmbedder(), ["login"], await vectors(ids))
    answer = search_memory(store, SearchRequest(queries=["login"], limit=1), neighbours=near.lists)

    assert near.warning is None
    assert [item.memory.title for item in answer.items] == ["redis cookie"]


async def test_a_failing_embedder_leaves_the_words_and_a_warning(store: Store) -> None:
    ids = {save(store, "redis cookie"): "redis cookie"}

    for embedder, words in (
        (BrokenEmbedder(), "ConnectionError"),
        (ShortEmbedder(), "wrong number or size"),
    ):
        near = await find_neighbours(embedder, ["redis"], await vectors(ids))
        answer = search_memory(store, SearchRequest(queries=["redis"]), neighbours=near.lists)

        assert near.lists == ()
        assert words in (near.warning or "")
        assert answer.total == 1


async def test_vectors_of_another_size_and_without_likeness_are_passed_over() -> None:
    near = await find_neighbours(
        TopicEmbedder(), ["redis"], [(1, [1.0]), (2, [1.0, 0.0, 0.0]), (3, [0.0, 0.0, 0.0])]
    )

    assert near.lists == ((2,),)


async def test_memories_get_their_vectors_after_they_are_saved_and_once_only(store: Store) -> None:
    for number in range(70):
        save(store, f"invoice {number}")

    save(store, "redis cookie token=tiger-4711")
    embedder = CountingEmbedder()

    first, second = [await embed_memories(store, embedder) for _ in range(2)]

    assert (first.count, first.warning, second.count) == (71, None, 0)
    assert len(embedder.texts) == 71
    assert "tiger-4711" not in "".join(embedder.texts)
    assert await found(store, "login", embedder) == ["redis cookie token=[REDACTED]"]


async def test_an_embedder_finds_by_meaning_in_a_store_that_is_opened_again(tmp_path: Path) -> None:
    before = open_store(None, project=tmp_path)
    save(before, "redis cookie")
    await embed_memories(before, TopicEmbedder())
    before.close()

    after = open_store(None, project=tmp_path)
    assert await found(after, "login", TopicEmbedder()) == ["redis cookie"]
    assert await found(after, "login", OtherEmbedder()) == []
    assert after.check() == []
    after.close()


async def test_filters_count_before_the_nearest_are_cut_off(store: Store) -> None:
    for number in range(60):
        save(store, f"login login {number}")

    save(store, "redis cookie money", type="todo")
    await embed_memories(store, TopicEmbedder())

    assert await found(store, "session", TopicEmbedder(), types=["todo"]) == ["redis cookie money"]


async def test_a_forgotten_memory_has_no_vector_and_gets_none(store: Store) -> None:
    id = save(store, "redis cookie")
    await embed_memories(store, TopicEmbedder())
    forget_memory(store, id)
    store.write(lambda writing: writing.set_vector(id, "topics", [1.0, 0.0, 0.0]))

    assert store.read(lambda reading: reading.vectors("topics", dimensions=3)) == []
    assert (await embed_memories(store, TopicEmbedder())).count == 0
    assert await found(store, "login", TopicEmbedder()) == []


async def test_a_failing_embedder_takes_nothing_back_and_is_tried_again(store: Store) -> None:
    save(store, "redis cookie")
    for embedder, words in (
        (BrokenEmbedder(), "the embedder failed (ConnectionError); 0 memories got a vector"),
        (ShortEmbedder(), "wrong number or size"),
        (BoundlessEmbedder(), "NaN or infinity"),
    ):
        assert words in ((await embed_memories(store, embedder)).warning or "")
        answer = await search_by_meaning(store, SearchRequest(queries="redis"), embedder)
        assert (answer.total, len(answer.notes)) == (1, 1)

    assert (await embed_memories(store, TopicEmbedder())).count == 1
