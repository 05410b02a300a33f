"""Agents that are programs, asked again in the same session (`--resume`, `-s`)."""

import errno
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any, Final

from goop_mcp.command_words import OptionWordError, guarded, is_value
from goop_mcp.errors import GoopError
from goop_mcp.retry.jobs import check_type
from goop_mcp.retry.programs import OnStart, OutputTooLargeError, run_program
from goop_mcp.retry.replies import NOTHING_USED, Message, Reply, Usage
from goop_mcp.validation.findings import excerpt

__all__ = [
    "Answer",
    "CommandFailedError",
    "CommandLineAgent",
    "amount",
    "claude_code",
    "codex",
    "count",
    "json_object",
    "opencode",
    "why_not_run",
]


class CommandFailedError(GoopError, OSError):
    """Raised when the program of an agent cannot be run, fails, or writes what is not an answer.

    What the program reported of the failure goes with it: the HTTP `status_code` of the model's
    provider and its `headers`, whether it is `retryable`, when it may be repeated (`retry_after`, a
    time of day), the `session` in which it happened and the `usage` until then. None is unknown.
    `sums_cost` is that of `Answer`.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        headers: Mapping[str, Any] | None = None,
        retryable: bool | None = None,
        retry_after: datetime | None = None,
        session: str | None = None,
        usage: Usage | None = None,
        sums_cost: bool = False,
    ) -> None:
        """Take what is known."""
        super().__init__(message)
        self.status_code, self.headers = status_code, headers or {}
        self.retryable, self.retry_after = retryable, retry_after
        self.session, self.usage, self.sums_cost = session, usage, sums_cost


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a program: its text, and the session to continue in, None without one.

    `sums_cost`: the cost in `usage` is that of the whole session so far, not of this answer.
    `stop_reason` is why the model stopped, in the word of its interface, None where the program
    does not say.
    """

    text: str = field(repr=False)
    _: KW_ONLY
    session: str | None = None
    usage: Usage | None = None
    sums_cost: bool = False
    stop_reason: str | None = None


