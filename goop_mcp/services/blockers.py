"""Collect the blockers of an agent for the prompt that resolves them."""

from collections.abc import Mapping
from typing import Any

from goop_mcp.messages.quoting import line
from goop_mcp.protocols import validate
from goop_mcp.routing import Option, RoutingContext, route

__all__ = ["blocker_values"]

_ARCHITECTURE = 4
"""The deviation rule by which an agent stops and asks, for instance before it changes a schema."""


def blocker_values(text: str, protocol: str = "auto") -> Mapping[str, Any]:
    """Return the values of the prompt resolve_blocker for the reply `text`; each text is one line.

    `feedback` is empty if and only if the reply is accepted; only then its blockers count.
    `for_user` states that the rules of the agent leave the decision to the user. Raises
    UnknownNameError for an unknown protocol.
    """
    verdict = validate(text, protocol=protocol)
    decision = route(verdict, RoutingContext())
    envelope = verdict.envelope.to_dict() if verdict.envelope is not None else {}

    return {
        "feedback": verdict.feedback or "",
        "reason": line(decision.reason),
        "agent": _line(envelope.get("agent")),
        "summary": _line(envelope.get("summary")),
        "blockers": [line(each) for each in decision.blockers],
        "questions": [
            {
                "text": line(each.text),
                "context": _line(each.context),
                "options": [f"{option.letter}) {_option(option)}" for option in each.options],
            }
            for each in decision.questions
        ],
        "for_user": any(each.rule == _ARCHITECTURE for each in decision.questions),
    }


def _option(option: Option) -> str:
    """Return the text of `option`, marked as recommended unless it contains that word already."""
    marked = option.recommended and "recommended" not in option.text.lower()
    return line(option.text) + (" (recommended)" if marked else "")


def _line(value: object) -> str:
    return line(value) if isinstance(value, str) and value.strip() else ""
