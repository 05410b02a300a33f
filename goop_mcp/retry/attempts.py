"""Attempts are data: what was sent, what came back, how it was judged, what it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final, Literal, Self

from goop_mcp import redaction
from goop_mcp.errors import GoopError
from goop_mcp.evidence.corrections import Stated, prose_around
from goop_mcp.retry.replies import Usage, Way
from goop_mcp.validation.envelope_rules import AMBIGUOUS, TOO_LARGE
from goop_mcp.validation.findings import Repair, Severity, counted_noun
from goop_mcp.validation.plain_values import model_from, plain_values
from goop_mcp.validation.stop_reasons import StopReason
from goop_mcp.validation.verdict import Envelope, Verdict

__all__ = [
    "CANCELLED",
    "LONG_REPLY",
    "Attempt",
    "NotAcceptedError",
    "Outcome",
    "RecordedError",
    "StoppedBecause",
    "base_of",
    "gave_up",
]

StoppedBecause = Literal[
    "accepted",
    "attempts",
    "deadline",
    "budget",
    "no_progress",
    "cancelled",
    "agent_error",
    "interrupted",
]
"""Why a call ended. `interrupted`: the agent waits for a person's decision."""

CANCELLED = "the call was cancelled"
"""The error of an attempt that was cut off."""

LONG_REPLY = 100_000
"""Characters: to look at a longer reply takes longer than other tasks should have to wait."""

_ENDED_EARLY: Final[Mapping[StopReason, str]] = {
    "token_limit": "; it was cut at the token limit",
    "refusal": "; the model refused to go on with it",
}

# Of the longest earlier envelope: a reply this short is likely to say less, not to say it better.
_GIVEN_UP = 0.2


class RecordedError(GoopError):
    """What was raised in a call that was recorded and read again: its `kind` and message.

    `retry_after` is when the call may be repeated, None where the failure named no time.
    """

    def __init__(self, kind: str, message: str, retry_after: datetime | None = None) -> None:
        """Take the name of the exception's class, its text, and the time that it named."""
        self.kind, self.message, self.retry_after = kind, message, retry_after
        super().__init__(message)

    def __reduce__(self) -> tuple[type["RecordedError"], tuple[str, str, datetime | None]]:
        """Be made again from what it was made of."""
        return type(self), (self.kind, self.message, self.retry_after)


