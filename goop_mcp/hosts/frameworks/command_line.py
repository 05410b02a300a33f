"""Agents that are programs: asked with a command, asked again in the same session (`--resume`, `-s`)."""

import errno
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from os import PathLike
from typing import Any, Final

from goop_mcp.errors import GoopError
from goop_mcp.hosts.frameworks.programs import run_program
from goop_mcp.retry.jobs import check_type
from goop_mcp.retry.replies import Message, Reply, Usage
from goop_mcp.validation.findings import excerpt

__all__ = ["Answer", "CommandFailedError", "CommandLineAgent", "claude_code", "opencode"]


class CommandFailedError(GoopError, OSError):
    """Raised when the program of an agent cannot be run, fails, or writes what is no answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a program wrote: the text of the agent, and the session in which it can be asked again, None without."""

    text: str = field(repr=False)
    _: KW_ONLY
    session: str | None = None
    usage: Usage | None = None


@dataclass(slots=True, kw_only=True)
class CommandLineAgent:
    """A conversation with a program; a message that begins anew begins a new session.

    `command` takes the message and the session (None for a new one) and returns the words of the command; `read` makes
    an answer of what it writes on standard output. With `on_stdin` the message goes there. `environment` None is that
    of this process. A program without sessions is told each time what it was asked and what it answered. One agent is
    one conversation: give each of several calls at once its own.
    """

    command: Callable[[str, str | None], Sequence[str]]
    read: Callable[[str], Answer]
    on_stdin: bool = False
    folder: "str | PathLike[str] | None" = None
    environment: Mapping[str, str] | None = None
    session: str | None = field(default=None, init=False)
    _told: str = field(default="", init=False, repr=False)

    async def ask(self, message: Message) -> Reply:
        """Run the program and wait for it; a cancellation ends it and all it has started. Raises CommandFailedError."""
        goes_on = message.way == "same_conversation"
        session = self.session if goes_on else None
        told = f"{self._told}{message.text}" if goes_on and session is None else message.text
        answer = self.read(await self._run(_sendable(told), session))
        check_type("the answer that read made", answer, Answer, "Answer(...)")
        self.session = answer.session
        self._told = f"{told}\n\nYou answered:\n\n{answer.text}\n\n"
        return Reply(text=answer.text, usage=answer.usage)

    async def _run(self, text: str, session: str | None) -> str:
        words = self.command(text, session)
        if isinstance(words, str) or not words:
            raise TypeError(f"command returned {excerpt(repr(words), 80)}; expected a list of words, the program first")
        given = text.encode() if self.on_stdin else None
        try:
            done = await run_program(words, given=given, folder=self.folder, environment=self.environment)
        except OSError as error:
            raise CommandFailedError(_why_not(error, words[0])) from error
        if done.exit_code:
            said = (done.errors or done.output).decode(errors="replace").strip().rpartition("\n")[2]
            raise CommandFailedError(f"{words[0]} ended with exit code {done.exit_code}: {excerpt(said)}")
        return done.output.decode(errors="replace")


def _sendable(text: str) -> str:
    """Return `text` with a mark in place of what no program can be given: NUL, and halves of characters."""
    return text.encode(errors="replace").decode().replace("\0", "\ufffd")


def _why_not(error: OSError, program: str) -> str:
    if error.errno == errno.E2BIG:
        return f"the message is too long for the words of a command ({program}); expected it on standard input"
    reason = (error.strerror or "unknown reason").lower()
    if error.filename not in (None, program):
        return f"{program} cannot be run in {error.filename} ({reason}); name a folder that is there"
    return f"{program} cannot be run ({reason}); install it or name its place"


def claude_code(
    *options: str,
    program: str = "claude",
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
) -> CommandLineAgent:
    """Return Claude Code, asked with `claude -p` and again with `--resume`; `options` go along each time."""

    def command(_text: str, session: str | None) -> list[str]:
        resume = ["--resume", session] if session else []
        return [program, "-p", "--output-format", "json", *resume, *options]

    return CommandLineAgent(command=command, read=_read_claude, on_stdin=True, folder=folder, environment=environment)


def opencode(
    *options: str,
    program: str = "opencode",
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
) -> CommandLineAgent:
    """Return OpenCode, asked with `opencode run` and again with `-s`; `options` go along each time."""

    def command(text: str, session: str | None) -> list[str]:
        resume = ["-s", session] if session else []
        # A message that begins with a dash would be taken for an option.
        return [program, "run", "--format", "json", *resume, *options, f" {text}" if text.startswith("-") else text]

    return CommandLineAgent(command=command, read=_read_opencode, folder=folder, environment=environment)


_USED: Final = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _read_claude(output: str) -> Answer:
    """Read the one JSON object that `--output-format json` writes."""
    result = _parsed(output, "claude")
    if result.get("is_error") or not isinstance(result.get("result"), str):
        raise CommandFailedError(f"claude gave no result ({excerpt(str(result.get('subtype') or result), 200)})")
    used = result.get("usage") or {}
    tokens = sum(used.get(name) or 0 for name in _USED)
    usage = Usage(tokens=tokens, cost=result.get("total_cost_usd") or 0.0) if used else None
    return Answer(text=result["result"], session=result.get("session_id"), usage=usage)


def _read_opencode(output: str) -> Answer:
    """Read the events that `--format json` writes, one a line; the reply is the text of the last step that has any."""
    events = [_parsed(line, "opencode") for line in output.splitlines() if line.startswith("{")]
    steps: list[list[str]] = [[]]
    usage = Usage()
    for event in events:
        part = event.get("part") or {}
        if event.get("type") == "step_start":
            steps.append([])
        elif event.get("type") == "text":
            steps[-1].append(part.get("text") or "")
        elif event.get("type") == "step_finish":
            usage += _used_in_step(part)
    text = next(("\n".join(step) for step in reversed(steps) if step), "")
    if not text and not events:
        raise CommandFailedError("opencode wrote no events; expected one JSON object a line")
    return Answer(text=text, session=events[-1].get("sessionID"), usage=usage)


def _used_in_step(part: Mapping[str, Any]) -> Usage:
    tokens = part.get("tokens") or {}
    counted = sum(tokens.get(name) or 0 for name in ("input", "output", "reasoning"))
    return Usage(tokens=counted, cost=part.get("cost") or 0.0)


def _parsed(text: str, program: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise CommandFailedError(f"{program} wrote {excerpt(text, 200)!r}; expected JSON") from error
    if not isinstance(value, dict):
        raise CommandFailedError(f"{program} wrote {excerpt(text, 200)!r}; expected a JSON object")
    return value
