"""Other processes on the same file: a hung one, a forked one, one that may not write."""

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import apsw
import pytest

from goop_mcp.errors import StoreBusyError
from goop_mcp.store.interface import Store
from goop_mcp.store.opening import open_store
from tests.repository import ROOT
from tests.store.one_save import LONGEST_HOLD
from tests.store.rows import EVENT, add_named, found

LONGEST_RUN = 300
NOBODY = "65534"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(None, project=tmp_path)
    yield opened
    opened.close()


def command(project: Path, what: str) -> list[str]:
    return [sys.executable, "-m", "tests.store.one_save", str(project), what]


def run(*arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=LONGEST_RUN,
        cwd=ROOT,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def run_as_somebody_else(project: Path, what: str) -> str:
    """Use the store as a user to whom nothing there belongs."""
    if os.getuid() != 0:
        pytest.skip("only root may become another user")
    return run(*command(project, what)[1:], NOBODY)


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """Return a project folder that every user may enter and only its owner may write."""
    project = Path(mkdtemp(prefix="goop-open-"))
    project.chmod(0o755)
    yield project
    shutil.rmtree(project)


def test_a_hung_process_that_holds_the_lock_is_named(store: Store, tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path, "hold"), stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline().strip() == "holding"
            with pytest.raises(
                StoreBusyError, match=rf"process {holder.pid} since 20\d\d-"
            ) as caught:
                store.write(lambda writing: writing.add_event(EVENT), timeout=0.3)

            assert caught.value.retryable
            assert store.read(lambda reading: reading.revision()) == 0
        finally:
            holder.kill()

    # The kernel releases the lock of a dead process, and the write that was given up never happens.
    assert add_named(store, "one") == [1]
    assert store.read(lambda reading: reading.events()) == []


def test_a_program_that_ignores_the_lock_is_waited_for_and_reported(
    store: Store, tmp_path: Path
) -> None:
    add_named(store, "one")
    other = apsw.Connection(str(tmp_path / ".goopspec" / "goop.db"))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError, match="does not wait for other writers"):
        store.write(lambda writing: writing.add_event(EVENT), timeout=0.2)

    assert store.read(lambda reading: reading.revision()) == 1
    other.close()
    assert add_named(store, "two") == [2]


def test_a_forked_child_writes_and_reads_and_leaves_its_parent_alone(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from goop_mcp.store.opening import open_store;"
        " from tests.store.rows import add_named, found\nstore = open_store(None,"
        " project=Path(sys.argv[1]))\nadd_named(store, 'before'); found(store, 'before')\npid ="
        " os.fork()\nif pid == 0:\n    add_named(store, 'child'); ok = found(store, 'before') =="
        " [1]; store.close(); os._exit(0 if ok else 1)\nassert os.waitpid(pid, 0)[1] =="
        " 0\nadd_named(store, 'parent'); assert len(found(store, 'before child parent')) =="
        " 3\nassert store.check() == []; store.close()"
    )
    run("-c", code, str(tmp_path))


def test_a_folder_that_may_not_be_written_is_reported_by_a_relative_name(open_to_all: Path) -> None:
    printed = run_as_somebody_else(open_to_all, "save")
    assert printed.startswith("StoreReadOnlyError: .goopspec/goop.db is not writable")
    assert str(open_to_all) not in printed
    assert list(open_to_all.iterdir()) == []


def test_a_database_that_may_not_be_written_is_reported_and_left_as_it_is(
    open_to_all: Path,
) -> None:
    store = open_store(None, project=open_to_all)
    add_named(store, "one")
    store.close()
    before = {path.name: path.read_bytes() for path in (open_to_all / ".goopspec").iterdir()}

    for what in ("save", "read"):
        printed = run_as_somebody_else(open_to_all, what)
        assert printed.startswith("StoreReadOnlyError: .goopspec/"), printed
        assert "give this user write permission" in printed
        assert str(open_to_all) not in printed

    assert {
        path.name: path.read_bytes() for path in (open_to_all / ".goopspec").iterdir()
    } == before


def test_a_read_only_file_in_a_writable_folder_is_reported(open_to_all: Path) -> None:
    store = open_store(None, project=open_to_all)
    add_named(store, "one")
    store.close()
    folder = open_to_all / ".goopspec"
    for path in (open_to_all, folder):
        path.chmod(0o777)

    (folder / ".lock").chmod(0o666)
    (folder / "goop.db").chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
    assert run_as_somebody_else(open_to_all, "save").startswith(
        "StoreReadOnlyError: .goopspec/goop.db"
    )


def test_a_store_is_closed_at_once_while_a_hung_process_holds_the_lock(
    store: Store, tmp_path: Path
) -> None:
    with subprocess.Popen(
        command(tmp_path, "hold"), stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline().strip() == "holding"
            with pytest.raises(StoreBusyError):
                store.write(lambda writing: writing.add_event(EVENT), timeout=0.1)

            began = time.monotonic()
            store.close()
            assert time.monotonic() - began < LONGEST_HOLD / 2
        finally:
            holder.kill()


def test_readers_keep_reading_while_another_process_holds_the_lock(
    store: Store, tmp_path: Path
) -> None:
    add_named(store, "one")
    with subprocess.Popen(
        command(tmp_path, "hold"), stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline().strip() == "holding"
            assert found(store, "one") == [1]
        finally:
            holder.kill()
