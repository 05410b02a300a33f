"""Measure a save and a search over MCP among 100,000 memories, and the reference memory server.

Both hold the same notes and are called in turns. Without Node.js the reference server is left out,
and the table notes it.
"""

import json
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, Self

from pydantic import JsonValue

from benchmarks.notes import MEMORIES, WORDS_A_NOTE, Notes, fill
from benchmarks.stdio_session import StdioSession
from benchmarks.tables import Bound, Table
from benchmarks.timing import take_turns
from goop_mcp.memory.saving import save_memory
from goop_mcp.memory.searching import SearchRequest, search_memory
from goop_mcp.store.opening import open_store
from tests.reliability.products import OURS, REFERENCE, reference_program
from tests.reliability.stdio_server import StdioServer

__all__ = ["run"]

_TURNS: Final = 15
_CALLS_A_TURN: Final = 10
_STARTS: Final = 10
_USUAL_WORDS: Final = slice(500, 3_000)
_BARE: Final = ("-m", "benchmarks.bare_server")

# Milliseconds depend on the disk and on other work: no value is a defect.
_SAVE_MS: Final = Bound(goal=0.5, defect=math.inf)
_SEARCH_MS: Final = Bound(goal=3, defect=30)
_SHARE_OF_REFERENCE: Final = Bound(goal=0.01, defect=0.1)
_START: Final = Bound(goal=1.1, defect=1.25)
_SIZE: Final = Bound(goal=1.3, defect=1.6)


def run() -> Table:
    """Measure saves and searches in turns, then starts with and without a database, then sizes."""
    table = Table(
        "memory_servers",
        ("", "library ms", "ours ms", "reference ms", "ours over it"),
        [
            (
                f"{MEMORIES:,} memories of {WORDS_A_NOTE} words, medians; ours and reference: over"
                " stdio, in turns"
            ),
            (
                f"reference: {REFERENCE.name}; a start and a size compare with the bare server or a"
                " project without database"
            ),
        ],
    )
    with tempfile.TemporaryDirectory(prefix="goop-bench-") as place:
        ours, empty, reference = (Path(place) / name for name in ("ours", "empty", "reference"))
        for folder in (ours, empty, reference):
            folder.mkdir()

        notes = _fill_both(ours, reference)
        missing = reference_program()
        table.notes = [
            *table.notes,
            *([f"without the reference server: {missing}"] if missing else []),
        ]
        with _Calls(ours, notes, None if missing else reference) as calls:
            calls.measure(table)

        _measure_starts(table, ours, empty)
        _measure_sizes(table, ours)

    return table


def _fill_both(ours: Path, reference: Path) -> Notes:
    """Write the same notes to both places, and return what further ones come from."""
    store, notes = open_store(None, project=ours), Notes()
    fill(store, notes)
    store.close()

    with REFERENCE.file(reference).open("w", encoding="utf-8") as file:
        for number, row in enumerate(islice(Notes().rows(), MEMORIES)):
            entity = {
                "name": f"{row.title} {number}",
                "entityType": row.type,
                "observations": [row.content],
            }
            file.write(json.dumps({"type": "entity", **entity}) + "\n")

    return notes


