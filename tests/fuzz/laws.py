"""What holds for every reply, whatever is in it: each law that is broken is one line of text."""

import json
import random
import signal
import time
from collections.abc import Iterator

from goop_mcp import RoutingContext, Severity, Verdict, route, validate
from goop_mcp.validation.findings import Mode

_MOST_SECONDS = 0.15
_MOST_SECONDS_A_CHARACTER = 10e-6
_NEVER_ENDS = 20.0
_PROTOCOLS = ("goop_report", "agent_request", "speckit", "factory")
_SOMETIMES = 0.1
# Forms without an end of their own: cut off at a line they are shorter, not broken. So are the
# contexts of an agent.
_WITHOUT_END = frozenset(
    {"subagent_protocol/markdown-sections", "factory/markdown-reply", "factory/markdown-forbidden"}
)
# The current form requires more than they say (D-21).
_CONVERTED = frozenset(
    {
        "subagent_protocol/markdown-sections",
        "subagent_protocol/legacy-response",
        "subagent_protocol/other-root",
    }
)
_CLOSED = frozenset({"envelope/root-not-closed"})


class NeverEndsError(Exception):
    """A reply took far more time of the processor than any reply may take."""


def broken_laws(text: str, chance: random.Random) -> Iterator[str]:
    """Yield each law that the verdict on `text` breaks; `chance` decides about expensive laws."""
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _NEVER_ENDS)

    try:
        yield from _looked_at(text, chance)
    except NeverEndsError:
        yield f"takes more than {_NEVER_ENDS:.0f} s"
    except Exception as error:  # any exception at all breaks the first law
        yield f"raises {type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _stop(*_: object) -> None:
    raise NeverEndsError


def _looked_at(text: str, chance: random.Random) -> Iterator[str]:
    start = time.process_time()
    lenient = validate(text)
    if time.process_time() - start > _allowed(text) and (
        seconds := _least_seconds(text)
    ) > _allowed(text):
        yield f"takes {seconds:.2f} s for {len(text):,} characters"

    yield from _unsound(lenient, text)
    route(lenient, RoutingContext())
    if lenient.accepted:
        if not _CONVERTED & _rules(lenient):
            yield from _repaired_is_rejected(lenient)
        if len(lenient.candidates) == 1 and chance.random() < 3 * _SOMETIMES:
            yield from _beginning_is_accepted(lenient, text, chance)

    if chance.random() < _SOMETIMES:
        yield from _strict_differs(lenient, text)
    if chance.random() < _SOMETIMES:
        named = validate(
            text, protocol=chance.choice(_PROTOCOLS), mode=chance.choice(["lenient", "strict"])
        )
        yield from _unsound(named, text)
        route(named, RoutingContext())


def _allowed(text: str) -> float:
    return _MOST_SECONDS + _MOST_SECONDS_A_CHARACTER * len(text)


def _least_seconds(text: str) -> float:
    """Return the least time of three tries: what else the machine does must not count."""
    tries = []
    for _ in range(3):
        start = time.process_time()
        validate(text)
        tries.append(time.process_time() - start)

    return min(tries)


def _unsound(verdict: Verdict, text: str) -> Iterator[str]:
    # Of a request the envelope is optional: the prompt may be prose.
    without = verdict.envelope is None and "agent_request/no-envelope" not in _rules(verdict)
    if verdict.accepted and (without or verdict.feedback is not None):
        yield "accepted without an envelope, or with feedback"
    if not verdict.accepted and not verdict.feedback:
        yield "rejected without feedback"
    if sum(candidate.chosen for candidate in verdict.candidates) > 1:
        yield "two candidates are chosen"

    json.dumps(verdict.to_dict()).encode()

    lines = text.split("\n")

    for finding in verdict.findings:
        if finding.line is not None and not 1 <= finding.line <= len(lines):
            yield f"{finding.rule} stands on line {finding.line} of {len(lines)}"
        elif (
            finding.line is not None
            and not 1 <= (finding.column or 1) <= len(lines[finding.line - 1]) + 1
        ):
            yield (
                f"{finding.rule} stands in column {finding.column} of a line of"
                f" {len(lines[finding.line - 1])}"
            )

    named = [candidate.line for candidate in verdict.candidates]
    named += [repair.line for repair in verdict.repairs if repair.line is not None]
    if not all(1 <= line <= len(lines) for line in named):
        yield "a candidate or a repair stands outside of the text"


def _repaired_is_rejected(lenient: Verdict) -> Iterator[str]:
    if lenient.repaired_text is None:
        return

    again = validate(lenient.repaired_text, protocol=lenient.protocol or "auto")
    if not again.accepted:
        rules = {finding.rule for finding in again.of_severity(Severity.ERROR)}
        yield f"accepted, but rejected once it is repaired: {', '.join(sorted(rules))}"


def _beginning_is_accepted(lenient: Verdict, text: str, chance: random.Random) -> Iterator[str]:
    """Check that the text is rejected when cut off before the end tag of the root."""
    without_end = _WITHOUT_END & _rules(lenient) or "_CONTEXT" in text
    if lenient.span is None or lenient.read_text != text or without_end:
        return

    cut = text[: chance.randrange(lenient.span[0], lenient.span[1])]
    short = validate(cut)
    # Another envelope before it counts where too little is left to know that this one was one.
    other = short.protocol != lenient.protocol or _WITHOUT_END & _rules(short)
    if short.accepted and not other and not _CLOSED & _rules(short):
        yield f"still accepted as {short.protocol} when cut off after {len(cut):,} characters"


def _strict_differs(lenient: Verdict, text: str) -> Iterator[str]:
    mode: Mode = "strict"
    strict = validate(text, mode=mode)
    # Of very many findings the worst are listed, and which those are depends on the mode.
    if not lenient.omitted and (
        _rules(strict) != _rules(lenient) or strict.envelope != lenient.envelope
    ):
        yield "strict and lenient mode read differently"

    if strict.accepted and not lenient.accepted:
        yield "accepted in strict mode only"
    if validate(text, mode=mode) != strict:
        yield "the same text gets another verdict the second time"


def _rules(verdict: Verdict) -> frozenset[str]:
    return frozenset(finding.rule for finding in verdict.findings)
