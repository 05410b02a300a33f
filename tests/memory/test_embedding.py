"""An embedder of the caller's own helps to find; without it, or when it fails, words do."""

from collections.abc import Sequence

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.embedding import find_neighbours
from goop_mcp.memory.saving import save_memory
from goop_mcp.memory.searching import SearchRequest, search_memory
from goop_mcp.store.interface import Store

TOPICS = ({"redis", "session", "login", "cookie"}, {"invoice", "bill", "money"}, {"test", "flaky"})


class TopicEmbedder:
    """Counts the words of three topics."""

    model = "topics"
    dimensions = len(TOPICS)

    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        del query
        return [[float(sum(word in topic for word in text.lower().split())) for topic in TOPICS] for text in texts]


class BrokenEmbedder(TopicEmbedder):
    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        raise ConnectionError(f"{len(texts)} texts, {query}")


class ShortEmbedder(TopicEmbedder):
    async def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        return [vector[:1] for vector in await super().embed(texts, query=query)]


def save(store: Store, title: str) -> int:
    return save_memory(store, MemoryDraft(title=title, content=title)).id


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

    for embedder, words in ((BrokenEmbedder(), "ConnectionError"), (ShortEmbedder(), "wrong number or size")):
        near = await find_neighbours(embedder, ["redis"], await vectors(ids))
        answer = search_memory(store, SearchRequest(queries=["redis"]), neighbours=near.lists)

        assert near.lists == ()
        assert words in (near.warning or "")
        assert answer.total == 1


async def test_vectors_of_another_size_are_passed_over() -> None:
    near = await find_neighbours(TopicEmbedder(), ["redis"], [(1, [1.0]), (2, [1.0, 0.0, 0.0]), (3, [0.0, 0.0, 0.0])])

    assert near.lists == ((2, 3),)