@dataclass(slots=True, weakref_slot=True, kw_only=True)
class CommandLineAgent:
    """A conversation with a program; a message that starts afresh starts a new session.

    `command` takes the message and the session (None for a new one) and returns the words of the
    command; `read` makes an answer of what it writes on standard output. With `on_stdin` the
    message goes there. Without it, a word that is the message and begins with a dash gets a line
    feed in front, so that it is no option of the program, unless `--` stands right before it; and a
    session that begins with a dash is refused. `environment` None is that of this process. A
    program without sessions is sent each time what it was asked and what it answered. A message
    that is repeated because the call failed goes on in the session in which it failed: what was
    done is not done twice. One agent is one conversation: give each of several calls at once its
    own. Those with the same `agent_key` are known to use the same, and to fail together; `name` is
    what traces call the agent. `on_start` gets the process id of each program that is started, and
    is awaited where it is async. `passing` are texts on standard error by which a program shows
    that it failed before it did anything, and may work the next time. Exit code 75 (EX_TEMPFAIL)
    says the same, and the last line on standard error of the form `Retry-After: 30`, in seconds or
    an HTTP date, when.
    """

    command: Callable[[str, str | None], Sequence[str]]
    read: Callable[[str], Answer]
    on_stdin: bool = False
    folder: "str | PathLike[str] | None" = None
    environment: Mapping[str, str] | None = None
    agent_key: str | None = None
    name: str | None = None
    on_start: OnStart | None = None
    passing: Sequence[str] = ()
    session: str | None = field(default=None, init=False)
    _history: str = field(default="", init=False, repr=False)
    _unanswered: str | None = field(default=None, init=False, repr=False)
    _session_cost: float | None = field(default=None, init=False, repr=False)

    async def ask(self, message: Message) -> Reply:
        """Run the program and wait for it; a cancellation ends it and all it has started.

        Raises CommandFailedError.
        """
        goes_on = message.way == "same_conversation"
        session = self.session if goes_on or message.text == self._unanswered else None
        text = f"{self._history}{message.text}" if goes_on and session is None else message.text
        if session is None:
            self._session_cost = None

        try:
            # A command line can hold neither lone surrogates nor NUL.
            sendable = text.encode(errors="replace").decode().replace("\0", "\ufffd")
            answer = self.read(await self._run(sendable, session))
        except CommandFailedError as failure:
            failure.usage = self._used(failure)
            if failure.session is not None:
                self.session, self._unanswered = failure.session, message.text

            raise

        check_type("the answer that read made", answer, Answer, "Answer(...)")
        self.session, self._unanswered = answer.session, None
        self._history = f"{text}\n\nYou answered:\n\n{answer.text}\n\n"

        return Reply(
            text=answer.text,
            usage=self._used(answer),
            conversation_id=answer.session,
            stop_reason=answer.stop_reason,
        )

    def _used(self, ended: "Answer | CommandFailedError") -> Usage | None:
        """Return what one call used, where the program gives the cost of the session so far."""
        usage = ended.usage
        if usage is None or usage.cost is None:
            return usage

        # Kept for each call, also one whose cost does not add up.
        before, self._session_cost = self._session_cost, usage.cost
        if before is None or not ended.sums_cost:
            return usage
        return replace(usage, cost=max(0.0, usage.cost - before))

    async def _run(self, text: str, session: str | None) -> str:
        if session is not None and not is_value(session):
            raise CommandFailedError(
                f"the session {excerpt(session, 80)!r} would be an option of the program; expected"
                " an id that begins with no dash. Have the task done afresh",
                retryable=False,
            )
        words = self.command(text, session)
        if isinstance(words, str) or not words:
            raise TypeError(
                f"command returned {excerpt(repr(words), 80)}; expected a list of words, the"
                " program first"
            )

        # Standard input where the program reads it: the words of a command have a limit of 128 KiB.
        given = text.encode() if self.on_stdin else None
        if given is None:
            try:
                words = guarded(words, text)
            except OptionWordError as error:
                raise CommandFailedError(str(error), retryable=False) from error

        try:
            done = await run_program(
                words,
                given=given,
                folder=self.folder,
                environment=self.environment,
                on_start=self.on_start,
            )
        except OutputTooLargeError as error:
            raise CommandFailedError(f"{error}; have it print its answer only") from error
        except OSError as error:
            raise CommandFailedError(why_not_run(error, words[0])) from error

        output = done.output.decode(errors="replace")
        # The last line, as programs write their usage before the reason.
        if done.exit_code:
            errors = done.errors.decode(errors="replace")
            later = done.exit_code == _TRY_LATER
            after = _RETRY_AFTER.findall(errors) if later else []
            reported = _RETRY_AFTER.sub("", errors) if after else errors
            report = (reported or output).strip().rpartition("\n")[2]
            passed = next((each for each in self.passing if each in errors), None)
            because = passed or report
            bare = CommandFailedError(
                f"{words[0]} ended with exit code {done.exit_code}"
                f"{f': {excerpt(because)}' if because else ''}",
                headers={"Retry-After": after[-1]} if after else None,
                retryable=True if passed or later else None,
                usage=NOTHING_USED if later else None,
            )
            raise self._reported_failure(output) or bare

        return output

    def _reported_failure(self, output: str) -> CommandFailedError | None:
        """Return the failure that the program wrote on standard output before it exited.

        Claude Code and OpenCode do so: the status of the provider, the cost and the session stand
        nowhere else.
        """
        try:
            self.read(output)
        except CommandFailedError as reported:
            known = (reported.session, reported.status_code, reported.usage)
            return reported if any(each is not None for each in known) else None
        except Exception:
            # What a failed program wrote need not be an answer that `read` understands.
            return None

        return None


def why_not_run(error: OSError, program: str) -> str:
    """Return why a program could not be started, with what to do."""
    # A longer message needs another way, and no retry would help.
    if error.errno == errno.E2BIG:
        return (
            f"the message is too long for the words of a command ({program}); expected it on"
            " standard input"
        )

    reason = (error.strerror or "unknown reason").lower()
    if error.filename not in (None, program):
        return (
            f"{program} cannot be run in {error.filename} ({reason}); name a folder that is there"
        )

    return f"{program} cannot be run ({reason}); install it or name its place"


def claude_code(
    *options: str,
    program: str = "claude",
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
) -> CommandLineAgent:
    """Return Claude Code, asked with `claude -p` and again with `--resume`.

    `options` are part of each command.
    """

    def command(_text: str, session: str | None) -> list[str]:
        resume = ["--resume", session] if session else []
        return [program, "-p", "--output-format", "json", *resume, *options]

    return CommandLineAgent(
        command=command,
        read=_read_claude,
        on_stdin=True,
        folder=folder,
        environment=environment,
        agent_key=_key(program, options),
        name="claude-code",
    )


