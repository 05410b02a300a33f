"""Run servers on a network as processes."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, Self

from tests.repository import ROOT

PATIENCE: Final = 120.0
"""Seconds that a process may take for a step of a test; machines that run tests can be slow."""

_SERVING: Final = "serving "


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of the tests without the settings of this package."""
    ours = ("GOOP_", "CLAUDE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PYTHONPATH": str(ROOT)} | variables


class Served:
    """A running server, its addresses, and its lines on stderr."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        self._lines: list[str] = []
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, args=[process.stderr], daemon=True)
        self._listener.start()
        self.address = self.announced = ""

    def started(self) -> Self:
        """Wait until it prints its addresses."""
        line = self.wait_for_line(f"{_SERVING}http")
        message = str(json.loads(line)["message"]) if line.startswith("{") else line
        self.announced = message.partition(_SERVING)[2].rstrip("\n")
        self.address = self.announced.split()[0].rpartition("/")[0]
        return self

    @property
    def mcp(self) -> str:
        return f"{self.address}/mcp"

    @property
    def sse(self) -> str:
        return f"{self.address}/sse"

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE)

    def stderr(self) -> str:
        """Return everything that an ended server has printed to stderr."""
        self._listener.join(timeout=PATIENCE)
        return "".join(self._lines)

    def wait_for_line(self, text: str) -> str:
        """Return the next line on stderr that contains `text`, after the lines read before."""
        while True:
            line = self._heard.get(timeout=PATIENCE)
            if text in line:
                return line

            assert line, f"the server ended without printing {text!r}: {''.join(self._lines)}"

    def _listen(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._lines.append(line)
                self._heard.put(line)
        self._heard.put("")


def serve_command(
    *options: str, project: Path, program: str | Sequence[str] = "goop_mcp"
) -> list[str]:
    """Return the command that serves; `program` is a module, or one and its own arguments."""
    words = [program] if isinstance(program, str) else program
    return [sys.executable, "-m", *words, "serve", "--project", str(project), *options]


@contextmanager
def served(
    *options: str, project: Path, program: str | Sequence[str] = "goop_mcp", **variables: str
) -> Iterator[Served]:
    """Start a server on a free port, wait until it prints its addresses, and end it afterwards."""
    command = serve_command("--port", "0", *options, project=project, program=program)
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment(**variables),
        text=True,
    )
    server = Served(process)

    try:
        yield server.started()
    finally:
        process.kill()
        process.wait()
        server.stderr()


def refused(*options: str, project: Path, **variables: str) -> str:
    """Start a server that cannot start, and return the sentence with which it ends."""
    ended = subprocess.run(
        serve_command(*options, project=project),
        env=environment(**variables),
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    (line,) = ended.stderr.splitlines()

    return line
