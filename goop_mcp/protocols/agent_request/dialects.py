"""Requests in other dialects, read on demand only; what a dialect lacks stays a gap (D-82)."""

from collections.abc import Iterator
from typing import Literal, get_args

from msgspec.structs import replace

from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols.agent_request.family import AGENT_REQUEST
from goop_mcp.protocols.agent_request.model import Extension, Request
from goop_mcp.protocols.agent_request.rules.structure import REQUIRED_PARTS
from goop_mcp.structs import DataStruct
from goop_mcp.validation import pipeline
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.verdict import Verdict

__all__ = ["Dialect", "DialectReading", "DialectRequest", "read_dialect"]

Dialect = Literal["fan-out", "conversation"]

_INSTRUCTION = "spawn_instruction_text"
_AGENT = "agent_key"
_MESSAGE = "conversation_message"


class DialectRequest(DataStruct, frozen=True, kw_only=True):
    """One request as far as the dialect expresses it.

    `gaps` names what an `<agent_request>` must have and it has not.
    """

    request: Request
    gaps: tuple[str, ...]


class DialectReading(DataStruct, frozen=True, kw_only=True):
    """What was read.

    `verdict` is that of the protocol itself: its findings say which dialect the prompt is in.

    `requests` is empty when the prompt is not in the dialect that was asked for.
    """

    dialect: Dialect
    requests: tuple[DialectRequest, ...]
    verdict: Verdict


def read_dialect(text: str, *, dialect: Dialect, limits: Limits = DEFAULT_LIMITS) -> DialectReading:
    """Read a prompt in another dialect of the protocol.

    "fan-out" turns each `<spawn>` in `<spawns>` into a request of its own, with its agent and
    instruction; "conversation" reads `<conversation_message>` as the task. Workflows outside the
    four stay unknown, and deliverables are never filled in: nothing read here is accepted by
    itself. Raises UnknownNameError for an unknown dialect.
    """
    if dialect not in get_args(Dialect):
        raise UnknownNameError("dialect", dialect, get_args(Dialect))

    verdict = pipeline.validate(text, (AGENT_REQUEST,), protocol="agent_request", limits=limits)
    whole = (
        verdict.envelope
        if isinstance(verdict.envelope, Request) and not verdict.envelope.partial
        else None
    )
    requests: tuple[DialectRequest, ...] = ()
    if whole is not None:
        read = _fan_out if dialect == "fan-out" else _conversation
        parts = [name for name in REQUIRED_PARTS if not name.startswith("@")]
        requests = tuple(
            DialectRequest(
                request=each, gaps=tuple([name for name in parts if not getattr(each, name)])
            )
            for each in read(whole)
        )

    return DialectReading(dialect=dialect, requests=requests, verdict=verdict)


def _fan_out(whole: Request) -> Iterator[Request]:
    spawns = [
        each
        for extension in whole.extensions
        if extension.name == "spawns"
        for each in extension.children
    ]
    for spawn in spawns:
        if spawn.name == "spawn":
            # What a spawn does not set itself comes from the whole request, except what describes
            # the whole only: summary and session id stay gaps (D-82).
            yield replace(
                whole,
                task_details=_text(spawn, _INSTRUCTION),
                target_agent=_text(spawn, _AGENT),
                current_task_summary=None,
                session_id=None,
                extensions=(spawn,),
            )


def _conversation(whole: Request) -> Iterator[Request]:
    message = next((each for each in whole.extensions if each.name == _MESSAGE), None)
    if message is not None:
        rest = tuple(each for each in whole.extensions if each is not message)
        details = whole.task_details or message.text.strip() or None
        yield replace(whole, task_details=details, extensions=rest)


def _text(element: Extension, name: str) -> str | None:
    return next(
        (child.text.strip() or None for child in element.children if child.name == name), None
    )
