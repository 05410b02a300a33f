"""Two servers on one PostgreSQL answer requests of a client in turn, and one of them may die."""

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pydantic import JsonValue

from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.postgres import Database, Server
from tests.reliability.stdio_server import Answer, ServerGoneError, StdioServer, serve


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with Server(durable=True) as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> Iterator[Database]:
    with postgres.database() as database:
        yield database


def replica(database: Database, folder: Path) -> StdioServer:
    """Start a server as on a machine of its own: with a folder that the other one does not see."""
    folder.mkdir(exist_ok=True)
    return serve(folder, GOOP_DATABASE_URL=database.url(), GOOP_PROJECT_ID="shop")


def structure(answer: Answer) -> dict[str, JsonValue]:
    found = answer.get("structuredContent")
    assert isinstance(found, dict), answer
    return found


def save(server: StdioServer, name: str) -> dict[str, JsonValue]:
    return structure(
        server.call("save_memory", title=f"Note {name}", content=f"What was learned in {name}.")
    )


def ids_found(server: StdioServer, query: str) -> list[JsonValue]:
    items = structure(server.call("search_memory", queries=query, limit=50))["items"]
    assert isinstance(items, list)
    return [item["id"] for item in items if isinstance(item, dict)]


def number(value: JsonValue) -> int:
    assert isinstance(value, int)
    return value


def record(server: StdioServer, task: str) -> tuple[JsonValue, JsonValue]:
    """Return what became of a report, and its revision."""
    text = COMPLETE_REPLY.replace("W1.T2", task)
    answer = structure(server.call("record_report", text=text, check_workspace=False))
    written = answer["written"]
    assert isinstance(written, dict)
    return answer["status"], written["revision"]


def test_what_one_server_saves_the_other_finds_at_once(database: Database, tmp_path: Path) -> None:
    with replica(database, tmp_path / "a") as one, replica(database, tmp_path / "b") as other:
        turns = itertools.cycle([(one, other), (other, one)])
        revisions: list[int] = []
        for name, (writing, reading) in zip([f"w{n}" for n in range(10)], turns, strict=False):
            saved = save(writing, name)
            assert ids_found(reading, name) == [saved["id"]]
            assert (
                structure(reading.call("get_memory", id=saved["id"]))["revision"]
                == saved["revision"]
            )
            again = save(reading, name)
            assert (again["status"], again["id"]) == ("duplicate", saved["id"])
            revisions.append(number(saved["revision"]))

        assert revisions == sorted(set(revisions))
        first = structure(one.call("search_memory", queries="w0"))["items"]
        assert isinstance(first, list)
        assert isinstance(first[0], dict)
        assert not other.call("forget_memory", id=first[0]["id"]).get("isError")
        assert ids_found(one, "w0") == []


def test_a_report_that_is_repeated_on_the_other_server_is_recorded_once(
    database: Database, tmp_path: Path
) -> None:
    with replica(database, tmp_path / "a") as one, replica(database, tmp_path / "b") as other:
        first, revision = record(one, "W1.T2")
        assert first == "recorded"
        assert record(other, "W1.T2") == ("duplicate", revision)
        second, later = record(other, "W1.T3")
        assert second == "recorded"
        assert number(later) > number(revision)
        assert record(one, "W1.T3") == ("duplicate", later)
        for server in (one, other):
            assert not server.call("project_status").get("isError")

    # Files belong to one machine; what several machines share is in the database.
    assert [list((tmp_path / name).iterdir()) for name in ("a", "b")] == [[], []]


def test_one_server_killed_under_load_loses_nothing_and_the_client_goes_on_with_the_other(
    database: Database, tmp_path: Path
) -> None:
    saves = 60
    with replica(database, tmp_path / "a") as one, replica(database, tmp_path / "b") as other:

        def write(
            server: StdioServer, name: str, *, killed_at: int | None = None
        ) -> dict[str, JsonValue]:
            acknowledged: dict[str, JsonValue] = {}
            for each in range(saves):
                if each == killed_at:
                    # In the middle of this call or of the next one.
                    threading.Timer(0.003, server.kill).start()

                try:
                    acknowledged[f"{name}{each}"] = save(server, f"{name}{each}")["id"]
                except ServerGoneError:
                    server = other_again
                    # The same call, which may have been done already.
                    acknowledged[f"{name}{each}"] = save(server, f"{name}{each}")["id"]

            return acknowledged

        with replica(database, tmp_path / "c") as other_again, ThreadPoolExecutor(2) as pool:
            dying = pool.submit(write, one, "x", killed_at=saves // 2)
            living = pool.submit(write, other, "y")
            acknowledged = dying.result() | living.result()

        assert len(acknowledged) == len(set(map(str, acknowledged.values()))) == 2 * saves
        for name, id in acknowledged.items():
            assert structure(other.call("get_memory", id=id))["title"] == f"Note {name}"

        revisions = [
            number(structure(other.call("get_memory", id=id))["revision"])
            for id in range(1, 2 * saves + 1)
        ]
        assert revisions == sorted(set(revisions))