def opencode(
    *options: str,
    program: str = "opencode",
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
) -> CommandLineAgent:
    """Return OpenCode, asked with `opencode run` and again with `-s`.

    `options` are part of each command.
    """

    def command(_text: str, session: str | None) -> list[str]:
        resume = ["-s", session] if session else []
        return [program, "run", "--format", "json", *resume, *options]

    return CommandLineAgent(
        command=command,
        read=_read_opencode,
        # As a word, it would get quotes around it and escapes within (OpenCode 1.18).
        on_stdin=True,
        folder=folder,
        environment=environment,
        agent_key=_key(program, options),
        name="opencode",
        passing=_FIRST_STARTS_AT_ONCE,
    )


def codex(
    *options: str,
    program: str = "codex",
    folder: "str | PathLike[str] | None" = None,
    environment: Mapping[str, str] | None = None,
) -> CommandLineAgent:
    """Return Codex, asked with `codex exec` and again with `codex exec resume`.

    `options` are part of each command.
    """

    def command(_text: str, session: str | None) -> list[str]:
        resume = ["resume", session] if session else []
        # The last word says that the message comes on standard input.
        return [program, "exec", "--json", *options, *resume, "-"]

    return CommandLineAgent(
        command=command,
        read=_read_codex,
        on_stdin=True,
        folder=folder,
        environment=environment,
        agent_key=_key(program, options),
        name="codex",
    )


def _key(program: str, options: Sequence[str]) -> str:
    """Return what is the same for agents with the same model: the options choose it."""
    return "\0".join((program, *options))


# Several that start at once for the first time, or after an update, all create the tables of their
# one database (OpenCode 1.18); all but one fail.
_FIRST_STARTS_AT_ONCE: Final = ("Failed query: ", "database is locked")
# EX_TEMPFAIL of sysexits.h, which says that a later try may succeed.
_TRY_LATER: Final = 75
_RETRY_AFTER: Final = re.compile(
    r"^[^\S\n]*Retry-After:[^\S\n]*(\S[^\n]{0,63})$", re.IGNORECASE | re.MULTILINE
)
_TOO_MANY_REQUESTS: Final = 429
_TOO_MANY: Final = 2**53
_COUNTED_BY_MODEL: Final = (
    "inputTokens",
    "outputTokens",
    "cacheReadInputTokens",
    "cacheCreationInputTokens",
)
_CACHED: Final = ("cache_creation_input_tokens", "cache_read_input_tokens")
_USAGE_LIMIT: Final = "usage limit reached|"
_REFUSED: Final = ("API Error: ", "Request rejected (")


def _read_claude(output: str) -> Answer:
    """Read the one JSON object that `--output-format json` writes.

    A request that the provider refused is a result too: of the subtype "success", with `is_error`,
    the status in `api_error_status` (older versions: in the text), and the message in place of the
    reply.
    """
    result = _parsed(output, "claude")
    session = _text(result.get("session_id"))
    used, cost = result.get("usage"), amount(result.get("total_cost_usd"))
    usage = None if cost is None else Usage(cost=cost)
    if isinstance(used, Mapping) and used:
        read = count(used.get("input_tokens"))
        cached = [count(used.get(name)) or 0 for name in _CACHED]
        usage = Usage(
            input_tokens=None if read is None else read + sum(cached),
            output_tokens=count(used.get("output_tokens")),
            cost=cost,
        )

    # After `--resume`, `total_cost_usd` is the cost of the session (Claude Code 2.1). `modelUsage`
    # is its breakdown by model: it then counts more tokens than `usage`, which covers this call.
    models = [json_object(each) for each in json_object(result.get("modelUsage")).values()]
    counts = [count(each.get(name)) or 0 for each in models for name in _COUNTED_BY_MODEL]
    sums_cost = usage is not None and sum(counts) > (usage.tokens or 0)

    text = result.get("result")
    if not result.get("is_error") and isinstance(text, str):
        return Answer(
            text=text,
            session=session,
            usage=usage,
            sums_cost=sums_cost,
            stop_reason=_text(result.get("stop_reason")),
        )

    subtype = _text(result.get("subtype")) or "no subtype"
    why = text if isinstance(text, str) and text else subtype
    # The time in `Claude AI usage limit reached|1753077600`.
    until = why.partition(_USAGE_LIMIT)[2][:10]
    is_time = until.isascii() and until.isdecimal()

    raise CommandFailedError(
        f"claude gave no result ({excerpt(why, 200)})",
        status_code=count(result.get("api_error_status")) or _refused_with(why),
        retry_after=datetime.fromtimestamp(int(until), UTC) if is_time else None,
        session=session,
        usage=usage,
        sums_cost=sums_cost,
    )


def _refused_with(text: str) -> int | None:
    """Return the HTTP status in `API Error: 529 …` or `Request rejected (429) …`, None without."""
    for words in _REFUSED:
        digits = text.partition(words)[2][:3]
        if digits.isascii() and digits.isdecimal():
            return int(digits)

    return None if _USAGE_LIMIT not in text else _TOO_MANY_REQUESTS


