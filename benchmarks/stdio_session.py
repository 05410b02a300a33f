"""A minimal client of an MCP server over stdio, which adds little to what it measures."""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from benchmarks.machine import resident_mb
from benchmarks.protocol_versions import LEGACY, ProtocolVersion
from benchmarks.timing import program_environment

__all__ = ["StdioSession"]

_LONGEST_END: Final = 10


class StdioSession:
    """A running server with an open connection; leaving the context ends its input and waits."""

    def __init__(self, arguments: Sequence[str], version: ProtocolVersion = LEGACY) -> None:
        """Start `python` with `arguments` and wait for the first answer."""
        self._version = version
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
        self._ask(version.opening, version.opening_parameters())
        self._take(version.opening)
        if version.has_sessions:
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        """Return the session."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the input of the server; kill it when it does not end by itself."""
        try:
            self._process.communicate(timeout=_LONGEST_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def request(self, method: str, parameters: Mapping[str, object]) -> None:
        """Send a request and wait for its answer.

        Raises RuntimeError if that is an error or does not come.
        """
        self._ask(method, self._version.parameters(**parameters))
        self._take(method)

    def ping(self) -> None:
        """Send the request that does nothing and wait for its answer."""
        self.request("ping", {})

    def call(self, tool: str, text: str) -> None:
        """Call `tool` with `text` and wait for its answer."""
        self.request("tools/call", {"name": tool, "arguments": {"text": text}})

    def call_many(self, tool: str, text: str, *, count: int, in_flight: int) -> None:
        """Call `tool` `count` times, with `in_flight` calls in progress at any time."""
        parameters = self._version.parameters(name=tool, arguments={"text": text})
        free = threading.Semaphore(in_flight)

        # Requests are sent from another thread: with full pipes both sides would wait for the
        # other one to read.
        def ask() -> None:
            for _ in range(count):
                free.acquire()
                self._ask("tools/call", parameters)

        asking = threading.Thread(target=ask)
        asking.start()
        for _ in range(count):
            self._take("tools/call")
            free.release()

        asking.join()

    def resident_mb(self) -> float | None:
        """Return the resident size of the server in MB, None if the system does not show it."""
        return resident_mb(self._process.pid)

    def _ask(self, method: str, parameters: Mapping[str, object]) -> None:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters})

    def _take(self, method: str) -> None:
        line = self._process.stdout.readline() if self._process.stdout else ""
        answer = json.loads(line) if line else {}
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{method} was answered by {line[:500] or 'the end of the output'}")

    def _send(self, message: Mapping[str, object]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
