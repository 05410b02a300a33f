"""Agents that speak the Agent Client Protocol (ACP) on standard input and output.

The protocol is JSON-RPC, one message a line: https://agentclientprotocol.com. The tests talk to
agents made with its Python library, `agent-client-protocol` 0.12. The client side of that library
is not used: it needs asyncio, reads lines of any length, starts a task for each message, and logs
what an agent sent wrongly, with its traceback, on the root logger. Without these, little of it is
left.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from goop_mcp.retry.command_line import (
    CommandFailedError,
    amount,
    count,
    json_object,
    why_not_run,
)
from goop_mcp.retry.programs import (
    MOST_OUTPUT,
    OnStart,
    StartedProgram,
    keep_end,
    start_program,
)
from goop_mcp.retry.replies import Message, Reply, Usage
from goop_mcp.validation.findings import excerpt

__all__ = ["AcpAgent"]

_VERSION: Final = 1
_AUTHENTICATION_REQUIRED: Final = -32000
_METHOD_NOT_FOUND: Final = -32601
# An agent that npm installs at its start needs its time; what is not an agent would take for ever.
_START_SECONDS: Final = 120.0
_END_SECONDS: Final = 2.0
_CLIENT: Final[Mapping[str, Any]] = {
    "protocolVersion": _VERSION,
    # The agent reads and writes files by itself, in the folder of its task.
    "clientCapabilities": {
        "fs": {"readTextFile": False, "writeTextFile": False},
        "terminal": False,
    },
    "clientInfo": {"name": "goop-mcp", "title": "goop-mcp", "version": "1"},
}


class _RefusedError(CommandFailedError):
    """Raised for a request that the agent answered with an error; it goes on to listen."""


@dataclass(slots=True, weakref_slot=True, kw_only=True)
class AcpAgent:
    """A conversation with an ACP agent: one process, and one session in it.

    `words` are its command, which runs in `folder`; `environment` None is that of this process. A
    message whose way is `first` or `same_conversation` goes on in `session` where there is one, any
    other one begins with a new process. The process stays between messages, until `aclose`. One
    that ended, failed or was cancelled is replaced by another, which goes on in the session with
    `session/resume` or `session/load`. `permissions` answers what the agent asks a person for:
    `allow` for this once or `reject`, never for longer. `on_start` gets the process id before each
    message, and is awaited where it is async. `start_seconds` bounds what comes before the first
    prompt of a process. `agent_name` is what the agent calls itself, None before its first answer.

    An answer is the last text of a turn, after all calls of tools that have text after them. At
    most 32 MiB are read for one.
    """

    words: Sequence[str]
    folder: "str | PathLike[str]"
    environment: Mapping[str, str] | None = None
    permissions: Literal["allow", "reject"] = "reject"
    agent_key: str | None = None
    name: str | None = None
    on_start: OnStart | None = None
    session: str | None = None
    start_seconds: float = _START_SECONDS
    agent_name: str | None = field(default=None, init=False)
    _wire: "_Wire | None" = field(default=None, init=False, repr=False)
    _session_cost: float | None = field(default=None, init=False, repr=False)

    async def ask(self, message: Message) -> Reply:
        """Send the message and wait for the end of the turn.

        A cancellation ends the process and all that it has started. Raises CommandFailedError.
        """
        if message.way not in ("first", "same_conversation"):
            await self.aclose()
            self.session = None

        try:
            return await self._ask(message)
        except BaseException as ended:
            # What it still does nobody would read: the next message has a process of its own.
            if self._wire is not None:
                self._wire.started.kill()
            await self.aclose()
            if isinstance(ended, CommandFailedError):
                ended.session = self.session
            raise

    async def aclose(self) -> None:
        """End the process and all that it has started; the session stays where the agent keeps it.

        The agent has two seconds to end by itself. To be called after the last message.
        """
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.aclose()

    async def _ask(self, message: Message) -> Reply:
        wire = self._wire
        if wire is not None and wire.process.returncode is not None:
            await self.aclose()
            wire = None
        if wire is None:
            wire = await self._start(message)
        else:
            await self._call_on_start(wire.process.pid)

        answer = wire.answer = _Answer(self.session)
        prompt = [{"type": "text", "text": message.text.encode(errors="replace").decode()}]
        ended = await wire.request("session/prompt", sessionId=self.session, prompt=prompt)
        reason = ended.get("stopReason")
        if reason in ("refusal", "cancelled"):
            raise CommandFailedError(f"{wire.program} gave no answer (stop reason: {reason})")

        # The cost is that of the session so far; of one that was not begun here, none is known.
        before, after = self._session_cost, answer.session_cost
        cost = None if before is None or after is None else max(0.0, after - before)
        self._session_cost = before if after is None else after
        # Of tokens a turn used what its end names, of cost what was added to it.
        used = json_object(ended.get("usage"))
        names = ("inputTokens", "cachedReadTokens", "cachedWriteTokens")
        read = [count(used.get(name)) for name in names]
        written = [count(used.get(name)) for name in ("outputTokens", "thoughtTokens")]
        usage = None
        if read[0] is not None or written[0] is not None or cost is not None:
            usage = Usage(
                input_tokens=None if read[0] is None else sum(each or 0 for each in read),
                output_tokens=None if written[0] is None else sum(each or 0 for each in written),
                cost=cost,
            )

        return Reply(
            text=answer.text,
            usage=usage,
            conversation_id=self.session,
            stop_reason=reason if isinstance(reason, str) else None,
        )

    async def _call_on_start(self, pid: int) -> None:
        starting = None if self.on_start is None else self.on_start(pid)
        if starting is not None:
            await starting

    async def _start(self, message: Message) -> "_Wire":
        """Start a process, and in it go on in the session or begin one."""
        program = self.words[0]
        try:
            with anyio.CancelScope(shield=True):
                started = await start_program(
                    self.words,
                    source=subprocess.PIPE,
                    folder=self.folder,
                    environment=self.environment,
                )
        except OSError as error:
            raise CommandFailedError(why_not_run(error, program)) from error

        self._wire = wire = _Wire(started, program, self.permissions)
        # Before it is sent anything: whoever dies now leaves it to the next runner.
        await self._call_on_start(started.process.pid)

        with anyio.move_on_after(self.start_seconds) as scope:
            # First both sides agree on the version of the protocol.
            agreed = await wire.request("initialize", **_CLIENT)
            version = agreed.get("protocolVersion")
            if version != _VERSION or isinstance(version, bool):
                raise CommandFailedError(
                    f"{wire.program} speaks version {excerpt(repr(version), 40)} of ACP, and not"
                    f" {_VERSION}; use another version of the agent",
                    retryable=False,
                )

            able = json_object(agreed.get("agentCapabilities"))
            name = json_object(agreed.get("agentInfo")).get("name")
            self.agent_name = name if isinstance(name, str) else None
            if self.session is None or not await self._go_on(wire, able, message):
                self.session, self._session_cost = await _begin(wire, self._place), 0.0
        if scope.cancelled_caught:
            raise CommandFailedError(
                f"{program} began no session within {self.start_seconds:g} s{wire.noise};"
                " expected an agent that speaks ACP on standard input and output"
            )
        return wire

    async def _go_on(self, wire: "_Wire", able: Mapping[str, Any], message: Message) -> bool:
        """Go on in the session; False where that is not possible and the message needs none."""
        # To resume is to load without a repetition of all messages.
        resumes = isinstance(json_object(able.get("sessionCapabilities")).get("resume"), Mapping)
        reason = "the agent does not support session/load"
        if resumes or able.get("loadSession") is True:
            method = "session/resume" if resumes else "session/load"
            try:
                await wire.request(method, sessionId=self.session, cwd=self._place, mcpServers=[])
            except _RefusedError as error:
                reason = str(error)
            else:
                return True

        # A first message holds the whole task. Any other one means nothing in a new session.
        if message.way == "first":
            return False
        raise CommandFailedError(
            f"session {excerpt(self.session or '', 80)} cannot be continued: {reason}; have the"
            " task done afresh",
            retryable=False,
        )

    @property
    def _place(self) -> str:
        # Of another form than the folder of a process: the protocol wants the whole path.
        return str(Path(self.folder).absolute())


class _Wire:
    """The messages between us and one process.

    answer: what takes up the updates of the session. noise: what the program wrote that is no
    message, as a part of a sentence.
    """

    def __init__(self, started: StartedProgram, program: str, permissions: str) -> None:
        self.started, self.process, self.program = started, started.process, program
        self.answer: _Answer | None = None
        self.noise = ""
        self._permissions = permissions
        self._number = self._read = self._searched = 0
        self._unread, self._errors = bytearray(), bytearray()
        self._sending = anyio.Lock()

    async def aclose(self) -> None:
        """End the process, and everything that it started."""
        process = self.process
        with anyio.CancelScope(shield=True):
            # The end of its input is how an agent learns that it is not needed any more.
            if process.stdin is not None:
                with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                    await process.stdin.aclose()
            with anyio.move_on_after(_END_SECONDS):
                await process.wait()
            await self.started.end()
            await process.aclose()

    async def request(self, method: str, **params: object) -> Mapping[str, Any]:
        """Send a request and return its result; requests of the agent are answered meanwhile.

        Raises CommandFailedError.
        """
        self._number += 1
        self._read = 0
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        answer: Mapping[str, Any] = {}
        failure: CommandFailedError | None = None

        # Sent while the agent is listened to: it may write so much that it does not read before.
        async with anyio.create_task_group() as group:
            group.start_soon(self._send, message)
            group.start_soon(keep_end, self.process.stderr, self._errors)
            try:
                answer = await self._answer_to(self._number)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                # The reason stands on another stream, and how it ended is known a moment later.
                with anyio.move_on_after(_END_SECONDS):
                    await self.process.wait()

                code = self.process.returncode
                how = "closed its output" if code is None else f"ended with exit code {code}"
                report = self._errors.decode(errors="replace").strip().rpartition("\n")[2]
                because = f": {excerpt(report)}" if report else ""
                hint = "; expected an agent that speaks ACP" if method == "initialize" else ""
                failure = CommandFailedError(
                    f"{self.program} {how} without an answer to {method}{because}{self.noise}{hint}"
                )
            except CommandFailedError as failed:
                failure = failed
            group.cancel_scope.cancel()

        if failure is not None:
            raise failure
        if "error" in answer:
            error = json_object(answer["error"])
            code, text = error.get("code"), excerpt(str(error.get("message")), 200)
            if code == _AUTHENTICATION_REQUIRED:
                raise CommandFailedError(
                    f"{self.program} is not logged in ({text}); log in with the program itself,"
                    " once",
                    retryable=False,
                )

            # Most agents put what happened there, and "Internal error" into the message.
            details = error.get("data")
            more = f", {excerpt(json.dumps(details), 300)}" if details else ""
            raise _RefusedError(
                f"{self.program} refused {method}: {text} ({excerpt(str(code), 40)}{more})"
            )
        return json_object(answer.get("result"))

    async def _answer_to(self, number: int) -> Mapping[str, Any]:
        while True:
            message = await self._receive()
            method = message.get("method")
            if method is None:
                # To Python, True is 1.
                if message.get("id") == number and not isinstance(message["id"], bool):
                    return message
            elif "id" in message:
                await self._send({"jsonrpc": "2.0", "id": message["id"], **self._reply(message)})
            elif method == "session/update" and self.answer is not None:
                self.answer.add(json_object(message.get("params")))

    def _reply(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the answer to a request of the agent."""
        if request["method"] != "session/request_permission":
            return {"error": {"code": _METHOD_NOT_FOUND, "message": "Method not found"}}

        # Other kinds are for ever: they would outlive the run, in the settings of its person.
        wanted = f"{self._permissions}_once"
        options = json_object(request.get("params")).get("options")
        for option in map(json_object, options if isinstance(options, list) else ()):
            if option.get("kind") == wanted:
                chosen = {"outcome": "selected", "optionId": option.get("optionId")}
                return {"result": {"outcome": chosen}}
        return {"result": {"outcome": {"outcome": "cancelled"}}}

    async def _receive(self) -> Mapping[str, Any]:
        """Return the next message; lines that are none, such as greetings, are passed over."""
        while True:
            stdout = self.process.stdout
            if stdout is None:
                raise anyio.EndOfStream

            # What was searched once is not searched again: a line may come in many small parts.
            while (end := self._unread.find(b"\n", self._searched)) < 0:
                self._searched = len(self._unread)
                part = await stdout.receive()
                self._read += len(part)
                if self._read > MOST_OUTPUT:
                    raise CommandFailedError(
                        f"{self.program} wrote more than {MOST_OUTPUT // 1024 // 1024} MiB for one"
                        f" answer{self.noise}"
                    )
                self._unread += part

            line = bytes(self._unread[:end])
            del self._unread[: end + 1]
            self._searched = 0

            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                return value
            if not self.noise and line.strip():
                shown = excerpt(line[:1000].decode(errors="replace").strip(), 200)
                self.noise = f" (it wrote {shown!r}, which is not a message of ACP)"

    async def _send(self, message: Mapping[str, Any]) -> None:
        stdin = self.process.stdin
        if stdin is None:
            return

        # Messages are whole lines, also where one has to wait until the agent reads.
        async with self._sending:
            # Of an agent that has ended, its output shows more than its input.
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await stdin.send(json.dumps(message).encode() + b"\n")


