"""Kill servers that save and record through MCP; nothing acknowledged may be lost."""

import json
import random
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from pydantic import JsonValue

from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import Event, MemoryFilter
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.workspace.archive import archived_parts, newest_blocks
from goop_mcp.workspace.documents.state_block import place_state_block
from goop_mcp.workspace.layout import CHRONICLE, FOLDER
from goop_mcp.workspace.projection_text import (
    STATE_KIND,
    blocks_of,
    insert_blocks,
    state_block_of,
)
from goop_mcp.workspace.projections import open_conflicts
from tests.reliability.stdio_server import ServerGoneError, StdioServer, serve
from tests.workspace.true_projects import STATE

__all__ = ["ServedReport", "kill_servers"]

_WRITES: Final = 12
_ROUNDS_A_PROJECT: Final = 5
_LONGEST_DELAY: Final = 0.02
_EXPECTED_FILES: Final = frozenset(
    {".gitignore", ".lock", "goop.db", "goop.db-wal", "goop.db-shm", CHRONICLE, "state.json"}
    | {"archive"}
)


@dataclass(frozen=True, slots=True)
class _Ack:
    """An acknowledged write: its id, its revision, and its unique name."""

    id: int
    revision: int
    name: str


@dataclass(slots=True)
class _Acknowledged:
    """What the servers of one project acknowledged, and the defects found."""

    kills: int = 0
    saves: set[_Ack] = field(default_factory=set)
    records: set[_Ack] = field(default_factory=set)
    restart: float = 0.0
    defects: list[str] = field(default_factory=list)


@dataclass(slots=True)
class ServedReport:
    """The outcome; `restart` is the longest time in seconds from a start to the first write."""

    seed: int
    kills: int = 0
    saves: int = 0
    records: int = 0
    restart: float = 0.0
    defects: list[str] = field(default_factory=list)

    def take(self, acknowledged: _Acknowledged) -> None:
        """Add what came of one project."""
        self.kills += acknowledged.kills
        self.saves += len(acknowledged.saves)
        self.records += len(acknowledged.records)
        self.restart = max(self.restart, acknowledged.restart)
        self.defects += acknowledged.defects


def kill_servers(rounds: int, *, seed: int, folder: Path, servers: int = 8) -> ServedReport:
    """Let `servers` write in projects below `folder`; kill half in each of `rounds`, then check."""
    report, chance = ServedReport(seed), random.Random(seed)
    for first in range(0, rounds, _ROUNDS_A_PROJECT):
        with TemporaryDirectory(dir=folder) as project:
            _one_project(
                Path(project),
                range(first, min(first + _ROUNDS_A_PROJECT, rounds)),
                servers,
                chance,
                report,
            )

        if report.defects:
            break

    return report


def _one_project(
    project: Path, rounds: range, servers: int, chance: random.Random, report: ServedReport
) -> None:
    (project / FOLDER).mkdir()
    (project / FOLDER / "state.json").write_text(
        json.dumps(STATE, indent=2) + "\n", encoding="utf-8"
    )
    acknowledged = _Acknowledged()

    with ExitStack() as stack:
        running: list[StdioServer] = []
        for number in rounds:
            running += [stack.enter_context(serve(project)) for _ in range(servers - len(running))]
            running = _one_round(running, number, chance, acknowledged)
            _look(project, number, acknowledged)

    report.take(acknowledged)