class _Calls:
    """The three ways to save and to search, open at the same time."""

    def __init__(self, ours: Path, notes: Notes, reference: Path | None) -> None:
        self._notes = notes
        self._store = open_store(None, project=ours)
        self._ours = OURS.start(ours)
        self._reference = REFERENCE.start(reference) if reference is not None else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in (self._ours, self._reference):
            if server is not None:
                server.close()
        self._store.close()

    def measure(self, table: Table) -> None:
        """Add a row for saves and one for searches."""
        saves = {"library": self._save, "ours": self._save_ours, "reference": self._save_reference}
        searches = {
            "library": self._search,
            "ours": self._search_ours,
            "reference": self._search_reference,
        }

        for name, clocks, bound in (
            ("save", saves, _SAVE_MS),
            ("search, usual words", searches, _SEARCH_MS),
        ):
            if self._reference is None:
                del clocks["reference"]

            timings = take_turns(clocks, turns=_TURNS)
            milliseconds = {way: timing.median * 1e3 for way, timing in timings.items()}
            shown = [
                f"{milliseconds[way]:.2f}" if way in milliseconds else ""
                for way in searches | saves
            ]
            table.add(
                f"{name}, through the library",
                shown[0],
                "",
                "",
                "",
                judgement=bound.judge(milliseconds["library"]),
            )
            if self._reference is not None:
                share = milliseconds["ours"] / milliseconds["reference"]
                judgement = _SHARE_OF_REFERENCE.judge(share)
                table.add(
                    f"{name}, through MCP",
                    "",
                    *shown[1:],
                    f"1/{1 / share:.0f}",
                    judgement=judgement,
                )
            else:
                table.add(f"{name}, through MCP", "", *shown[1:], "")

    def _save(self) -> float:
        drafts = [self._notes.draft() for _ in range(_CALLS_A_TURN)]
        return _middle([partial(save_memory, self._store, draft) for draft in drafts])

    def _save_ours(self) -> float:
        drafts = [self._notes.draft() for _ in range(_CALLS_A_TURN)]
        calls: list[dict[str, JsonValue]] = [
            {"title": each.title, "content": each.content} for each in drafts
        ]
        return _middle([partial(_answered, self._ours, "save_memory", call) for call in calls])

    def _save_reference(self) -> float:
        draft = self._notes.draft()
        entity: JsonValue = {
            "name": draft.title,
            "entityType": draft.type,
            "observations": [draft.content],
        }
        return _middle(
            [partial(_answered, self._reference, "create_entities", {"entities": [entity]})]
        )

    def _search(self) -> float:
        requests = [SearchRequest(queries=[self._question()]) for _ in range(_CALLS_A_TURN)]
        return _middle([partial(search_memory, self._store, request) for request in requests])

    def _search_ours(self) -> float:
        questions: list[JsonValue] = [self._question() for _ in range(_CALLS_A_TURN)]
        return _middle(
            [
                partial(_answered, self._ours, "search_memory", {"queries": each})
                for each in questions
            ]
        )

    def _search_reference(self) -> float:
        # It looks for the whole text as it stands: one word is the least that it must read all for.
        word = self._question().partition(" ")[0]
        return _middle([partial(_answered, self._reference, "search_nodes", {"query": word})])

    def _question(self) -> str:
        return self._notes.some(self._notes.vocabulary[_USUAL_WORDS], 2)


def _answered(server: StdioServer | None, tool: str, arguments: Mapping[str, JsonValue]) -> None:
    assert server is not None
    answer = server.call(tool, **arguments)
    assert not answer.get("isError"), answer


def _middle(actions: Sequence[Callable[[], object]]) -> float:
    """Return the median of the seconds that the actions take."""
    seconds = []
    for action in actions:
        began = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - began)

    return statistics.median(seconds)


def _measure_starts(table: Table, ours: Path, empty: Path) -> None:
    clocks = {str(folder): partial(_start, _served(folder)) for folder in (ours, empty)}
    timings = take_turns(clocks, turns=_STARTS)
    with_database, without = timings[str(ours)].p10, timings[str(empty)].p10
    ratio = with_database / without
    cells = (f"{with_database * 1e3:.0f}", f"{without * 1e3:.0f}", f"{ratio:.2f}")
    table.add("start with a database, without", "", *cells, judgement=_START.judge(ratio))


def _measure_sizes(table: Table, ours: Path) -> None:
    with (
        StdioServer([sys.executable, *_served(ours)]) as server,
        StdioServer([sys.executable, *_BARE]) as bare,
    ):
        _answered(bare, "nothing", {"text": "x"})
        sizes = {"at start": server.resident_mb()}
        _answered(
            server, "save_memory", {"title": "One more", "content": "One more note for the size."}
        )
        _answered(server, "search_memory", {"queries": "one more note"})
        sizes["after a save and a search"] = server.resident_mb()

        for when, size in sizes.items():
            ratio = size / bare.resident_mb()
            cells = (f"{size:.0f}", f"{bare.resident_mb():.0f}", f"{ratio:.2f}")
            table.add(f"MB {when}, bare server", "", *cells, judgement=_SIZE.judge(ratio))


def _served(folder: Path) -> tuple[str, ...]:
    return ("-m", "goop_mcp", "serve", "--project", str(folder))


def _start(arguments: tuple[str, ...]) -> float:
    began = time.perf_counter()
    with StdioSession(arguments):
        return time.perf_counter() - began