def _read_opencode(output: str) -> Answer:
    """Read the events of `--format json`, one a line.

    The reply is the text of the last step that has any.
    """
    events = [_parsed(line, "opencode") for line in output.splitlines() if line.startswith("{")]
    steps: list[list[str]] = [[]]
    usage, failure, reason = None, None, None

    for event in events:
        part = json_object(event.get("part"))
        if event.get("type") == "step_start":
            steps.append([])
        elif event.get("type") == "text":
            steps[-1].append(_text(part.get("text")) or "")
            failure = None
        elif event.get("type") == "step_finish":
            used = _used_in_step(part)
            usage = used if usage is None else usage + used
            reason = _text(part.get("reason"))
        elif event.get("type") == "error":
            failure = json_object(event.get("error"))

    if not events:
        raise CommandFailedError("opencode wrote no events; expected one JSON object a line")

    session = _text(events[-1].get("sessionID"))
    if failure is not None:
        data = json_object(failure.get("data"))
        why = _text(data.get("message")) or _text(failure.get("name")) or "it does not say why"
        # OpenCode knows whether its provider would answer a second time.
        retryable = data.get("isRetryable")

        raise CommandFailedError(
            f"opencode gave no result ({excerpt(why, 200)})",
            status_code=count(data.get("statusCode")),
            headers=json_object(data.get("responseHeaders")),
            retryable=retryable if isinstance(retryable, bool) else None,
            session=session,
            usage=usage,
        )

    # Steps after the last text only called tools.
    text = next(("\n".join(step) for step in reversed(steps) if step), "")

    return Answer(text=text, session=session, usage=usage, stop_reason=reason)


def _read_codex(output: str) -> Answer:
    """Read the events of `--json`, one a line; the reply is the last message of the agent."""
    events = [_parsed(line, "codex") for line in output.splitlines() if line.startswith("{")]
    if not events:
        raise CommandFailedError("codex wrote no events; expected one JSON object a line")

    session, usage, text, failure = None, None, "", None
    for event in events:
        item = json_object(event.get("item"))
        if event.get("type") == "thread.started":
            session = _text(event.get("thread_id"))
        elif event.get("type") == "item.completed" and item.get("type") == "agent_message":
            text, failure = _text(item.get("text")) or "", None
        elif event.get("type") == "turn.completed":
            used = json_object(event.get("usage"))
            usage = Usage(
                input_tokens=count(used.get("input_tokens")),
                output_tokens=count(used.get("output_tokens")),
            )
        # An error that the agent has recovered from is followed by a message, which clears it.
        elif event.get("type") in ("error", "turn.failed"):
            failure = _text(event.get("message")) or _text(
                json_object(event.get("error")).get("message")
            )

    if failure is not None:
        raise CommandFailedError(
            f"codex gave no result ({excerpt(failure, 200)})", session=session, usage=usage
        )

    return Answer(text=text, session=session, usage=usage)


def _used_in_step(part: Mapping[str, Any]) -> Usage:
    """Return what a step used.

    Its `input` does not count tokens read from a cache or written to it.
    """
    tokens = json_object(part.get("tokens"))
    cache = json_object(tokens.get("cache"))
    read, written = count(tokens.get("input")), count(tokens.get("output"))
    cached = [count(cache.get(name)) or 0 for name in ("read", "write")]

    return Usage(
        input_tokens=None if read is None else read + sum(cached),
        output_tokens=(
            None if written is None else written + (count(tokens.get("reasoning")) or 0)
        ),
        cost=amount(part.get("cost")),
    )


def _parsed(text: str, program: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandFailedError(
            f"{program} wrote {excerpt(text, 200)!r}; expected JSON"
        ) from error

    if not isinstance(value, dict):
        raise CommandFailedError(f"{program} wrote {excerpt(text, 200)!r}; expected a JSON object")
    return value


def json_object(value: object) -> Mapping[str, Any]:
    """Return a value that should be a JSON object; an empty one for any other."""
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def count(value: object) -> int | None:
    """Return a number of tokens; None for what is not a whole number from 0."""
    # A bool is an int to Python, and no number of tokens; what no database can hold is none either.
    return value if type(value) is int and 0 <= value < _TOO_MANY else None


def amount(value: object) -> float | None:
    """Return a cost; None for what is not a number from 0, such as NaN, or above all costs."""
    return float(value) if isinstance(value, int | float) and 0 <= value < _TOO_MANY else None
