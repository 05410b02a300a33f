"""The tool build_handoff, which builds every kind of handoff; its first argument is the kind."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field, JsonValue, WithJsonSchema

from goop_mcp import services
from goop_mcp.memory.times import utc_now, written
from goop_mcp.server.answers import handoff_answer, session_answer
from goop_mcp.server.models import HandoffModel

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["HandoffTools"]

_WORD = 200
_SENTENCE = 2_000
_TEXT = 65_536
_ITEMS = 200

_Kind = Annotated[
    Literal["agent_request", "session"],
    Field(
        description=(
            "agent_request: a prompt that hands a task to another agent; session: HANDOFF.md, to go"
            " on later."
        )
    ),
]
_Write = Annotated[
    bool,
    Field(
        description=(
            "Also write it to its file in the project; never over a file of somebody else."
        ),
        strict=True,
    ),
]
_Mode = Annotated[
    Literal["spawn", "conversation_only", "blocking"],
    Field(
        description=(
            "spawn: a new session; blocking: the parent waits for it; conversation_only:"
            " context only."
        )
    ),
]
_Intent = Annotated[
    str | None,
    Field(
        description="agent_request, required: the goal of the work as a whole.", max_length=_TEXT
    ),
]
_Summary = Annotated[
    str | None,
    Field(
        description=(
            "agent_request, required: this task in one or two sentences, 10 to 500 characters."
        ),
        max_length=_SENTENCE,
    ),
]
_Workflow = Annotated[
    Literal["SPIKE", "TDD", "standard", "none"],
    Field(description="SPIKE: research, no production changes; TDD: tests first; standard; none."),
]
_Details = Annotated[
    str | None,
    Field(
        description="agent_request, required: steps, commands, files, and when the task is done.",
        max_length=_TEXT,
    ),
]
_Constraints = Annotated[
    list[Annotated[str, Field(max_length=_SENTENCE)]],
    Field(description="What must not happen, one text each.", max_length=_ITEMS),
]
# The operation validates the objects: it names the wrong deliverable and what to write instead.
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
                    "path": {
                        "type": "string",
                        "description": "Of a file, relative to the project.",
                    },
                    "required": {
                        "type": "boolean",
                        "description": "Of a file; true where it is left out.",
                    },
                    "text": {"type": "string", "description": "What it holds."},
                },
            },
        }
    ),
    Field(
        description=(
            "agent_request, required: at least one file, decision or report that the agent has to"
            " deliver."
        ),
        max_length=_ITEMS,
    ),
]
_Notes = Annotated[
    str | None,
    Field(
        description="What comes next, and what to do when blocked; null: nothing.", max_length=_TEXT
    ),
]
_SessionId = Annotated[
    str | None,
    Field(
        description="YYYYMMDD-HHMMSS-name; null: none, or one of now when the prompt is written.",
        max_length=_WORD,
    ),
]
_Parent = Annotated[
    str | None, Field(description="The agent that asks; null: unknown.", max_length=_WORD)
]
_Target = Annotated[
    str | None, Field(description="The agent that is asked; null: unknown.", max_length=_WORD)
]
_Priority = Annotated[Literal["high", "medium", "low"] | None, Field(description="Null: none.")]
_Title = Annotated[
    str | None, Field(description="Heading of the prompt; null: the summary.", max_length=_SENTENCE)
]
_Context = Annotated[
    str | None,
    Field(description="Background of the request, Markdown; null: none.", max_length=_TEXT),
]
_XsdCompat = Annotated[
    bool,
    Field(
        description="Write what the literal XML schema accepts, for tools that check with it.",
        strict=True,
    ),
]
_SessionSummary = Annotated[
    str | None,
    Field(
        description="session: where the work stands, 2 to 4 sentences; null: from the reports.",
        max_length=_TEXT,
    ),
]
_NextAction = Annotated[
    str | None,
    Field(
        description="session: what to do first; null: from the last report and the plan.",
        max_length=_TEXT,
    ),
]
_NextAgent = Annotated[
    str | None, Field(description="session: who does it; null: as reported.", max_length=_WORD)
]
_NextCommand = Annotated[
    str | None,
    Field(
        description="session: the command to run, such as /goop-execute; null: as decided.",
        max_length=_WORD,
    ),
]
_Sentences = list[Annotated[str, Field(max_length=_SENTENCE)]]
_FilesToRead = Annotated[
    _Sentences,
    Field(
        description="session: what to read first; empty: the documents of the project.",
        max_length=_ITEMS,
    ),
]
_Blockers = Annotated[
    _Sentences,
    Field(description="session: what blocks the work; empty: as reported.", max_length=_ITEMS),
]
_Warnings = Annotated[
    _Sentences,
    Field(
        description="session: what to beware of; empty: where the project disagrees.",
        max_length=_ITEMS,
    ),
]

_KEEPS_NO_FILES = (
    "this server keeps no files, because its callers are on other machines; "
    "call build_handoff with write=false and write the prompt to its path yourself."
)


class HandoffTools:
    """Builds handoffs for a project; clients read the docstring of the method."""

    def __init__(self, application: "AppContext") -> None:
        """Build handoffs for the project of `application`."""
        self._application = application

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
        constraints: _Constraints = [],
        deliverables: _Deliverables = None,
        backlog_notes: _Notes = None,
        session_id: _SessionId = None,
        parent_agent: _Parent = None,
        target_agent: _Target = None,
        priority: _Priority = None,
        title: _Title = None,
        context: _Context = None,
        xsd_compat: _XsdCompat = False,
        summary: _SessionSummary = None,
        next_action: _NextAction = None,
        next_agent: _NextAgent = None,
        next_command: _NextCommand = None,
        files_to_read: _FilesToRead = [],
        blockers: _Blockers = [],
        warnings: _Warnings = [],
    ) -> Annotated[CallToolResult, HandoffModel]:
        """Build a valid handoff: a prompt for another agent, or HANDOFF.md for the next session.

        kind=agent_request makes an <agent_request> of the fields given: use it when you hand a task
        on, instead of writing XML yourself. goop://templates has prompts for common tasks.
        kind=session makes HANDOFF.md: use it before a session ends; what you leave out is taken
        from reports, plan and memory since a session last resumed. Starts no agent. Secrets
        are redacted. With write=true the prompt is written to
        docs/.scratch/sessions/<session_id>/prompt.md, or the handoff to .goopspec/HANDOFF.md; if
        somebody else wrote that, to a file next to it. Where machines share the database, the
        handoff is recorded and read at goop://project/HANDOFF.md instead.
        """
        # The arguments are the fields, under the same names.
        given, here = locals(), self._application
        if kind == "session":
            handoffs = services.session_handoff
            project_context = here.writing_context() if write else here.project_context
            fields = handoffs.session_fields(
                {name: given[name] for name in handoffs.SESSION_FIELDS}
            )
            built = handoffs.build_session_handoff(
                fields, project_context, write=write, now=written(utc_now())
            )
            return session_answer(built)

        if write and not here.settings.keeps_files:
            raise ToolError(_KEEPS_NO_FILES)

        request = services.hand_over.hand_over_request(
            {name: given[name] for name in services.hand_over.REQUEST_FIELDS},
            project=here.settings.project,
            write=write,
            now=datetime.now().astimezone(),
        )

        return handoff_answer(request, written=write)
