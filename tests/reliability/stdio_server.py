"""Drive an MCP server process over its pipes: many requests at once, bounded waits, kills."""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from pydantic import JsonValue

from tests.repository import ROOT

__all__ = ["Answer", "ServerGoneError", "StdioServer", "serve", "text_of"]

Answer = dict[str, JsonValue]
"""The result of a tool call as it came, or the error of a request under `error`."""

_PROTOCOL: Final = "2025-11-25"
_PATIENCE: Final = 300.0
_OURS: Final = ("GOOP_", "CLAUDE_")


class ServerGoneError(Exception):
    """Raised when a server ends before it has answered."""


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of this process without settings of goop-mcp, and `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return kept | {"PYTHONPATH": str(ROOT)} | dict(variables)


def serve(
    project: Path,
    *,
    program: str = "goop_mcp",
    within: Sequence[str] = (),
    options: Sequence[str] = (),
    **variables: str,
) -> "StdioServer":
    """Start a server for `project`; `within` is a command to start it in, `program` a module."""
    command = [*within, sys.executable, "-m", program, "serve", "--project", str(project), *options]
    return StdioServer(command, variables=variables)


def text_of(answer: Answer) -> str:
    """Return the text of an answer of one block."""
    content = answer["content"]
    assert isinstance(content, list)
    (block,) = content
    assert isinstance(block, dict)
    return str(block["text"])


class StdioServer:
    """A running server that has answered `initialize`; for one thread.

    What it says on stderr is kept.
    """

    def __init__(
        self, command: Sequence[str], *, variables: Mapping[str, str] | None = None
    ) -> None:
        """Start `command` and wait for its first answer.

        `variables` are added to its environment.
        """
        # Open as long as the server runs, hence not in a `with` block.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=_environment(variables or {}),
        )
        self._number, self._unread = 0, b""
        client: JsonValue = {"name": "reliability", "version": "1"}
        self.request(
            "initialize", {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def call(self, tool: str, **arguments: JsonValue) -> Answer:
        """Call a tool and return its answer. Raises ServerGoneError."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def call_together(self, tool: str, calls: Sequence[Mapping[str, JsonValue]]) -> list[Answer]:
        """Send all calls before reading an answer; return the answers in the order of the calls."""
        numbers = [
            self._ask("tools/call", {"name": tool, "arguments": dict(each)}) for each in calls
        ]
        answers = dict(self._answer() for _ in numbers)
        return [answers[number] for number in numbers]

    def request(self, method: str, parameters: Mapping[str, JsonValue]) -> Answer:
        """Send a request and return its answer. Raises ServerGoneError."""
        wanted = self._ask(method, parameters)
        number, answer = self._answer()
        assert number == wanted
        return answer

    def kill(self) -> None:
        """End the server as a crash would."""
        self._process.kill()

    def close(self) -> str:
        """Close the input, wait for the end of the server and return its stderr; idempotent."""
        if self._stderr.closed:
            return ""

        try:
            self._process.communicate(timeout=_PATIENCE)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

        self._stderr.seek(0)
        with self._stderr as stderr:
            return stderr.read().decode(errors="replace")

    def resident_mb(self) -> float:
        """Return the resident size in MB, as Linux reports it."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024 / 1e6

    def _ask(self, method: str, parameters: Mapping[str, JsonValue]) -> int:
        self._number += 1
        self._send(
            {"jsonrpc": "2.0", "id": self._number, "method": method, "params": dict(parameters)}
        )
        return self._number

    def _send(self, message: Mapping[str, JsonValue]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise ServerGoneError(f"server {self.pid} reads no more") from error

    def _answer(self) -> tuple[int, Answer]:
        """Return the next answer with its number; messages that answer nothing are passed over."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            message = json.loads(self._line(deadline))
            if "id" in message and "method" not in message:
                return message["id"], message.get(
                    "result", {"isError": True, "error": message.get("error")}
                )

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        output = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            ready, _, _ = select.select([output], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(f"server {self.pid} has not answered within {_PATIENCE:g} s")

            chunk = os.read(output, 1 << 16)
            if not chunk:
                raise ServerGoneError(f"server {self.pid} has ended")

            self._unread += chunk

        line, _, self._unread = self._unread.partition(b"\n")

        return line
