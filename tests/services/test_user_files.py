"""Inputs are read up to a limit, and nobody waits for the other end of a pipe for ever."""

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

from goop_mcp.errors import UnreadableFileError, UnwritableFileError
from goop_mcp.services.gate import SessionLogError, append_to_log
from goop_mcp.services.user_files import read_bytes, read_text, write_file
from tests.cli.running import ACCEPTED, PROGRAM, run, run_command, run_in_shell

AN_INSTANT, LONG = 0.05, 60.0
NOTE = "goop-mcp: note: not verified: 7 of 7 claims; --workspace verifies them.\n"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Make a pipe with a name."""
    path = tmp_path / "reply.pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_without_a_writer_differs_from_one_with_a_slow_writer(
    pipe: Path,
) -> None:
    with pytest.raises(TimeoutError, match="a pipe that nobody writes to"):
        read_bytes(str(pipe), most=100, patience=AN_INSTANT)


def test_a_writer_may_be_silent_for_longer_than_one_is_waited_for(pipe: Path) -> None:
    read: list[bytes] = []
    late = b"late, and whole"
    reader = Thread(
        target=lambda: read.append(read_bytes(str(pipe), most=len(late), patience=AN_INSTANT))
    )
    end = os.open(pipe, os.O_RDWR)
    reader.start()
    reader.join(10 * AN_INSTANT)
    assert reader.is_alive()

    os.write(end, late)
    reader.join(LONG)
    os.close(end)

    assert read == [late]


def test_a_writer_that_comes_later_is_waited_for(pipe: Path) -> None:
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(read_bytes(str(pipe), most=100, patience=LONG)))
    reader.start()
    pipe.write_bytes(b"here it is")
    reader.join(LONG)

    assert read == [b"here it is"]


def test_no_more_is_read_from_a_pipe_than_from_a_file(pipe: Path) -> None:
    def write_without_end() -> None:
        with pipe.open("wb", buffering=0) as end, suppress(BrokenPipeError):
            while True:
                end.write(b"x" * 1000)

    endless = Thread(target=write_without_end)
    endless.start()

    with pytest.raises(
        UnreadableFileError, match="has more than 5,000 bytes, the most that is read; cut it"
    ):
        read_text(str(pipe), stdin=None, most_bytes=5_000, advice="cut it")

    endless.join(LONG)

    assert not endless.is_alive()


def test_a_pipe_without_a_writer_is_refused_and_the_other_files_are_judged(pipe: Path) -> None:
    ended = run("check", "reply.pipe", ACCEPTED, cwd=pipe.parent)

    assert ended.code == 2
    assert ended.out.endswith("2 files: 1 accepted, 1 not read\n")
    assert (
        ended.err
        == f"{NOTE}goop-mcp: 'reply.pipe' is a pipe that nobody writes to; start what writes to it"
        " first, or name a file.\n"
    )


@pytest.mark.skipif(shutil.which("bash") is None, reason="the shell here has no <(command)")
@pytest.mark.parametrize(("command", "code"), [(f"cat '{ACCEPTED}'", 0), ("true", 1)])
def test_what_a_command_writes_is_judged_by_process_substitution(command: str, code: int) -> None:
    ended = run_command(["bash", "-c", f'"$@" check <({command})', "bash", *PROGRAM])

    assert (ended.code, ended.err) == (code, "" if code else NOTE)


def test_a_pipe_on_standard_input_may_be_named_as_a_file() -> None:
    assert run_in_shell(f"cat '{ACCEPTED}' | \"$@\" check /dev/fd/0").code == 0


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, force: bool) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_file(str(pipe), ["one\n", "two\n"], force=force)

    assert os.read(reader, 100) == b"one\ntwo\n"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert list(tmp_path.iterdir()) == [pipe]


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_that_nobody_reads_from_is_not_waited_for_for_ever(pipe: Path, force: bool) -> None:
    with pytest.raises(
        UnwritableFileError,
        match=r"reply\.pipe' cannot be written \(a pipe that nobody reads from\); start what reads",
    ):
        write_file(str(pipe), ["one"], force=force, patience=AN_INSTANT)

    assert pipe.is_fifo()
    assert list(pipe.parent.iterdir()) == [pipe]


def test_a_reader_may_come_late_and_read_slowly(pipe: Path) -> None:
    # More than a pipe holds, so that the writer has to wait for the reader once more.
    document = ["line\n"] * 100_000
    writer = Thread(target=lambda: write_file(str(pipe), document, force=False, patience=LONG))
    writer.start()
    writer.join(AN_INSTANT)
    assert writer.is_alive()

    with pipe.open(encoding="utf-8") as reader:
        first = reader.readline()
        writer.join(AN_INSTANT)
        assert [first, *reader] == document

    writer.join(LONG)
    assert not writer.is_alive()


def test_a_reader_that_leaves_is_reported(pipe: Path) -> None:
    raised: list[UnwritableFileError] = []

    def write() -> None:
        try:
            write_file(str(pipe), ["line\n"] * 100_000, force=False, patience=LONG)
        except UnwritableFileError as error:
            raised.append(error)

    writer = Thread(target=write)
    writer.start()
    with pipe.open("rb") as reader:
        reader.read(1)
    writer.join(LONG)

    assert "cannot be written (broken pipe)" in str(raised[0])


def test_the_log_of_the_gate_may_be_a_pipe_that_somebody_reads(pipe: Path) -> None:
    with pytest.raises(SessionLogError, match="a pipe that nobody reads from"):
        append_to_log(str(pipe), ["started"], patience=AN_INSTANT)

    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    append_to_log(str(pipe), ["started"])
    assert os.read(reader, 100) == b"started\n"
    os.close(reader)
