"""The tools that a server offers, with the titles, annotations and schemas that clients read.

Each tool is a method of the classes that are imported here. It reads the arguments, calls the use
case and formats the result; clients see its signature as the schema and its docstring as the
description.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import JsonValue

from goop_mcp.context import AppContext
from goop_mcp.server.actions import needs_of
from goop_mcp.server.tools.handoffs import HandoffTools
from goop_mcp.server.tools.hooks import HookTools
from goop_mcp.server.tools.listing import flat_schema, listed_schema, without_titles
from goop_mcp.server.tools.memories import MemoryTools
from goop_mcp.server.tools.project_steps import StepTools
from goop_mcp.server.tools.projects import ProjectTools
from goop_mcp.server.tools.replies import ReplyTools
from goop_mcp.server.tools.reports import ReportTools
from goop_mcp.server.tools.rules import RuleTools
from goop_mcp.server.tools.runs import RunTools
from goop_mcp.settings import ALL_TOOLS, CORE_TOOLS, SettingsError

__all__ = ["OfferedTool", "offered_tools"]

_ONLY_READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_COUNTS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
_ADDS_ONCE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
_REMOVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
_CHANGES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
)
_ADDS_A_FILE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)

_Function = Callable[
    ...,
    CallToolResult | Awaitable[CallToolResult] | Awaitable[CallToolResult | InputRequiredResult],
]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool, and the whole schema of its answer; the list of tools has a flat one.

    `is_core` is whether an agent needs it that only does its work and reports.
    """

    tool: Tool
    answer_schema: dict[str, JsonValue]
    is_core: bool = False


def offered_tools(application: AppContext) -> list[OfferedTool]:
    """Return the tools of `application`, in the order in which clients list them.

    Raises SettingsError if the settings name a tool that does not exist.
    """
    replies, projects, memories = (
        ReplyTools(application),
        ProjectTools(application),
        MemoryTools(application),
    )
    tools = [
        _tool(replies.validate_report, title="Validate a report", is_core=True),
        _tool(ReportTools(application).build_report, title="Build a report", is_core=True),
        _tool(replies.route_next_action, title="Decide what happens next"),
        _tool(projects.record_report, title="Record a report", annotations=_ADDS_ONCE),
        _tool(projects.project_status, title="Say how the project stands", is_core=True),
        _tool(
            StepTools(application).update_project,
            title="Take the project further",
            annotations=_CHANGES,
        ),
        _tool(
            HandoffTools(application).build_handoff,
            title="Build a handoff",
            annotations=_ADDS_A_FILE,
        ),
        _tool(memories.save_memory, title="Save a memory", annotations=_ADDS_ONCE, is_core=True),
        _tool(memories.search_memory, title="Search the memory", is_core=True),
        _tool(memories.get_memory, title="Read a memory"),
        _tool(memories.forget_memory, title="Forget a memory", annotations=_REMOVES),
        _tool(RuleTools(application).explain_rule, title="Explain a rule"),
    ]
    tools = _chosen(tools, application.settings.tools)

    # These groups have options of their own, which add them to whatever was chosen.
    if application.settings.hook_tool:
        tools.append(
            _tool(
                HookTools(application).hook_check,
                title="Answer a hook of the host",
                annotations=_COUNTS,
            )
        )

    if application.settings.allow_run:
        tools.append(
            _tool(
                RunTools(application).run_check,
                title="Run a named check",
                annotations=_CHANGES,
            )
        )

    if application.settings.goopspec_aliases:
        # The names of the GoopSpec packages.
        tools += [
            _tool(memories.memory_save, title="Save a memory (GoopSpec)", annotations=_ADDS_ONCE),
            _tool(memories.memory_search, title="Search the memory (GoopSpec)"),
        ]

    return tools


def _chosen(tools: Iterable[OfferedTool], choice: str) -> list[OfferedTool]:
    """Return the tools of a group, or those that `choice` names, divided by commas."""
    by_name = {each.tool.name: each for each in tools}
    if choice == ALL_TOOLS:
        return [*by_name.values()]
    if choice == CORE_TOOLS:
        return [each for each in by_name.values() if each.is_core]

    names = [name for part in choice.split(",") if (name := part.strip())]
    for name in names:
        if name not in by_name:
            if name in (CORE_TOOLS, ALL_TOOLS):
                raise SettingsError(f"--tools names {name!r} and tools; name either of them")

            near = get_close_matches(name, [CORE_TOOLS, ALL_TOOLS, *by_name], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise SettingsError(
                f"--tools names {name!r}, which does not exist{hint} Expected {CORE_TOOLS},"
                f" {ALL_TOOLS}, or names divided by commas: {', '.join(by_name)}"
            )

    if not names:
        raise SettingsError(f"--tools is empty; expected {CORE_TOOLS}, {ALL_TOOLS}, or names")

    return [each for each in by_name.values() if each.tool.name in names]


def _tool(
    function: _Function,
    *,
    title: str,
    annotations: ToolAnnotations = _ONLY_READS,
    is_core: bool = False,
) -> OfferedTool:
    # Clients break lines themselves: each paragraph of the docstring becomes one line.
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    description = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    tool = Tool.from_function(
        function, title=title, description=description, annotations=annotations
    )
    # A tool whose scopes are in no table would be offered to everybody, or to nobody.
    needs_of(tool.name)
    # The arguments are read already: a reply in JSON stays a text.
    metadata = tool.fn_metadata
    tool.fn_metadata = _ReadArguments.model_construct(
        **{name: getattr(metadata, name) for name in FuncMetadata.model_fields}
    )
    tool.parameters = listed_schema(tool.parameters)
    # Clients and tests validate each answer with the schema; a validation here as well takes a
    # twentieth of a call.
    tool.fn_metadata.output_model = None
    answer_schema = without_titles(tool.fn_metadata.output_schema or {})
    tool.fn_metadata.output_schema = flat_schema(answer_schema)

    return OfferedTool(tool=tool, answer_schema=answer_schema, is_core=is_core)


class _ReadArguments(FuncMetadata):
    """The arguments of a tool, read before by `goop_mcp.server.arguments`."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return `data` unchanged."""
        return data
