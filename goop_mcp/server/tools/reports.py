"""The tool build_report, by which agents produce their report without writing XML or JSON."""

from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, Field, JsonValue, WithJsonSchema

from goop_mcp import services
from goop_mcp.memory.times import utc_now, written
from goop_mcp.server.answers import report_answer
from goop_mcp.server.models import AnyObject, LeftOut

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["BuiltReportModel", "ReportTools"]

_WORD = 200
_TEXT = 65_536
_ITEMS = 1_000

_Protocol = Annotated[
    Literal["goop_report", "agent_request", "speckit", "factory"],
    Field(description="Others: all in fields."),
]
_Status = Annotated[
    str | None,
    Field(description="COMPLETE, PARTIAL, BLOCKED or CHECKPOINT.", max_length=_WORD),
]
_Agent = Annotated[str | None, Field(description="Your name.", max_length=_WORD)]
_Phase = Annotated[
    str | None,
    Field(description="plan, specify, execute, accept or research.", max_length=_WORD),
]
_TaskId = Annotated[str | None, Field(description="Such as W2.T3.", max_length=_WORD)]
_Summary = Annotated[str | None, Field(description="What was done.", max_length=_TEXT)]
# The service validates the objects: it names the wrong item and what to write instead.
_Objects = list[JsonValue] | None
_OBJECTS = WithJsonSchema({"type": "array", "items": {"type": "object"}, "maxItems": _ITEMS})
_Files = Annotated[
    _Objects,
    _OBJECTS,
    Field(description="{path, action: created|modified|deleted, description}", max_length=_ITEMS),
]
_Checks = Annotated[
    _Objects,
    _OBJECTS,
    Field(
        description="{name, passed: true|false, evidence: command and result}", max_length=_ITEMS
    ),
]
_NextAction = Annotated[str | None, Field(description="Next, as W2.T4.", max_length=_TEXT)]
_Blockers = Annotated[str | None, Field(description="What blocks you.", max_length=_TEXT)]
_Fields = Annotated[
    AnyObject | None,
    Field(description="More, as next_agent, commits {sha, message}, memories {type, title}."),
]


class BuiltReportModel(BaseModel):
    """A report, ready to end a reply with."""

    text: str = Field(description="The envelope; end your last message with it, unchanged.")
    remarks: list[str] = Field(default=[], description="What the report might say as well.")
    redactions: int = Field(default=0, ge=0, description="How many secrets were redacted in it.")
    left_out: LeftOut = []


class ReportTools:
    """Builds reports for a project; clients read the docstring of the method."""

    def __init__(self, application: "AppContext") -> None:
        """Build reports for the project of `application`."""
        self._application = application

    def build_report(
        self,
        protocol: _Protocol = "goop_report",
        *,
        status: _Status = None,
        agent: _Agent = None,
        phase: _Phase = None,
        task_id: _TaskId = None,
        summary: _Summary = None,
        files: _Files = None,
        checks: _Checks = None,
        next_action: _NextAction = None,
        blockers: _Blockers = None,
        fields: _Fields = None,
    ) -> Annotated[CallToolResult, BuiltReportModel]:
        """Build your report from plain fields; end your last message with the text it returns.

        Use it instead of writing XML or JSON; an error names the field to fix. Changes nothing.
        """
        given = {
            name: value
            for name, value in locals().items()
            if name not in ("self", "protocol", "fields") and value is not None
        }
        if twice := [name for name in given if name in (fields or {})]:
            raise ToolError(f"{twice[0]} is given twice; give it as an argument or in fields")

        built = services.build_report.build_report(
            {**given, **(fields or {})},
            protocol=protocol,
            project=self._application.settings.project,
            judged_by=self._application.judged_by(),
            now=written(utc_now()),
        )

        return report_answer(built)
