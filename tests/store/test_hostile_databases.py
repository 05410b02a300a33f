"""A database from somebody else's checkout neither runs code nor blocks a process."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from goop_mcp.errors import StoreCorruptError, StoreError
from goop_mcp.store.migrations import load_migrations
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import MemoryFilter
from goop_mcp.store.sqlite import DatabaseFile
from tests.cli.running import PROGRAM, environment, run
from tests.store.hostile_databases import FOREIGN_OBJECTS, FOREIGN_VALUES, plant
from tests.store.rows import add_named, found

SECONDS = 120
DIFFERS = r"goop\.db does not declare its tables as goop-mcp does"
MEGABYTE = 1024 * 1024
ENDLESS = (
    "WITH RECURSIVE rows (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM rows) SELECT max(x) FROM rows"
)


@pytest.mark.parametrize("kind", FOREIGN_OBJECTS)
def test_a_file_that_declares_something_else_is_refused_and_left_as_it_is(
    tmp_path: Path, kind: str
) -> None:
    path = plant(tmp_path, *FOREIGN_OBJECTS[kind])
    before = path.read_bytes()

    store = open_store(None, project=tmp_path)
    with pytest.raises(StoreCorruptError, match=rf"^\.goopspec/{DIFFERS}"):
        found(store, "one")

    with pytest.raises(StoreCorruptError, match=rf"^\.goopspec/{DIFFERS}"):
        add_named(store, "two")

    store.close()

    assert path.read_bytes() == before


@pytest.mark.parametrize("kind", FOREIGN_VALUES)
def test_a_value_that_no_row_of_ours_holds_is_refused(tmp_path: Path, kind: str) -> None:
    plant(tmp_path, *FOREIGN_VALUES[kind])

    store = open_store(None, project=tmp_path)
    with pytest.raises(StoreCorruptError, match=r"(holds a value|is longer than)"):
        store.read(lambda reading: (reading.memories(MemoryFilter()), reading.reports()))

    store.close()


@pytest.mark.parametrize("kind", FOREIGN_VALUES)
def test_the_doctor_looks_at_any_value_without_failing(tmp_path: Path, kind: str) -> None:
    plant(tmp_path, *FOREIGN_VALUES[kind])

    doctor = run_bounded("doctor", project=tmp_path)

    assert doctor.stderr == ""
    assert "database: .goopspec/goop.db is" in doctor.stdout


def test_the_tables_of_backup_programs_and_statistics_of_sqlite_are_let_be(tmp_path: Path) -> None:
    plant(tmp_path, "CREATE TABLE _backup_seq (id INTEGER PRIMARY KEY, seq INTEGER)", "ANALYZE")

    store = open_store(None, project=tmp_path)
    assert found(store, "one") == [1]
    assert add_named(store, "two") == [2]
    store.close()


def test_a_question_without_end_is_ended(tmp_path: Path) -> None:
    file = DatabaseFile(
        path=plant(tmp_path), name="goop.db", migrations=load_migrations("sqlite"), seconds=0.2
    )
    connection = file.open_reader()
    began = time.process_time()

    with (
        pytest.raises(StoreError, match="took too long"),
        file.translating(connection),
        file.bounded(connection),
    ):
        connection.execute(ENDLESS).fetchall()

    assert time.process_time() - began < 30
    assert connection.execute("SELECT count(*) FROM memories").get == 1
    connection.close()


@pytest.mark.parametrize("kind", ["a report that is no JSON", "a report that is a list"])
def test_the_status_warns_of_reports_that_nobody_of_ours_wrote(tmp_path: Path, kind: str) -> None:
    plant(tmp_path, *FOREIGN_VALUES[kind])

    status = run_bounded("status", project=tmp_path)

    assert (status.returncode, status.stderr) == (0, "")
    assert ".goopspec/goop.db holds a value that goop-mcp does not write" in status.stdout


@pytest.mark.parametrize("kind", [*FOREIGN_OBJECTS, "a title of 60 MB"])
def test_the_command_line_says_what_is_wrong_within_its_time_and_memory(
    tmp_path: Path, kind: str
) -> None:
    plant(tmp_path, *{**FOREIGN_OBJECTS, **FOREIGN_VALUES}[kind])

    status = run_bounded("status", project=tmp_path)
    memories = run_bounded("memory", "list", project=tmp_path)

    assert status.returncode == 0
    if kind in FOREIGN_OBJECTS:
        assert ".goopspec/goop.db does not declare" in status.stdout

    assert (memories.returncode, memories.stdout) == (2, "")
    assert memories.stderr.startswith("goop-mcp: ")
    assert "move the file away" in memories.stderr


@pytest.mark.parametrize("kind", ["a view in place of a table", "a title of 60 MB"])
def test_the_server_answers_with_what_is_wrong(tmp_path: Path, kind: str) -> None:
    plant(tmp_path, *{**FOREIGN_OBJECTS, **FOREIGN_VALUES}[kind])
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    search = {"name": "search_memory", "arguments": {"queries": ["one"]}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": search},
    ]

    sent = "".join(json.dumps(message) + "\n" for message in messages).encode()
    ended = run("serve", stdin=sent, cwd=tmp_path)

    answers = [json.loads(line) for line in ended.out.splitlines()]
    (answer,) = [each for each in answers if each.get("id") == 2]
    assert ended.code == 0
    assert answer["result"]["isError"]
    assert "move the file away" in answer["result"]["content"][0]["text"]


def run_bounded(*arguments: str, project: Path) -> "subprocess.CompletedProcess[str]":
    """Run the program with less processor time and memory than an endless query would take."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (1024 * MEGABYTE, 1024 * MEGABYTE))

    return subprocess.run(
        [sys.executable, *PROGRAM[1:], *arguments],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bound,
        timeout=10 * SECONDS,
    )
