"""Talk to an MCP server over its stdin and stdout, with as little of our own in between as can be."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from benchmarks.timing import program_environment

__all__ = ["StdioSession"]

_PROTOCOL: Final = "2025-11-25"
_LONGEST_END = 10


class StdioSession:
    """A running server that has answered `initialize`; leaving the context ends its input and waits for its end."""

    def __init__(self, arguments: Sequence[str]) -> None:
        """Start `python` with `arguments` and wait for the first answer."""
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
            env=program_environment(),
        )
        self.request(
            "initialize",
            {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the input of the server; kill it when it does not end by itself."""
        try:
            self._process.communicate(timeout=_LONGEST_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def request(self, method: str, parameters: Mapping[str, object]) -> None:
        """Send a request and wait for its answer. Raises RuntimeError when that is an error or does not come."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})
        line = self._process.stdout.readline() if self._process.stdout else ""
        answer = json.loads(line) if line else {}
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method} was answered by {line[:500] or 'the end of the output'}")

    def call(self, tool: str, text: str) -> None:
        """Call `tool` with `text` and wait for its answer."""
        self.request("tools/call", {"name": tool, "arguments": {"text": text}})

    def resident_mb(self) -> float | None:
        """Return the resident size of the server in MB, None where the system does not tell."""
        status = Path(f"/proc/{self._process.pid}/status")
        if not status.exists():
            return None
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024 / 1e6

    def _send(self, message: Mapping[str, object]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
