"""`goop-mcp ui` ends with its terminal, however it was started there, and loses nothing."""

import http.client
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import apsw
import pytest

from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.saving import save_memory
from goop_mcp.store.opening import open_store
from tests.server.http.serving import PATIENCE, environment

UI = [sys.executable, "-m", "goop_mcp", "ui", "--no-open", "--port", "0"]
TAKES = "import os, fcntl, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
TAKING = [sys.executable, "-c", f"{TAKES}; os.execvp(sys.argv[1], sys.argv[1:])"]
ADDRESS = re.compile(rb"http://127\.0\.0\.1:(\d+)(/login/\S+)")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such terminals")


@dataclass
class OnTerminal:
    """A command on a terminal: the process that was started, and what it printed."""

    process: subprocess.Popen[bytes]
    terminal: int
    alive: int
    port: int
    login: str

    def close(self) -> None:
        """Close the terminal, as its window is closed."""
        os.close(self.terminal)
        self.terminal = -1

    def wait(self) -> None:
        """Wait until every process that the command has started has ended."""
        ready, _, _ = select.select([self.alive], [], [], PATIENCE)
        assert ready, "something still runs"
        assert os.read(self.alive, 1) == b""

    def wait_until_closed(self) -> None:
        """Wait until the port accepts no connection."""
        while True:
            try:
                self.ask("/")
            except OSError:
                return

    def ask(self, path: str, *, body: str | None = None, cookie: str = "") -> tuple[int, str, str]:
        """Return status, text and cookie of an answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)) as to:
            headers = {"Cookie": cookie} if cookie else {}
            if body is not None:
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            to.request("GET" if body is None else "POST", path, body, headers)
            answer = to.getresponse()
            kept = (answer.headers["Set-Cookie"] or "").partition(";")[0]
            return answer.status, answer.read().decode(), kept


@contextmanager
def on_terminal(
    command: Sequence[str], folder: Path, *, controls: bool = True, prints_to_pipe: bool = False
) -> Iterator[OnTerminal]:
    """Run `command` on a terminal until `goop-mcp ui` has printed its address.

    `controls`: it is the controlling terminal of the command, which the system then signals.
    """
    ours, theirs = pty.openpty()
    printed_to, pipe = os.pipe()
    # Whoever inherits this end holds it until its process ends.
    alive, held = os.pipe()
    process = subprocess.Popen(
        [*(TAKING if controls else ()), *command],
        cwd=folder,
        env=environment(),
        stdin=theirs,
        stdout=pipe if prints_to_pipe else theirs,
        stderr=theirs,
        start_new_session=True,
        pass_fds=[held],
    )
    for each in (theirs, pipe, held):
        os.close(each)
    printed, reading = b"", printed_to if prints_to_pipe else ours
    while (found := ADDRESS.search(printed)) is None:
        assert select.select([reading], [], [], PATIENCE)[0], printed
        printed += os.read(reading, 4_096)

    started = OnTerminal(process, ours, alive, int(found[1]), found[2].decode())
    try:
        yield started
    finally:
        if started.terminal != -1:
            started.close()
        process.kill()
        process.wait()
        for each in (alive, printed_to):
            os.close(each)


@pytest.fixture(autouse=True)
def signal_of_a_terminal() -> Iterator[None]:
    """Let the signal of a closed terminal end programs, also where `nohup` started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def shell(text: str) -> list[str]:
    return ["sh", "-c", text.replace("UI", shlex.join(UI))]


STARTS = {
    "at the prompt": UI,
    "in a script": shell("UI; exit"),
    "in the background of a script": shell("UI & wait"),
    "in the background of a shell": shell("set -m; UI & wait"),
    "in a session of its own": shell("setsid UI & wait"),
}


@pytest.mark.parametrize("start", STARTS)
def test_it_ends_when_its_terminal_closes(tmp_path: Path, start: str) -> None:
    with on_terminal(STARTS[start], tmp_path) as started:
        assert started.ask("/")[0] == 401
        started.close()
        started.wait()


def test_it_ends_when_its_terminal_closes_without_a_signal(tmp_path: Path) -> None:
    with on_terminal(UI, tmp_path, controls=False) as started:
        started.close()
        started.wait()
        # As by the signal that the system did not send.
        assert started.process.wait(timeout=PATIENCE) == -signal.SIGHUP


def test_nohup_and_no_terminal_at_all_keep_it(tmp_path: Path) -> None:
    with on_terminal(["nohup", *UI], tmp_path, prints_to_pipe=True) as started:
        started.close()
        os.kill(started.process.pid, signal.SIGHUP)
        assert started.ask("/")[0] == 401
        # It may have been started by an agent.
        assert "read-only" in _first_page(started)
        started.process.terminate()
        assert started.process.wait(timeout=PATIENCE) == -signal.SIGTERM


def _first_page(started: OnTerminal) -> str:
    _, page, cookie = started.ask(started.login)
    return started.ask(f"{_root_of(page)}/", cookie=cookie)[1]


def _root_of(page: str) -> str:
    found = re.search(r'data-root="([^"]+)"', page)
    assert found is not None
    return found[1]


@contextmanager
def held_database(folder: Path) -> Iterator[Callable[[], None]]:
    """Let no other process write to the database until the yielded function is called."""
    connection = apsw.Connection(str(folder / ".goopspec" / "goop.db"))
    connection.execute("BEGIN IMMEDIATE")

    def release() -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    try:
        yield release
    finally:
        release()
        connection.close()


def test_what_is_being_written_is_written_and_answered(tmp_path: Path) -> None:
    (tmp_path / ".goopspec").mkdir()
    with closing(open_store(None, project=tmp_path)) as store:
        save_memory(store, MemoryDraft(title="A title", content="Something."))

    with on_terminal(UI, tmp_path) as started:
        _, page, cookie = started.ask(started.login)
        root = _root_of(page)
        form = started.ask(f"{root}/memory/1/forget", cookie=cookie)[1]
        found = re.search(r'name="csrf" value="(\w+)"', form)
        assert found is not None
        with (
            held_database(tmp_path) as release,
            closing(http.client.HTTPConnection("127.0.0.1", started.port, timeout=PATIENCE)) as to,
        ):
            headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
            body = urlencode({"csrf": found[1]})
            to.request("POST", f"{root}/memory/1/forget", body, headers)
            started.close()
            # The port closes first, and then what runs is waited for.
            started.wait_until_closed()
            release()
            assert to.getresponse().status == 303
        started.wait()
        assert started.process.wait(timeout=PATIENCE) == -signal.SIGHUP

    with closing(open_store(None, project=tmp_path)) as store:
        memory = store.read(lambda reading: reading.memory(1))
    assert memory is not None
    assert memory.forgotten_at is not None
