"""Start an MCP server as a host does, and check that it answers."""

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from goop_mcp.processes import end_marked, marked, new_mark

__all__ = ["Greeting", "HandshakeError", "shake_hands"]

_VERSION: Final = "2025-06-18"
_SHOWN_BYTES: Final = 300
_ENDING_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """What a server reports about itself; `seconds` until it had listed its tools."""

    name: str
    version: str
    tools: tuple[str, ...]
    seconds: float


class HandshakeError(Exception):
    """Raised when a server does not start or does not speak MCP; the text says why."""


def shake_hands(
    command: Sequence[str], *, environment: Mapping[str, str], folder: Path, timeout: float
) -> Greeting:
    """Start `command` in `folder`, initialize it, list its tools and stop it.

    `timeout`, in seconds, is for all of it. Raises HandshakeError.
    """
    began, mark = time.monotonic(), new_mark()
    # A file for stderr: nobody reads a pipe meanwhile, and a full one would block the server.
    with tempfile.TemporaryFile() as errors:
        try:
            # The command comes from the configuration of the user's own host.
            process = subprocess.Popen(  # noqa: S603
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=marked(environment, mark),
            )
        except OSError as error:
            raise HandshakeError(
                f"it cannot be started ({(error.strerror or str(error)).lower()})"
            ) from error

        session = _Session(process, errors, mark, deadline=began + timeout)
        try:
            server, tools = session.initialize()
        finally:
            session.close()

    return Greeting(
        name=str(server.get("name", "")),
        version=str(server.get("version", "")),
        tools=tools,
        seconds=time.monotonic() - began,
    )


class _Session:
    """An MCP session with a running server, one request at a time."""

    def __init__(
        self, process: subprocess.Popen[bytes], errors: IO[bytes], mark: str, *, deadline: float
    ) -> None:
        self._process, self._errors, self._deadline = process, errors, deadline
        self._mark = mark
        # A thread reads the lines, because Windows has no way to read a pipe with a timeout.
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def initialize(self) -> tuple[Mapping[str, object], tuple[str, ...]]:
        client = {"name": "goop-mcp doctor", "version": "1"}
        first = self._ask(
            1, "initialize", {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": client}
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        listed = self._ask(2, "tools/list", {}).get("tools")
        server = first.get("serverInfo")
        tools = (
            [tool.get("name") for tool in listed if isinstance(tool, dict)]
            if isinstance(listed, list)
            else []
        )

        return server if isinstance(server, dict) else {}, tuple(map(str, tools))

    def close(self) -> None:
        """Close stdin, as hosts do, and wait until the server has ended; kill it if it does not."""
        process = self._process
        if process.stdin is not None:
            # What is still in the buffer may find no reader any more.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()

        try:
            process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            # Many servers are started by another program, such as npx.
            end_marked(self._mark)
            process.wait()

        # Its pipe is closed only after the reader has seen the end of it.
        self._reader.join(_ENDING_SECONDS)
        if process.stdout is not None:
            process.stdout.close()

    def _ask(self, number: int, method: str, values: Mapping[str, object]) -> Mapping[str, object]:
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": values})
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
            except queue.Empty:
                raise HandshakeError("it does not answer in time") from None

            if not line:
                raise self._ended()

            try:
                answer = json.loads(line)
            except ValueError:
                text = line.decode("utf-8", "replace").strip()[:80]
                raise HandshakeError(
                    f"it writes {text!r} to standard output, which is for MCP only"
                ) from None

            # Notifications and requests of the server may come before the answer.
            if isinstance(answer, dict) and answer.get("id") == number:
                result = answer.get("result")
                if not isinstance(result, dict):
                    raise HandshakeError(f"it answers {method} with an error")
                return result

    def _send(self, message: Mapping[str, object]) -> None:
        if self._process.stdin is None:
            raise TypeError("a session needs a pipe")

        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def _ended(self) -> HandshakeError:
        """Return an error with the server's exit code and the end of its standard error."""
        try:
            code: object = self._process.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            code = "no code"

        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, size - _SHOWN_BYTES))
        text = " ".join(self._errors.read().decode("utf-8", "replace").split())

        return HandshakeError(
            f"it ends with {code}{f': {text}' if text else ' and prints nothing'}"
        )

    def _read(self) -> None:
        stream = self._process.stdout
        while stream is not None and (line := stream.readline()):
            self._lines.put(line)
        self._lines.put(b"")
