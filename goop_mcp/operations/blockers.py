"""What stands in the way of an agent, laid out for whoever has to remove it."""

from collections.abc import Mapping
from typing import Any

from goop_mcp.messages.quoting import line
from goop_mcp.protocols import validate
from goop_mcp.routing import Option, Question, RoutingContext, route

__all__ = ["blocker_values"]

_ARCHITECTURE = 4
"""The number of the rule by which an agent stops and asks: schema, framework, large dependency, interface, redesign."""


def blocker_values(text: str, protocol: str = "auto") -> Mapping[str, Any]:
    """Return what the prompt resolve_blocker needs to know of the reply `text`; each text is one line.

    `feedback` is empty exactly when the reply is accepted; only then its blockers count. `for_user` tells that the
    agent's own rules leave the decision to the user. Raises UnknownNameError for an unknown protocol.
    """
    verdict = validate(text, protocol=protocol)
    decision = route(verdict, RoutingContext())
    envelope = verdict.envelope.to_dict() if verdict.envelope is not None else {}

    return {
        "feedback": verdict.feedback or "",
        "reason": line(decision.reason),
        "agent": _said(envelope.get("agent")),
        "summary": _said(envelope.get("summary")),
        "blockers": [line(each) for each in decision.blockers],
        "questions": [_question(each) for each in decision.questions],
        "for_user": any(each.rule == _ARCHITECTURE for each in decision.questions),
    }


def _is_praised(option: Option) -> bool:
    """Return whether the agent recommends `option` without saying so in its text."""
    return option.recommended and "recommended" not in option.text.lower()


def _said(value: object) -> str:
    return line(value) if isinstance(value, str) and value.strip() else ""


def _question(question: Question) -> Mapping[str, object]:
    options = [
        f"{each.letter}) {line(each.text)}{' (recommended)' if _is_praised(each) else ''}"
        for each in question.options
    ]
    return {"text": line(question.text), "context": _said(question.context), "options": options}