@dataclass(frozen=True, slots=True)
class _Failure:
    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class _Read:
    """Where the envelope stood in the text that was read."""

    read_text: str
    span: tuple[int, int] | None = None


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One message and what became of it.

    `reply` is the raw text, None when the call failed; then `error` says why, `failure` is what was
    raised, None for a call that was cancelled, and `repeatable` shows whether the same message may
    be sent again. `verdict` is None when `reply` is, and where a rule of the caller's own failed on
    it, which `error` and `failure` then report. `seconds` is the time of the call, without the
    judging. `usage` is None where nothing is known; a call that failed has one too where its
    failure carries it. `fallback` marks the answer of a fallback. `conversation_id` is the session
    or thread that the agent named. `retry_at` is when the call may be repeated, in seconds since
    1970, where its failure named a time. `stop_reason` is why the model stopped, None for an
    ordinary end and where the agent does not say. `stated` is what a rejected reply claims, with
    which its corrections are compared; None where no complete envelope could be read.
    """

    message: str = field(repr=False)
    way: Way
    reply: str | None = field(default=None, repr=False)
    verdict: Verdict | None = None
    error: str | None = None
    failure: Exception | None = None
    repeatable: bool = False
    seconds: float = 0.0
    usage: Usage | None = None
    fallback: bool = False
    conversation_id: str | None = None
    retry_at: float | None = None
    stop_reason: StopReason | None = None
    stated: Stated | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON values, all texts included; `from_dict` restores it."""
        verdict = self.verdict
        failure = self.failure
        kind = failure.kind if isinstance(failure, RecordedError) else type(failure).__name__
        read_text = (
            None if verdict is None or verdict.read_text == self.reply else verdict.read_text
        )

        values = {
            "message": self.message,
            "way": self.way,
            "reply": self.reply,
            "verdict": None if verdict is None else verdict.to_dict(),
            "span": None if verdict is None or verdict.span is None else list(verdict.span),
            "read_text": read_text,
            "error": self.error,
            "failure": None if failure is None else {"kind": kind, "message": str(failure)},
            "repeatable": self.repeatable,
            "seconds": self.seconds,
            "usage": None if self.usage is None else plain_values(self.usage),
            "fallback": self.fallback,
            "conversation_id": self.conversation_id,
        }
        # Nearly no failure names a time, and nearly no reply ends early.
        if self.retry_at is not None:
            values["retry_at"] = self.retry_at
        if self.stop_reason is not None:
            values["stop_reason"] = self.stop_reason
        if self.stated is not None:
            values["stated"] = plain_values(self.stated)

        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the attempt that `to_dict` wrote; a failure is a RecordedError.

        Raises ValueError, which names the place, for anything else.
        """
        if not isinstance(values, Mapping):
            raise ValueError("the attempt is not an object; expected what to_dict wrote")

        attempt = model_from(cls, {**values, "verdict": None, "failure": None})
        if (failure := values.get("failure")) is not None:
            read = model_from(_Failure, failure)
            after = _time_of(attempt.retry_at)
            attempt = replace(attempt, failure=RecordedError(read.kind, read.message, after))

        if (written := values.get("verdict")) is None:
            return attempt

        # Both are written only where they differ from the reply.
        given = {
            name: values[name] for name in ("span", "read_text") if values.get(name) is not None
        }
        place = model_from(_Read, {"read_text": attempt.reply or "", **given})
        verdict = replace(Verdict.from_dict(written), span=place.span, read_text=place.read_text)

        return replace(attempt, verdict=verdict)

    @property
    def accepted(self) -> bool:
        """Whether the reply may be acted upon."""
        return self.verdict is not None and self.verdict.accepted

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was repaired in the form of the reply."""
        return self.verdict.repairs if self.verdict is not None else ()

    @cached_property
    def reply_key(self) -> int:
        """A number that is the same for replies that differ in white space only.

        Long replies must be equal.
        """
        text = self.reply or ""
        return hash(text if len(text) > LONG_REPLY else " ".join(text.split()))

    @property
    def findings_key(self) -> frozenset[tuple[str, str | None]]:
        """Which rules were broken and where."""
        errors = self.verdict.of_severity(Severity.ERROR) if self.verdict is not None else ()
        return frozenset((finding.rule, finding.path) for finding in errors)

    @cached_property
    def errors_key(self) -> int:
        """A number that is the same for the same rules broken at equal places by equal values."""
        errors = self.verdict.of_severity(Severity.ERROR) if self.verdict is not None else ()
        return hash(frozenset((finding.rule, finding.path, finding.found) for finding in errors))

    @cached_property
    def report_key(self) -> int:
        """A number that is the same for replies with the same envelope.

        The text around the envelope does not count.
        """
        span = self.verdict.span if self.verdict is not None else None
        if self.verdict is None or span is None:
            return self.reply_key
        return hash(" ".join(self.verdict.read_text[slice(*span)].split()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a call ended. Complete in every ending: no attempt is missing and no text is lost.

    `attempts` holds every message sent, in order. `accepted_at_last_attempt`: only the
    last reply which the policy allows was accepted: the next call may fail.
    """

    attempts: tuple[Attempt, ...]
    stopped_because: StoppedBecause
    accepted_at_last_attempt: bool = False
    warnings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether the last reply may be acted upon."""
        return self.accepted

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome as JSON values with every attempt; `from_dict` restores it."""
        return {
            "accepted": self.accepted,
            "stopped_because": self.stopped_because,
            "accepted_at_last_attempt": self.accepted_at_last_attempt,
            "warnings": list(self.warnings),
            "attempts": [attempt.to_dict() for attempt in self.attempts],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the outcome that `to_dict` wrote.

        Raises ValueError, which names the place, for anything else, and for an outcome that is
        accepted without an accepted reply.
        """
        if not isinstance(values, Mapping):
            raise ValueError("the outcome is not an object; expected what to_dict wrote")
        if not isinstance(written := values.get("attempts"), list):
            raise ValueError("the outcome has no list of attempts; expected what to_dict wrote")

        attempts = tuple(Attempt.from_dict(each) for each in written)
        outcome = replace(model_from(cls, {**values, "attempts": []}), attempts=attempts)
        if outcome.accepted and not (attempts and attempts[-1].accepted):
            raise ValueError(
                "the outcome is accepted and its last attempt is not; expected what to_dict wrote"
            )

        return outcome

    @property
    def accepted(self) -> bool:
        """Whether the last reply may be acted upon."""
        return self.stopped_because == "accepted"

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the last reply that was judged, None when no reply came at all."""
        return next(
            (each.verdict for each in reversed(self.attempts) if each.verdict is not None), None
        )

    @property
    def envelope(self) -> Envelope | None:
        """The typed envelope of the accepted reply, None without one.

        What was not accepted must not be acted upon.
        """
        return self.verdict.envelope if self.accepted and self.verdict is not None else None

    @property
    def text(self) -> str:
        """The last reply as it came, also when it was not accepted; "" when there was none."""
        return next((each.reply for each in reversed(self.attempts) if each.reply is not None), "")

    @property
    def joined_text(self) -> str:
        """The last reply after the longest prose of an earlier one, where its own is far shorter.

        An agent that is asked for its envelope sends that alone; what it found belongs to the
        answer.
        """
        if not self.accepted:
            return self.text

        *earlier, last = _since_task(self.attempts)
        # An agent may have repeated its prose with the envelope.
        prose = max(map(_prose_of, earlier), key=len, default="")
        if prose in self.text or len(_prose_of(last)) >= _GIVEN_UP * len(prose):
            return self.text
        return f"{prose}\n\n{self.text}"

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the model stopped in the last reply.

        None for an ordinary end and where the agent does not say.
        """
        return next(
            (each.stop_reason for each in reversed(self.attempts) if each.reply is not None), None
        )

    @property
    def usage(self) -> Usage:
        """What is known of what all attempts used together, those that failed included.

        A part is None where no attempt reported it; `attempts_without_usage` says how many are
        missing.
        """
        return sum((each.usage for each in self.attempts if each.usage is not None), Usage())

    @property
    def attempts_without_usage(self) -> int:
        """How many attempts did not report the tokens that they used."""
        return sum(each.usage is None or each.usage.tokens is None for each in self.attempts)

    @property
    def seconds(self) -> float:
        """How long the agent took, without waiting and judging."""
        return sum(each.seconds for each in self.attempts)

    @property
    def failure(self) -> Exception | None:
        """What the agent raised last, or a custom rule on its reply.

        None when there is a verdict.
        """
        return self.attempts[-1].failure if self.attempts else None


class NotAcceptedError(GoopError):
    """Raised, if the policy says so, when no acceptable reply came; `outcome` has every attempt."""

    def __init__(self, outcome: Outcome) -> None:
        """Take the outcome that was not accepted."""
        self.outcome = outcome
        last = outcome.attempts[-1] if outcome.attempts else None
        rules = sorted({rule for rule, _ in last.findings_key})[:5] if last else []
        what = f"; the last reply broke {', '.join(rules)}" if rules else ""
        ended = _ENDED_EARLY[last.stop_reason] if last and last.stop_reason is not None else ""
        # What an agent or a program says of its failure may hold anything, and errors are logged.
        failed = redaction.redact(last.error).text if last and last.error else None
        tail = f"; the last call failed: {failed}" if failed else ""
        if last and failed and last.reply is not None:
            tail = f"; the last reply could not be judged: {failed}"

        count = counted_noun(len(outcome.attempts), "attempt")
        super().__init__(
            f"no acceptable reply after {count} ({outcome.stopped_because}){what}{ended}{tail};"
            " outcome has every attempt"
        )


def _time_of(retry_at: float | None) -> datetime | None:
    try:
        return None if retry_at is None else datetime.fromtimestamp(retry_at, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"retry_at is {retry_at!r}; expected seconds since 1970") from error


def base_of(earlier: Sequence[Attempt], attempt: Attempt) -> Stated | None:
    """Return what the first readable reply claimed that `attempt` corrects; None if there is none.

    One that answers the task itself corrects nothing.
    """
    corrected = _since_task([*earlier, attempt])[:-1]
    return next((each.stated for each in corrected if each.stated is not None), None)


def _since_task(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the replies since the agent was last given the task itself, in order."""
    replies = [each for each in attempts if each.reply is not None]
    starts = [
        at for at, each in enumerate(replies) if each.way in ("first", "fresh") or each.fallback
    ]
    return replies[starts[-1] if starts else 0 :]


def _prose_of(attempt: Attempt) -> str:
    verdict = attempt.verdict
    # A text that was not read for its size, or has several envelopes, is no prose.
    unread = {rule for rule, _ in attempt.findings_key} & {TOO_LARGE.id, AMBIGUOUS.id}
    return "" if verdict is None or unread else prose_around(verdict)


def gave_up(replies: Sequence[Attempt]) -> bool:
    """Whether the last envelope is much shorter than an earlier one.

    It may then have been accepted because it says nothing.
    """
    spans = [each.verdict.span if each.verdict is not None else None for each in replies]
    lengths = [end - start for start, end in (span or (0, 0) for span in spans)]
    return len(lengths) > 1 and lengths[-1] < _GIVEN_UP * max(lengths[:-1])
