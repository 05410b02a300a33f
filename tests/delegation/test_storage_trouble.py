"""The database is away or full for a while: runners wait, keep their answers, and lose nothing."""

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from psycopg.sql import SQL, Identifier

from tests.delegation.runners import USUAL, Place, check_run, one_wave, within
from tests.postgres import Server

if sys.platform != "win32":
    import resource

TASKS = 12
AWAY = 20.0
# The lease outlasts the time that the database is away, as the usual one does.
PATIENT = replace(USUAL, seconds=0.3)
# They keep the setting that they began with.
END_SESSIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


def carry_out(place: Place, trouble: Callable[[int], None], errors: Path) -> None:
    """Carry out a graph, with `trouble` for the process of the runner when a third is done."""
    run = place.ledger.create(one_wave(TASKS, parallel=3), input={})
    runner = place.start(run, PATIENT, errors=errors)
    within(60, lambda: place.count("end") >= TASKS // 3)
    trouble(runner.pid)
    assert runner.wait(timeout=120) == 0

    check_run(place.store, run)
    assert Counter(place.states(run).values()) == {"accepted": TASKS}
    assert place.accepted_times(run) == dict.fromkeys(place.states(run), 1)
    # The answers of that time were kept: nobody was asked again.
    assert place.count("begin") == TASKS


@pytest.mark.delegation
def test_a_file_that_others_lock_for_twenty_seconds(tmp_path: Path) -> None:
    def lock(_pid: int) -> None:
        [file] = tmp_path.rglob("goop.db")
        other = apsw.Connection(str(file))
        other.set_busy_timeout(10_000)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(AWAY)
        other.execute("ROLLBACK")
        other.close()

    with Place(tmp_path, None) as place:
        carry_out(place, lock, tmp_path / "errors")


@pytest.mark.delegation
def test_a_server_that_is_gone_for_twenty_seconds(tmp_path: Path) -> None:
    with Server(durable=True) as server, server.database() as database:

        def restart(_pid: int) -> None:
            server.kill()
            time.sleep(AWAY)
            server.start_again()

        with Place(tmp_path, database.url()) as place:
            carry_out(place, restart, tmp_path / "errors")
    assert "the database does not answer" in (tmp_path / "errors").read_text()


@pytest.mark.delegation
def test_a_server_that_takes_no_changes_for_a_while(tmp_path: Path) -> None:
    """As servers that are run by others become when their disk is full."""
    errors = tmp_path / "errors"
    with Server() as server, server.database() as database:

        def refuse_changes(_pid: int) -> None:
            with database.connect() as connection:
                name = Identifier(database.name)
                only_reads = SQL("ALTER DATABASE {} SET default_transaction_read_only = on")
                connection.execute(only_reads.format(name))
                connection.execute(END_SESSIONS)
                within(60, lambda: "the database does not answer" in errors.read_text())
                time.sleep(3)
                only_reads = SQL("ALTER DATABASE {} RESET default_transaction_read_only")
                connection.execute("SET default_transaction_read_only = off")
                connection.execute(only_reads.format(name))
                connection.execute(END_SESSIONS)

        with Place(tmp_path, database.url()) as place:
            carry_out(place, refuse_changes, errors)
    assert "read-only" in errors.read_text()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Mount a file system of its own, which can be filled without harm to others."""
    # A short path: that of a socket has 107 bytes at most.
    folder = Path(tempfile.mkdtemp(prefix="goop-disk-"))
    try:
        options = f"size={megabytes}m,mode=0755"
        mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        try:
            mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
        except OSError as error:
            pytest.skip(f"no small file system can be mounted here: {error}")
        if mounted.returncode:
            pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
        try:
            yield folder
        finally:
            unmount = ["umount", "-l", str(folder)]
            subprocess.run(unmount, check=True)
    finally:
        folder.rmdir()


def fill_up(file: Path) -> None:
    """Write until there is no room for another page of the database."""
    with suppress(OSError), file.open("wb", buffering=0) as stream:
        while True:
            stream.write(bytes(4096))


@pytest.mark.delegation
def test_a_server_whose_disk_is_full_for_a_while(tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with (
        small_disk(160) as disk,
        Server(durable=True, below=disk) as server,
        server.database() as database,
    ):
        ballast = disk / "ballast"

        def fill(_pid: int) -> None:
            fill_up(ballast)
            within(60, lambda: "the database does not answer" in errors.read_text())
            time.sleep(3)
            ballast.unlink()

        with Place(tmp_path, database.url()) as place:
            carry_out(place, fill, errors)
    # What a person has to do, in the words of the server and in ours.
    assert "no space left" in errors.read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="limits the files of another process")
def test_a_disk_that_is_full_for_a_while(tmp_path: Path) -> None:
    errors = tmp_path / "errors"

    def fill(pid: int) -> None:
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        size = max(each.stat().st_size for each in tmp_path.rglob("goop.db*"))
        # No file may grow any more, as on a disk without room; the log of the agents is smaller.
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, before[1]))
        within(60, lambda: "the database does not answer" in errors.read_text())
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

    with Place(tmp_path, None) as place:
        carry_out(place, fill, errors)
