"""Errors of the folder, the rows and the arguments are reported to clients; the server goes on."""

import fcntl
import os
import string
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw
import pytest
from pydantic import JsonValue

from tests.postgres import Server
from tests.reliability.stdio_server import Answer, StdioServer, serve, text_of
from tests.store.fault_injection.small_disk import can_mount

LONG: Final = 60.0
CALLS: Final[dict[str, dict[str, JsonValue]]] = {
    "save_memory": {"title": "Sessions live in Redis", "content": "They are kept for an hour."},
    "search_memory": {"queries": ["sessions", "redis"]},
    "get_memory": {"id": 1},
    "forget_memory": {"id": 1},
}
_DISK = 'mount -t tmpfs -o size=1500k none "$1" && shift && exec "$@"'
_READ_ONLY_DISK = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


def call(server: StdioServer, tool: str) -> Answer:
    return server.call(tool, **CALLS[tool])


def refusal(project: Path, answer: Answer) -> str:
    """Return the text of an error, which reveals nothing of this machine."""
    assert answer.get("isError"), answer
    text = text_of(answer)
    assert "Traceback" not in text
    assert "incident" not in text
    assert str(project) not in text
    assert str(Path.home()) not in text

    return text


def still_answers(server: StdioServer) -> None:
    assert not server.call("explain_rule", rule="xml/unescaped").get("isError")


def saved(server: StdioServer, title: str = "Sessions live in Redis") -> int:
    answer = server.call("save_memory", title=title, content=f"{title}: they are kept for an hour.")
    structure = answer.get("structuredContent")
    assert isinstance(structure, dict), answer
    assert structure["status"] == "saved"
    assert isinstance(structure["id"], int)
    return structure["id"]


def ids_found(server: StdioServer, query: JsonValue) -> list[JsonValue]:
    structure = server.call("search_memory", queries=query, limit=50).get("structuredContent")
    assert isinstance(structure, dict)
    assert isinstance(structure["items"], list)
    return [item["id"] for item in structure["items"] if isinstance(item, dict)]


def test_a_file_that_is_no_database_is_named_left_alone_and_may_be_moved_away(
    tmp_path: Path,
) -> None:
    database = tmp_path / ".goopspec" / "goop.db"
    database.parent.mkdir()
    database.write_bytes(b"What is this?\n" * 1000)

    with serve(tmp_path) as server:
        for tool in CALLS:
            text = refusal(tmp_path, call(server, tool))
            assert ".goopspec/goop.db is not a database; it was not changed: restore a copy" in text

        still_answers(server)
        assert database.read_bytes() == b"What is this?\n" * 1000
        database.rename(tmp_path / "aside")
        assert ids_found(server, "sessions") == []
        assert saved(server) == 1


