"""The tool build_handoff: one tool for each kind of handoff, told apart by its first argument.

To offer another kind, add its arguments to the method, its word to the schema of `kind` and its builder to `_BUILDERS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field, JsonValue, WithJsonSchema

from goop_mcp.server.answers import handoff_answer
from goop_mcp.server.models import HandoffModel

if TYPE_CHECKING:
    from goop_mcp.operations.build_request import BuiltRequest

__all__ = ["Handoffs"]

_WORD = 200
_SENTENCE = 2_000
_TEXT = 65_536
_ITEMS = 200

# "session" is let through to be refused in words; the schema names only what works.
_Kind = Annotated[
    Literal["agent_request", "session"],
    WithJsonSchema({"type": "string", "enum": ["agent_request"]}),
    Field(description="What to build: agent_request, a prompt that hands a task to another agent."),
]
_Write = Annotated[
    bool, Field(description="Also write the prompt to its file in the project; never over another file.", strict=True)
]
_Mode = Annotated[
    Literal["spawn", "conversation_only", "blocking"],
    Field(
        description="spawn: a session of its own; blocking: the parent waits for it; conversation_only: context only."
    ),
]
_Intent = Annotated[str | None, Field(description="Required. The goal of the work as a whole.", max_length=_TEXT)]
_Summary = Annotated[
    str | None,
    Field(description="Required. This task in one or two sentences, 10 to 500 characters.", max_length=_SENTENCE),
]
_Workflow = Annotated[
    Literal["SPIKE", "TDD", "standard", "none"],
    Field(description="SPIKE: research, no production changes; TDD: tests first; standard; none."),
]
_Details = Annotated[
    str | None, Field(description="Required. Steps, commands, files, and when the task is done.", max_length=_TEXT)
]
_Constraints = Annotated[
    list[Annotated[str, Field(max_length=_SENTENCE)]],
    Field(description="What must not happen, one text each.", max_length=_ITEMS),
]
# The operation judges the objects: it names the deliverable that is wrong, with what to write.
_Deliverables = Annotated[
    list[JsonValue] | None,
    WithJsonSchema(
        {
            "type": "array",
            "maxItems": _ITEMS,
            "items": {
                "type": "object",
                "required": ["kind"],
                "additionalProperties": False,
                "properties": {
                    "kind": {"type": "string", "enum": ["file", "decision", "report"]},
                    "path": {"type": "string", "description": "Of a file, relative to the project."},
                    "required": {"type": "boolean", "description": "Of a file; true where it is left out."},
                    "text": {"type": "string", "description": "What it holds."},
                },
            },
        }
    ),
    Field(
        description="Required. At least one file, decision or report that the agent has to deliver.", max_length=_ITEMS
    ),
]
_Notes = Annotated[
    str | None, Field(description="What comes next, and what to do when blocked; null: nothing.", max_length=_TEXT)
]
_SessionId = Annotated[
    str | None,
    Field(description="YYYYMMDD-HHMMSS-name; null: none, or one of now when the prompt is written.", max_length=_WORD),
]
_Parent = Annotated[str | None, Field(description="The agent that asks; null: not said.", max_length=_WORD)]
_Target = Annotated[str | None, Field(description="The agent that is asked; null: not said.", max_length=_WORD)]
_Priority = Annotated[Literal["high", "medium", "low"] | None, Field(description="Null: not said.")]
_Title = Annotated[str | None, Field(description="Heading of the prompt; null: the summary.", max_length=_SENTENCE)]
_Context = Annotated[
    str | None, Field(description="Prose behind the request, in Markdown; null: none.", max_length=_TEXT)
]
_XsdCompat = Annotated[
    bool, Field(description="Write what the literal XML schema accepts, for tools that check with it.", strict=True)
]


@dataclass(frozen=True, slots=True)
class Handoffs:
    """Builds handoffs for the project whose folder is given; prompts are written below it."""

    project: Path

    def build_handoff(
        self,
        kind: _Kind,
        *,
        write: _Write = False,
        mode: _Mode = "spawn",
        original_intent: _Intent = None,
        current_task_summary: _Summary = None,
        workflow: _Workflow = "standard",
        task_details: _Details = None,
        constraints: _Constraints = [],  # noqa: B006 - the schema shows the default; it is never changed
        deliverables: _Deliverables = None,
        backlog_notes: _Notes = None,
        session_id: _SessionId = None,
        parent_agent: _Parent = None,
        target_agent: _Target = None,
        priority: _Priority = None,
        title: _Title = None,
        context: _Context = None,
        xsd_compat: _XsdCompat = False,
    ) -> Annotated[CallToolResult, HandoffModel]:
        """Build a handoff that is always valid: a prompt with an <agent_request> made of the fields given.

        Use it when you hand a task to another agent, in place of writing XML yourself: everything is escaped, and the
        prompt has been judged in strict mode. goop://templates has prompts for common tasks. Starts no agent; with
        write=true it makes one new file, docs/.scratch/sessions/<session_id>/prompt.md, and changes no other.
        """
        fields = {
            "mode": mode,
            "original_intent": original_intent,
            "current_task_summary": current_task_summary,
            "workflow": workflow,
            "task_details": task_details,
            "constraints": constraints,
            "deliverables": deliverables,
            "backlog_notes": backlog_notes,
            "session_id": session_id,
            "parent_agent": parent_agent,
            "target_agent": target_agent,
            "priority": priority,
            "title": title,
            "context": context,
            "xsd_compat": xsd_compat,
        }
        return handoff_answer(self._build(kind, fields, write=write), written=write)

    def _build(self, kind: str, fields: Mapping[str, object], *, write: bool) -> "BuiltRequest":
        if kind not in _BUILDERS:
            raise ToolError(
                f"handoffs of kind {kind} are not available in this version; the kind is {', '.join(_BUILDERS)}"
            )
        return _BUILDERS[kind](fields, self.project, write)


def _agent_request(fields: Mapping[str, object], project: Path, write: bool) -> "BuiltRequest":
    from goop_mcp.operations.hand_over import hand_over_request  # noqa: PLC0415 - a server starts without it

    return hand_over_request(fields, project=project, write=write, now=datetime.now().astimezone())


_BUILDERS: Mapping[str, Callable[[Mapping[str, object], Path, bool], "BuiltRequest"]] = {
    "agent_request": _agent_request
}
