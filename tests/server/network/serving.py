"""Servers on a network as processes of their own."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, Self

from tests.repository import ROOT

PATIENCE: Final = 120.0
"""Seconds in which a process has to have done what it was asked for; machines that run tests can be slow."""

_SERVING: Final = "serving "


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of the tests without settings of ours that someone has at home."""
    ours = ("GOOP_", "CLAUDE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PYTHONPATH": str(ROOT)} | variables


class Served:
    """A running server, where it is reached, and what it says on stderr."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stderr is not None
        self._lines: list[str] = []
        self._heard: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, args=[process.stderr], daemon=True)
        self._listener.start()
        self.address = self.told = ""

    def started(self) -> Self:
        """Wait until it says where it is reached."""
        line = self.wait_to_say(f"{_SERVING}http")
        said = str(json.loads(line)["message"]) if line.startswith("{") else line
        self.told = said.partition(_SERVING)[2].rstrip("\n")
        self.address = self.told.split()[0].rpartition("/")[0]
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

    def said(self) -> str:
        """Return all that an ended server said."""
        self._listener.join(timeout=PATIENCE)
        return "".join(self._lines)

    def wait_to_say(self, text: str) -> str:
        """Wait until the server says a line with `text`, which no earlier call has read yet, and return it."""
        while True:
            line = self._heard.get(timeout=PATIENCE)
            if text in line:
                return line

            assert line, f"the server ended without saying {text!r}: {''.join(self._lines)}"

    def _listen(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                self._lines.append(line)
                self._heard.put(line)
        self._heard.put("")


def serve_command(*options: str, project: Path, program: str = "goop_mcp") -> list[str]:
    return [sys.executable, "-m", program, "serve", "--project", str(project), *options]


@contextmanager
def served(
    *options: str, project: Path, program: str = "goop_mcp", **variables: str
) -> Iterator[Served]:
    """Start a server on a free port, wait until it says where it is, and end it afterwards."""
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
        server.said()


def refused(*options: str, project: Path, **variables: str) -> str:
    """Start a server that cannot be, and return the sentence with which it ends."""
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
