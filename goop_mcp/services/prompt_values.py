"""Collect the values of prompts: resume_session, resolve_blocker and draft_handoff.

Each text is one line, but for the description that is drafted from.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from goop_mcp.messages.quoting import code, fenced, line
from goop_mcp.protocols import validate
from goop_mcp.redaction import redact
from goop_mcp.routing import RoutingContext, route
from goop_mcp.services.draft_request import draft_request
from goop_mcp.workspace.documents.handoff import read_handoff

__all__ = ["blocker_values", "draft_values", "resume_values"]

_MOST_LISTED = 20
_LOCKED = {True: "locked", False: "not locked", None: "locked or not is unknown"}

_ARCHITECTURE = 4
"""The deviation rule by which an agent stops and asks, for instance before it changes a schema."""


def resume_values(text: str | None) -> Mapping[str, Any]:
    """Return the values of the prompt for `text`, that of HANDOFF.md; each value is one line.

    `found` is False without a text.
    """
    if text is None:
        return {"found": False}

    handoff = read_handoff(text)

    next_task = ""
    if (task := handoff.next_task) is not None:
        parts = [
            ("", task.task),
            ("files: ", ", ".join(task.files)),
            ("do: ", task.action),
            ("verify: ", task.verify),
        ]
        next_task = "; ".join(f"{name}{line(text)}" for name, text in parts if text)

    # Lists of the handoff that are empty have no title either.
    commits = [f"{each.sha} {each.subject}" for each in handoff.commits]
    lists = [
        ("Done in the last session", [each.name for each in handoff.completed]),
        ("Decided", handoff.decisions),
        ("Still to be decided", handoff.pending_decisions),
        ("Beware", handoff.gotchas),
        ("Commits", commits),
        ("Memories saved", handoff.memories),
    ]

    lists = [(title, _lines(texts)) for title, texts in lists if texts]
    return {
        "found": True,
        "generated": _line(handoff.generated),
        "phase": _line(handoff.phase),
        "locked": _LOCKED[handoff.spec_locked],
        "wave": _line(handoff.wave),
        "task": _line(handoff.task),
        "command": handoff.command,
        "context": _line(handoff.context),
        "next_task": next_task,
        "files": [code(path) for path in handoff.files_to_read[:_MOST_LISTED]],
        "blockers": _lines(handoff.blockers),
        "lists": lists,
    }


def _lines(texts: Sequence[str]) -> list[str]:
    return [line(text) for text in texts[:_MOST_LISTED]]


def _line(text: str | None) -> str:
    return line(text) if text else ""


def blocker_values(text: str, protocol: str = "auto") -> Mapping[str, Any]:
    """Return the values of the prompt resolve_blocker for the reply `text`; each text is one line.

    `feedback` is empty if and only if the reply is accepted; only then its blockers count.
    `for_user` states that the rules of the agent leave the decision to the user. Raises
    UnknownNameError for an unknown protocol.
    """
    verdict = validate(text, protocol=protocol)
    decision = route(verdict, RoutingContext())
    envelope = verdict.envelope.to_dict() if verdict.envelope is not None else {}

    questions = []
    for each in decision.questions:
        options = []
        for option in each.options:
            # The text may contain that word already.
            marked = option.recommended and "recommended" not in option.text.lower()
            mark = " (recommended)" if marked else ""
            options.append(f"{option.letter}) {line(option.text)}{mark}")

        context = _line_of(each.context)
        questions.append({"text": line(each.text), "context": context, "options": options})

    return {
        "feedback": verdict.feedback or "",
        "reason": line(decision.reason),
        "agent": _line_of(envelope.get("agent")),
        "summary": _line_of(envelope.get("summary")),
        "blockers": [line(each) for each in decision.blockers],
        "questions": questions,
        "for_user": any(each.rule == _ARCHITECTURE for each in decision.questions),
    }


def draft_values(text: str) -> Mapping[str, Any]:
    """Return the values of the prompt draft_handoff for the description `text`.

    Without a description, it is what has to be asked. Raises RequestFieldsError for one that is too
    long.
    """
    if not text.strip():
        asked = {"field": "from_text", "question": "What is to be done, and what for?"}
        return {
            "complete": False,
            "gaps": [asked],
            "optional": [],
            "facts": [],
            "description": "(none yet)",
        }

    drafted = draft_request(text)
    gaps = [{**gap.to_dict(), "question": line(gap.question)} for gap in drafted.gaps]

    return {
        "complete": drafted.is_complete,
        "gaps": [gap for gap in gaps if gap["required"]],
        "optional": [gap for gap in gaps if not gap["required"]],
        "facts": [
            {"line": fact.line, "field": fact.field, "quote": line(fact.quote)}
            for fact in drafted.facts
        ],
        # In a fence that no line of the description closes, and without its secrets.
        "description": "\n".join(fenced(redact(text).text, "text")),
    }


def _line_of(value: object) -> str:
    return line(value) if isinstance(value, str) and value.strip() else ""