class _Answer:
    """The text of a turn as it arrives, in parts that calls of tools separate."""

    def __init__(self, session: str | None) -> None:
        self.session_cost: float | None = None
        self._session, self._message = session, None
        self._parts: list[list[str]] = [[]]

    @property
    def text(self) -> str:
        """The last part that has text."""
        parts = ("".join(part) for part in reversed(self._parts))
        text = next((part for part in parts if part.strip()), "")
        # Agents cut texts anywhere, also between the halves of a surrogate pair.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def add(self, params: Mapping[str, Any]) -> None:
        """Take up what an update of a session adds; the ones of other sessions are left out."""
        if params.get("sessionId") != self._session:
            return

        update = json_object(params.get("update"))
        kind, content = update.get("sessionUpdate"), json_object(update.get("content"))
        if kind == "agent_message_chunk":
            message = update.get("messageId")
            if message != self._message:
                self._message = message
                self._begin()
            if isinstance(text := content.get("text"), str):
                self._parts[-1].append(text)
        elif kind == "tool_call":
            self._begin()
        elif kind == "usage_update":
            cost = amount(json_object(update.get("cost")).get("amount"))
            self.session_cost = self.session_cost if cost is None else cost

    def _begin(self) -> None:
        # An agent that calls a million tools has a million parts without text.
        if self._parts[-1]:
            self._parts.append([])


async def _begin(wire: _Wire, folder: str) -> str:
    """Begin a session and return its id."""
    created = await wire.request("session/new", cwd=folder, mcpServers=[])
    session = created.get("sessionId")
    if not isinstance(session, str) or not session:
        raise CommandFailedError(f"{wire.program} began a session without an id")
    return session
