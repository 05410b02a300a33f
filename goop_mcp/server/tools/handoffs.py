"""The tool build_handoff, which builds every kind of handoff; its first argument is the kind."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field, JsonValue, WithJsonSchema

from goop_mcp import services
from goop_mcp.memory.times import utc_now, written
from goop_mcp.server.answers import draft_answer, handoff_answer, session_answer
from goop_mcp.server.models import HandoffModel
from goop_mcp.server.tools.replies import DetailLevel
from goop_mcp.services.templates import REQUEST_ARGUMENTS

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["HandoffTools"]

_WORD = 200
_SENTENCE = 2_000
_TEXT = 65_536
_ITEMS = 200

_Kind = Annotated[
    Literal["agent_request", "session"],
    Field(description="session: HANDOFF.md."),
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
    Field(description="Required: the goal of the whole work.", max_length=_TEXT),
]
_Summary = Annotated[
    str | None,
    Field(
        description="Required: this task, 10 to 500 characters.",
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
        description="Required: steps, files, when it is done.",
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
        description=("Required: what to deliver; path and required (true) are of files."),
        max_length=_ITEMS,
    ),
]
_Notes = Annotated[
    str | None,
    Field(description="What comes next, also when blocked.", max_length=_TEXT),
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
    _Words, Field(description="Sessions to be done before.", max_length=_ITEMS)
]
_Notified = Annotated[
    _Words, Field(description="Agents that hear of the result.", max_length=_ITEMS)
]
_Title = Annotated[str | None, Field(description="Heading of the prompt.", max_length=_SENTENCE)]
_Context = Annotated[
    str | None,
    Field(description="Background, Markdown.", max_length=_TEXT),
]
_FromText = Annotated[
    str | None,
    Field(
        description="Prose instead; what it lacks comes back as questions.",
        max_length=_TEXT,
    ),
]
_TemplateName = Annotated[
    str | None, Field(description="goop://templates/{name}, with slots.", max_length=_WORD)
]
_Slots = Annotated[
    dict[str, JsonValue] | None,
    WithJsonSchema({"type": "object"}),
    Field(description="Texts of the template."),
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

_DEFAULTS: Mapping[str, tuple[object, ...]] = {
    "mode": ("spawn",),
    "workflow": ("standard",),
    "xsd_compat": (False,),
    **dict.fromkeys(("constraints", "notify_on_completion", "depends_on"), ([],)),
}
"""The values of arguments that say nothing, because a caller that leaves them out sends them."""

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
        from_text: _FromText = None,
        template: _TemplateName = None,
        slots: _Slots = None,
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

        Use kind=agent_request to hand a task on, instead of writing XML yourself, and kind=session
        before a session ends; there, what you leave out is taken from reports, plan and memory.
        Secrets are redacted.
        """
        # The arguments are the fields, under the same names.
        given, here = locals(), self._application
        if kind == "session":
            handoffs = services.session_handoff
            project_context = here.writing_context() if write else here.project_context
            values = handoffs.session_fields(
                {name: given[name] for name in handoffs.SESSION_FIELDS}
            )
            built = handoffs.build_session_handoff(
                values, project_context, write=write, now=written(utc_now())
            )
            return session_answer(built, detail)

        if write and not here.settings.keeps_files:
            raise ToolError(_KEEPS_NO_FILES)

        fields: dict[str, object] = {
            name: given[name] for name in services.hand_over.REQUEST_FIELDS
        }
        if from_text is not None and template is not None:
            raise ToolError("from_text and template are given; give one of them")
        if slots is not None and template is None:
            raise ToolError("slots are given without a template; name it with template")
        if template is not None:
            fields = _of_template(fields, slots or {})
        if from_text is not None:
            # A default is not an answer: only what differs from it counts instead of the text.
            given_fields = {
                name: value
                for name, value in fields.items()
                if value not in _DEFAULTS.get(name, ())
            }
            drafted = services.draft_request.draft_request(from_text, given_fields)
            if not drafted.is_complete:
                return draft_answer(drafted, detail)

            fields = dict(drafted.fields)

        request = services.hand_over.hand_over_request(
            fields,
            project=here.settings.project,
            write=write,
            now=datetime.now().astimezone(),
            template=template,
            reads_own_templates=here.own_templates is not None,
        )

        return handoff_answer(request, written=write, detail=detail)


def _of_template(fields: Mapping[str, object], slots: Mapping[str, JsonValue]) -> dict[str, object]:
    """Return slots and agents; raise ToolError for a field that a template sets itself."""
    for name, value in fields.items():
        if name not in REQUEST_ARGUMENTS and value not in _DEFAULTS.get(name, (None,)):
            raise ToolError(
                f"a template sets {name} itself; give slots, {', '.join(REQUEST_ARGUMENTS)} only"
            )

    return {**slots, **{name: fields[name] for name in REQUEST_ARGUMENTS}}