def _one_round(
    servers: Sequence[StdioServer], number: int, chance: random.Random, acknowledged: _Acknowledged
) -> list[StdioServer]:
    """Let all servers write, and return those that are still alive."""
    victims = set(chance.sample(range(len(servers)), len(servers) // 2))
    writers = [
        _Writer(
            server,
            f"{number}-{place}",
            death=chance.randrange(1, _WRITES) if place in victims else None,
            delay=chance.uniform(0, _LONGEST_DELAY),
        )
        for place, server in enumerate(servers)
    ]
    with ThreadPoolExecutor(len(servers)) as pool:
        alive = list(pool.map(_Writer.write, writers))

    for writer in writers:
        acknowledged.saves |= writer.saves
        acknowledged.records |= writer.records
        acknowledged.defects += writer.defects

    acknowledged.kills += alive.count(False)

    return [server for server, lives in zip(servers, alive, strict=True) if lives]


@dataclass(slots=True)
class _Writer:
    """One server, killed `delay` seconds after its write number `death` has begun."""

    server: StdioServer
    name: str
    death: int | None
    delay: float
    saves: set[_Ack] = field(default_factory=set)
    records: set[_Ack] = field(default_factory=set)
    defects: list[str] = field(default_factory=list)

    def write(self) -> bool:
        """Save and record in turns, and return whether the server is still alive."""
        for number in range(_WRITES):
            if number == self.death:
                timer = threading.Timer(self.delay, self.server.kill)
                timer.start()

            try:
                self.write_one(f"{self.name}-{number}", records=number % 3 == 2)
            except ServerGoneError:
                if self.death is None:
                    raise
                return False

        if self.death is not None:
            # All was written before the timer ran out.
            timer.join()
            return False

        return True

    def write_one(self, name: str, *, records: bool) -> None:
        """Record a report or save a memory called `name`, and keep what was answered."""
        if records:
            answer = self.server.call("record_report", text=_report(name), check_workspace=False)
            place, id = _part(_part(answer, "structuredContent"), "written"), "report"
        else:
            answer = self.server.call(
                "save_memory", title=f"Note {name}", content=f"What was learned in {name}."
            )
            place, id = _part(answer, "structuredContent"), "id"

        number, revision = place.get(id), place.get("revision")
        if isinstance(number, int) and isinstance(revision, int):
            kept = self.records if records else self.saves
            kept.add(_Ack(number, revision, f"T-{name}" if records else f"Note {name}"))
        else:
            self.defects.append(f"{name} was answered by {answer}")


def _part(answer: Mapping[str, JsonValue], name: str) -> Mapping[str, JsonValue]:
    part = answer.get(name)
    return part if isinstance(part, dict) else {}


def _report(name: str) -> str:
    return COMPLETE_REPLY.replace("W1.T2", f"T-{name}").replace(
        "Added the login endpoint.", f"Did {name}."
    )


def _look(project: Path, number: int, acknowledged: _Acknowledged) -> None:
    """Start once more, write, and compare rows and files with what was acknowledged."""
    began = time.monotonic()
    with serve(project) as server:
        writer = _Writer(server, f"{number}-again", None, 0.0)
        writer.write_one(writer.name, records=True)
        acknowledged.restart = max(acknowledged.restart, time.monotonic() - began)

    acknowledged.records |= writer.records
    acknowledged.defects += writer.defects
    store = open_store(None, project=project)
    rows = store.read(_rows)
    acknowledged.defects += [
        f"{what}: {found}" for what, found in _row_defects(rows, acknowledged).items() if found
    ]
    acknowledged.defects += store.check() + _file_defects(project, rows)
    store.close()


@dataclass(frozen=True, slots=True)
class _Rows:
    saves: list[_Ack]
    records: list[_Ack]
    events: list[Event]
    revision: int
    conflicts: int


def _rows(reading: ReadTransaction) -> _Rows:
    return _Rows(
        saves=sorted(
            (_Ack(m.id, m.revision, m.title) for m in reading.memories(MemoryFilter())),
            key=lambda a: a.id,
        ),
        records=sorted(
            (_Ack(r.id, r.revision, str(r.task_id)) for r in reading.reports()), key=lambda a: a.id
        ),
        events=reading.events(document=CHRONICLE),
        revision=reading.revision(),
        conflicts=len(open_conflicts(reading)),
    )


def _row_defects(rows: _Rows, acknowledged: _Acknowledged) -> dict[str, object]:
    every = [*rows.saves, *rows.records]
    revisions = [ack.revision for ack in sorted(every, key=lambda ack: ack.revision)]
    return {
        "saved and lost": sorted(ack.name for ack in acknowledged.saves - set(rows.saves)),
        "recorded and lost": sorted(ack.name for ack in acknowledged.records - set(rows.records)),
        "names twice": len(every) - len({ack.name for ack in every}),
        "ids twice": len(rows.saves) - len({ack.id for ack in rows.saves}),
        "revisions that do not rise with the ids": [
            pair
            for kind in (rows.saves, rows.records)
            for pair in pairwise(kind)
            if pair[0].revision >= pair[1].revision
        ],
        "revisions twice": [pair for pair in pairwise(revisions) if pair[0] == pair[1]],
        "a revision after the last": [
            revision for revision in revisions if revision > rows.revision
        ],
        "reports without their entry": len(rows.records) - len(blocks_of(rows.events)),
    }


def _file_defects(project: Path, rows: _Rows) -> list[str]:
    found = (project / FOLDER / CHRONICLE).read_text(encoding="utf-8")
    old, kept = newest_blocks(blocks_of(rows.events))
    wanted = insert_blocks(None, kept, document=CHRONICLE)
    states = [event for event in rows.events if event.kind == STATE_KIND]
    if states:
        wanted = place_state_block(wanted, state_block_of(states[-1]).text, line_end="\n")
    archives = {
        part.path: part.title + b"".join(part.entries)
        for part in archived_parts(f"{FOLDER}/{CHRONICLE}", old)
    }
    archived = {
        f"{FOLDER}/archive/{path.name}": path.read_bytes()
        for path in (project / FOLDER).glob("archive/*")
    }
    state = json.loads((project / FOLDER / "state.json").read_text(encoding="utf-8"))
    strays = sorted(
        path.name for path in (project / FOLDER).iterdir() if path.name not in _EXPECTED_FILES
    )
    defects = {
        "the chronicle is not what a fresh one would be": found != wanted,
        "the archive is not what a fresh one would be": archived != archives,
        "conflicts": rows.conflicts,
        "stray files": strays,
        "state.json has lost its phase": state["workflow"]["phase"] != "execute",
    }

    return [f"{what}: {value}" for what, value in defects.items() if value]
