"""Kill one of two replicas while clients save through both; nothing acknowledged may be lost."""

import itertools
import json
import ssl
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2
from pydantic import JsonValue

from tests.postgres import Database
from tests.server.http.serving import PATIENCE, Served, served

__all__ = ["ReplicaReport", "kill_replicas", "replica"]

_VERSIONS: Final = ("2026-07-28", "2025-11-25")
_TOKEN: Final = "token-of-all-replicas"  # noqa: S105 - of the tests
_STATE_KEY: Final = "of-all-replicas-32-bytes-or-more"
_TRIES: Final = 50
_TLS: Final = ssl.create_default_context()


@dataclass(slots=True)
class ReplicaReport:
    """Acknowledged titles by id, how often a save was sent again, and the defects found."""

    kills: int = 0
    acknowledged: dict[int, str] = field(default_factory=dict)
    repeated: int = 0
    defects: list[str] = field(default_factory=list)


@contextmanager
def replica(database: Database, folder: Path) -> Iterator[Served]:
    """Start a server as on a machine of its own."""
    folder.mkdir(exist_ok=True)
    with served(
        *("--transport", "streamable-http", "--rate-limit", "0"),
        project=folder,
        GOOP_DATABASE_URL=database.url(),
        GOOP_PROJECT_ID="shop",
        GOOP_TOKEN=_TOKEN,
        GOOP_STATE_KEYS=_STATE_KEY,
    ) as server:
        yield server


def kill_replicas(
    database: Database, folder: Path, *, rounds: int, clients: int, saves: int
) -> ReplicaReport:
    """Let `clients` make `saves` each; in each round kill a replica after a third of them."""
    report = ReplicaReport()
    for number in range(rounds):
        with ExitStack() as stack:
            pair = [
                stack.enter_context(replica(database, folder / f"{number}-{n}")) for n in range(2)
            ]
            load = _Load(report, [server.mcp for server in pair], prefix=f"round {number}")
            with ThreadPoolExecutor(clients + 1) as pool:
                done = [pool.submit(load.save, each, saves) for each in range(clients)]
                load.wait_for(clients * saves // 3)
                pair[number % 2].process.kill()
                report.kills += 1
                for each in done:
                    each.result(timeout=10 * PATIENCE)

            load.check(pair[1 - number % 2].mcp)

    return report


class _Load:
    """Saves of one round, by any number of threads."""

    def __init__(self, report: ReplicaReport, addresses: Sequence[str], *, prefix: str) -> None:
        self._report, self._addresses, self._prefix = report, addresses, prefix
        self._changed = threading.Condition()
        self._acknowledged: dict[int, str] = {}

    def save(self, client: int, saves: int) -> None:
        """Save one after the other, each at the next replica; send it again when no answer came."""
        version = _VERSIONS[client % len(_VERSIONS)]
        turns = itertools.cycle([*self._addresses[client % 2 :], *self._addresses[: client % 2]])
        with httpx2.Client(timeout=PATIENCE, verify=_TLS) as http:
            for number in range(saves):
                title = f"{self._prefix} client {client} save {number}"
                answer = self._saved(http, turns, title, version=version)
                self._note(answer["id"], title)

    def wait_for(self, count: int) -> None:
        """Wait until `count` saves are acknowledged."""
        with self._changed:
            reached = self._changed.wait_for(
                lambda: len(self._acknowledged) >= count, timeout=10 * PATIENCE
            )

        if not reached:
            self._report.defects.append(
                f"{self._prefix}: {len(self._acknowledged)} of {count} saves before the kill"
            )

    def check(self, address: str) -> None:
        """Look for everything acknowledged at one replica."""
        with httpx2.Client(timeout=PATIENCE, verify=_TLS) as http:
            for id, title in self._acknowledged.items():
                found = _call(http, address, "get_memory", {"id": id}, version=_VERSIONS[0])
                if found.get("title") != title:
                    self._report.defects.append(
                        f"memory {id} is {found.get('title')!r}; acknowledged was {title!r}"
                    )

    def _saved(
        self, http: httpx2.Client, turns: Iterator[str], title: str, *, version: str
    ) -> dict[str, JsonValue]:
        arguments: dict[str, JsonValue] = {
            "title": title,
            "content": f"What {title} learned.",
            "idempotency_key": title,
        }
        for _ in range(_TRIES):
            try:
                return _call(http, next(turns), "save_memory", arguments, version=version)
            except httpx2.TransportError:
                self._report.repeated += 1

        raise TimeoutError(f"{title} was not saved in {_TRIES} tries")

    def _note(self, id: JsonValue, title: str) -> None:
        assert isinstance(id, int)
        with self._changed:
            if id in self._report.acknowledged:
                self._report.defects.append(
                    f"{title} got the id {id} of {self._report.acknowledged[id]}"
                )

            self._acknowledged[id] = self._report.acknowledged[id] = title
            self._changed.notify_all()


def _call(
    http: httpx2.Client, address: str, tool: str, arguments: dict[str, JsonValue], *, version: str
) -> dict[str, JsonValue]:
    """Call a tool without a session and return its structured answer.

    Raises TransportError where none comes.
    """
    params: dict[str, JsonValue] = {"name": tool, "arguments": arguments}
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {_TOKEN}"}
    headers["MCP-Protocol-Version"] = version
    if version == _VERSIONS[0]:
        capabilities = "io.modelcontextprotocol/clientCapabilities"
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": version, capabilities: {}}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}

    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = http.post(address, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = next(
            (
                line.removeprefix("data: ")
                for line in text.splitlines()
                if line.startswith("data: {")
            ),
            "",
        )
        if not text:
            raise httpx2.ReadError("the stream ended without an answer")

    result = json.loads(text)["result"]
    assert not result.get("isError"), result
    structured: dict[str, JsonValue] = result["structuredContent"]

    return structured