def test_a_damaged_database_is_named_and_not_repaired_by_guessing(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        for number in range(30):
            saved(server, f"Note {number}")

    database = tmp_path / ".goopspec" / "goop.db"
    with apsw.Connection(str(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    connection.close()
    damaged = bytearray(database.read_bytes())
    damaged[4096:] = b"\xa5" * (len(damaged) - 4096)
    database.write_bytes(damaged)

    with serve(tmp_path) as server:
        for tool in CALLS:
            assert "is damaged; it was not changed: restore a copy" in refusal(
                tmp_path, call(server, tool)
            )

        still_answers(server)

    assert database.read_bytes() == damaged


def test_a_database_of_a_newer_program_is_refused_with_both_versions(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        saved(server)

    with apsw.Connection(str(tmp_path / ".goopspec" / "goop.db")) as connection:
        connection.execute("PRAGMA user_version = 99")

    connection.close()

    with serve(tmp_path) as server:
        for tool in CALLS:
            text = refusal(tmp_path, call(server, tool))
            assert "has version 99 of the tables" in text
            assert "install the newest goop-mcp" in text

        still_answers(server)


def test_a_link_in_place_of_the_database_is_not_followed(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere.db"
    (project / ".goopspec").mkdir(parents=True)
    (project / ".goopspec" / "goop.db").symlink_to(elsewhere)

    with serve(project) as server:
        for tool in CALLS:
            text = refusal(project, call(server, tool))
            assert "is a symbolic link, which is not followed; put the file itself there" in text

        elsewhere.write_bytes(b"")
        assert "symbolic link" in refusal(project, call(server, "save_memory"))
        still_answers(server)

    assert elsewhere.read_bytes() == b""


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk")
def test_in_a_folder_that_must_not_be_written_reading_finds_nothing_and_saving_says_so(
    tmp_path: Path,
) -> None:
    with serve(
        tmp_path, within=["unshare", "-rm", "sh", "-c", _READ_ONLY_DISK, "sh", str(tmp_path)]
    ) as server:
        assert ids_found(server, "sessions") == []
        text = refusal(tmp_path, call(server, "save_memory"))
        assert "is not writable; give this user write permission" in text
        still_answers(server)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk")
def test_a_database_in_a_folder_that_must_not_be_written_is_named(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        saved(server)

    for name in ("goop.db-wal", "goop.db-shm"):
        (tmp_path / ".goopspec" / name).unlink(missing_ok=True)

    with serve(
        tmp_path, within=["unshare", "-rm", "sh", "-c", _READ_ONLY_DISK, "sh", str(tmp_path)]
    ) as server:
        for tool in CALLS:
            assert "give this user write permission" in refusal(tmp_path, call(server, tool))

        still_answers(server)


@pytest.mark.skipif(not can_mount(), reason="this user may not mount a disk")
@pytest.mark.parametrize("room", [0, 120, 400])
def test_a_full_disk_is_reported_and_all_goes_on_when_there_is_room(
    tmp_path: Path, room: int
) -> None:
    with serve(
        tmp_path, within=["unshare", "-rm", "sh", "-c", _DISK, "sh", str(tmp_path)]
    ) as server:
        # The disk of the server, which only it has mounted.
        disk = Path(f"/proc/{server.pid}/root{tmp_path}")
        free = os.statvfs(disk)
        (disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - room * 1024))
        acknowledged: list[int] = []

        while not (
            answer := server.call(
                "save_memory",
                title=f"Note {len(acknowledged)}",
                content="word " * 900 + str(len(acknowledged)),
            )
        ).get("isError"):
            structure = answer["structuredContent"]
            assert isinstance(structure, dict)
            assert isinstance(structure["id"], int)
            acknowledged.append(structure["id"])
            assert len(acknowledged) < 1000

        assert "no space is left" in (text := refusal(tmp_path, answer))
        assert "free some disk space and try again" in text
        still_answers(server)
        (disk / "ballast").unlink()
        assert saved(server) == len(acknowledged) + 1
        for id in acknowledged:
            assert not server.call("get_memory", id=id).get("isError")


@contextmanager
def hung_writer(project: Path) -> Iterator[None]:
    """Hold the lock of writers, as a process does that was stopped in the middle of a change."""
    with (project / ".goopspec" / ".lock").open("r+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid()} 2026-01-15T10:30:00+00:00".ljust(47).encode() + b"\n")
        lock.flush()
        yield


def test_a_caller_that_waits_for_a_hung_writer_receives_its_process_while_reading_goes_on(
    tmp_path: Path,
) -> None:
    with serve(tmp_path, program="tests.reliability.impatient") as server:
        first = saved(server)
        with hung_writer(tmp_path):
            began = time.monotonic()
            calls: list[dict[str, JsonValue]] = [
                {"title": f"Note {n}", "content": f"Waits, {n}."} for n in range(5)
            ]
            answers = server.call_together("save_memory", calls)
            assert time.monotonic() - began < LONG / 2

            for answer in answers:
                assert f"process {os.getpid()} since 2026-01-15T10:30:00+00:00" in refusal(
                    tmp_path, answer
                )

            assert ids_found(server, "sessions") == [first]
            still_answers(server)

        # What was refused is not stored without the caller's knowledge.
        assert saved(server, "Another") == first + 1
        assert ids_found(server, "waits") == []


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    """Start a server for questions that change nothing."""
    with serve(tmp_path_factory.mktemp("project")) as server:
        yield server


@pytest.mark.parametrize(
    "uri",
    [
        "goop://templates/../../pyproject.toml",
        "goop://templates/..%2f..%2fpyproject.toml",
        "goop://schemas/../../../etc/passwd",
        "goop://docs/..",
        "goop://rules/../x",
        "file:///etc/passwd",
    ],
)
def test_names_that_lead_out_of_the_project_are_refused(one_server: StdioServer, uri: str) -> None:
    answer = one_server.request("resources/read", {"uri": uri})
    assert answer.get("isError"), answer
    assert "root:" not in str(answer)
    assert "Traceback" not in str(answer)
    still_answers(one_server)


def test_paths_in_a_memory_are_text_and_in_a_handoff_they_are_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    handoff: dict[str, JsonValue] = {
        "kind": "agent_request",
        "write": True,
        "original_intent": "Keep sessions.",
        "current_task_summary": "Keep sessions in the cache.",
        "task_details": "Write it down.",
        "deliverables": [{"kind": "file", "path": "notes.md"}],
    }

    with serve(project) as server:
        answer = server.call(
            "save_memory", title="Paths", content="x", source_files=["../../etc/passwd", "C:\\x"]
        )
        assert not answer.get("isError")
        refusal(project, server.call("build_handoff", **handoff, session_id="../../outside"))
        outside: JsonValue = [{"kind": "file", "path": "../outside.md"}]
        refusal(project, server.call("build_handoff", **{**handoff, "deliverables": outside}))
        still_answers(server)

    assert [path.name for path in tmp_path.iterdir()] == ["project"]


ODD_QUERIES: Final = (
    *string.punctuation,
    "' OR 1=1 --",
    '"',
    '""',
    "'''",
    "NEAR(sessions redis)",
    "AND OR NOT",
    "sessions NOT",
    "* ^ :",
    "title:sessions",
    "{title content}:x",
    "%_\\",
    "",
    "   ",
    "\u0000",
    "\ud83d\ude00",
    "(" * 1000,
)


def test_any_question_is_answered_and_a_stored_word_stays_findable(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        wanted = saved(server)
        for odd in ODD_QUERIES:
            answer = server.call("search_memory", queries=odd)
            if answer.get("isError"):
                refusal(tmp_path, answer)
            if "\0" not in odd and len(odd) < 500:
                assert wanted in ids_found(server, f"{odd} redis {odd}"), odd

        structure = server.call("search_memory", queries=string.punctuation)["structuredContent"]
        assert isinstance(structure, dict)
        assert structure["items"] == []
        assert structure["notes"]


def test_what_is_too_long_or_holds_nul_is_refused_or_cut_with_a_word_about_it(
    tmp_path: Path,
) -> None:
    huge = "redis " * 17_000
    with serve(tmp_path) as server:
        wanted = saved(server)
        for query in (huge, "redis\0sessions", "redis " + "\0" * 100_000):
            answer = server.call("search_memory", queries=query)
            if answer.get("isError"):
                refusal(tmp_path, answer)
            else:
                assert ids_found(server, query) == [wanted]

        for title, content in (
            ("x" * 100_000, "y"),
            ("x", huge),
            ("x\0", "y"),
            ("x", "y\0"),
            ("", "y"),
            ("x", " "),
        ):
            refusal(tmp_path, server.call("save_memory", title=title, content=content))

        assert saved(server, "Next") == wanted + 1


def test_postgresql_that_goes_away_is_a_retryable_error_and_all_goes_on_when_it_is_back(
    tmp_path: Path,
) -> None:
    with Server(durable=True) as postgres, postgres.database() as database:
        url = database.url(password="hunter2")  # noqa: S106 - any will do
        with serve(tmp_path, GOOP_DATABASE_URL=url, GOOP_PROJECT_ID="shop") as server:
            first = saved(server)
            postgres.kill()
            for tool in CALLS:
                text = refusal(tmp_path, call(server, tool))
                assert "hunter2" not in text
                assert "again" in text

            still_answers(server)
            postgres.start_again()
            second = saved(server, "Another")
            assert second > first
            assert sorted(map(str, ids_found(server, "kept for an hour"))) == [
                str(first),
                str(second),
            ]

    assert list(tmp_path.iterdir()) == []
