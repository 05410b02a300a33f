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
from goop_mcp.server.tools.replies import DetailLevel

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["HandoffTools"]

_WORD = 200
_SENTENCE = 2_000
_TEXT = 65_536
_ITEMS = 200

_Kind = Annotated[
    Literal["agent_request", "session"],
    Field(description="agent_request: a prompt for a task; session: HANDOFF.md."),
]
_Write = Annotated[
    bool,
    Field(
        description="Also write it to its file.",
        strict=True,
    ),
]
_Mode = Annotated[
    Literal["spawn", "conversation_only", "blocking"],
    Field(description="blocking: the parent waits; conversation_only: no new session."),
]
_Intent = Annotated[
    str | None,
    Field(description="Required for agent_request: the goal of the whole work.", max_length=_TEXT),
]
_Summary = Annotated[
    str | None,
    Field(
        description="Required for agent_request: this task, 10 to 500 characters.",
        max_length=_SENTENCE,
    ),
]
_Workflow = Annotated[
    Literal["SPIKE", "TDD", "standard", "none"],
    Field(description="SPIKE: research only; TDD: tests first."),
]
_Details = Annotated[
    str | None,
    Field(
        description="Required for agent_request: steps, files, when it is done.",
        max_length=_TEXT,
    ),
]
_Constraints = Annotated[
    list[Annotated[str, Field(max_length=_SENTENCE)]],
    Field(description="What must not happen.", max_length=_ITEMS),
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
                "properties": {
                    "kind": {"type": "string", "enum": ["file", "decision", "report"]},
                    "path": {"type": "string"},
                    "required": {"type": "boolean"},
                    "text": {"type": "string"},
                },
            },
        }
    ),
    Field(
        description=(
            "Required for agent_request: what to deliver; path and required (true) are of files."
        ),
        max_length=_ITEMS,
    ),
]
_Notes = Annotated[
    str | None,
    Field(description="What comes next, and what to do when blocked.", max_length=_TEXT),
]
_SessionId = Annotated[
    str | None,
    Field(
        description="YYYYMMDD-HHMMSS-name.",
        max_length=_WORD,
    ),
]
_Parent = Annotated[str | None, Field(description="The agent that asks.", max_length=_WORD)]
_Target = Annotated[str | None, Field(description="The agent that is asked.", max_length=_WORD)]
_Priority = Annotated[Literal["high", "medium", "low"] | None, Field(description="Of the task.")]
_Duration = Annotated[str | None, Field(description="Such as 30m.", max_length=_WORD)]
_Retries = Annotated[int | None, Field(description="After a failure.", ge=0, strict=True)]
_Words = list[Annotated[str, Field(max_length=_WORD)]]
_Dependencies = Annotated[
    _Words, Field(description="Sessions that must be done before.", max_length=_ITEMS)
]
_Notified = Annotated[
    _Words, Field(description="Agents that hear of the result.", max_length=_ITEMS)
]
_Title = Annotated[str | None, Field(description="Heading of the prompt.", max_length=_SENTENCE)]
_Context = Annotated[
    str | None,
    Field(description="Background, Markdown.", max_length=_TEXT),
]
_XsdCompat = Annotated[
    bool,
    Field(
        description="For tools that check with the XML schema.",
        strict=True,
    ),
]
_SessionSummary = Annotated[
    str | None,
    Field(
        description="session: where the work stands.",
        max_length=_TEXT,
    ),
]
_NextAction = Annotated[
    str | None,
    Field(
        description="session: what to do first.",
        max_length=_TEXT,
    ),
]
_NextAgent = Annotated[str | None, Field(description="session: who does it.", max_length=_WORD)]
_NextCommand = Annotated[
    str | None,
    Field(
        description="session: such as /goop-execute.",
        max_length=_WORD,
    ),
]
_Sentences = list[Annotated[str, Field(max_length=_SENTENCE)]]
_FilesToRead = Annotated[
    _Sentences,
    Field(
        description="session: what to read first.",
        max_length=_ITEMS,
    ),
]
_Blockers = Annotated[
    _Sentences,
    Field(description="session: what blocks the work.", max_length=_ITEMS),
]
_Warnings = Annotated[
    _Sentences,
    Field(
        description="session: what to beware of.",
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
        estimated_duration: _Duration = None,
        timeout: _Duration = None,
        max_retries: _Retries = None,
        notify_on_completion: _Notified = [],
        depends_on: _Dependencies = [],
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
        detail: DetailLevel = "short",
    ) -> Annotated[CallToolResult, HandoffModel]:
        """Build a valid handoff: a prompt for another agent, or HANDOFF.md for the next session.

        Use kind=agent_request when you hand a task on, instead of writing XML yourself, and
        kind=session before a session ends; there, what you leave out is taken from reports, plan
        and memory. It starts no agent. Secrets are redacted.
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
            return session_answer(built, detail)

        if write and not here.settings.keeps_files:
            raise ToolError(_KEEPS_NO_FILES)

        request = services.hand_over.hand_over_request(
            {name: given[name] for name in services.hand_over.REQUEST_FIELDS},
            project=here.settings.project,
            write=write,
            now=datetime.now().astimezone(),
        )

        return handoff_answer(request, written=write, detail=detail)
