"""The tools: read the arguments, call the operation, present the value.

The docstrings are what clients read.
"""

import inspect
from collections.abc import Awaitable, Callable

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import JsonValue

from goop_mcp.composition import Application
from goop_mcp.server.tools.handoffs import HandoffTools
from goop_mcp.server.tools.hooks import HookTools
from goop_mcp.server.tools.memories import MemoryTools
from goop_mcp.server.tools.projects import ProjectTools
from goop_mcp.server.tools.replies import ReplyTools
from goop_mcp.server.tools.rules import RuleTools
from goop_mcp.server.tools.texts import keep_texts

__all__ = ["offered_tools"]

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
_ADDS_A_FILE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)

_Function = Callable[..., CallToolResult | Awaitable[CallToolResult]]


def offered_tools(application: Application) -> list[Tool]:
    """Return the tools of `application`, in the order in which clients list them."""
    replies, projects, memories = (
        ReplyTools(application),
        ProjectTools(application),
        MemoryTools(application),
    )
    tools = [
        _tool(replies.validate_report, title="Validate a report"),
        _tool(replies.route_next_action, title="Say what happens next"),
        _tool(projects.record_report, title="Record a report", annotations=_ADDS_ONCE),
        _tool(projects.project_status, title="Say how the project stands"),
        _tool(
            HandoffTools(application).build_handoff,
            title="Build a handoff",
            annotations=_ADDS_A_FILE,
        ),
        _tool(memories.save_memory, title="Save a memory", annotations=_ADDS_ONCE),
        _tool(memories.search_memory, title="Search the memory"),
        _tool(memories.get_memory, title="Read a memory"),
        _tool(memories.forget_memory, title="Forget a memory", annotations=_REMOVES),
        _tool(RuleTools(application).explain_rule, title="Explain a rule"),
    ]
    if application.settings.hook_tool:
        tools.append(
            _tool(
                HookTools(application).hook_check,
                title="Answer a hook of the host",
                annotations=_COUNTS,
            )
        )

    if application.settings.goopspec_aliases:
        # The names of the GoopSpec packages.
        tools += [
            _tool(memories.memory_save, title="Save a memory (GoopSpec)", annotations=_ADDS_ONCE),
            _tool(memories.memory_search, title="Search the memory (GoopSpec)"),
        ]

    return tools


def _tool(function: _Function, *, title: str, annotations: ToolAnnotations = _ONLY_READS) -> Tool:
    # Clients break lines themselves: each paragraph of the docstring becomes one line.
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    description = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)

    tool = Tool.from_function(
        function, title=title, description=description, annotations=annotations
    )
    keep_texts(tool)
    # The server refuses names that are not listed, which the SDK neither does nor declares.
    tool.parameters = {**_without_titles(tool.parameters), "additionalProperties": False}
    # Clients and tests validate each answer with the schema; a validation here as well takes a
    # twentieth of a call.
    tool.fn_metadata.output_model = None
    tool.fn_metadata.output_schema = _without_titles(tool.fn_metadata.output_schema or {})

    return tool


def _without_titles(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a JSON schema without the titles that only repeat names, a fifth of its size."""
    plain: dict[str, JsonValue] = {}
    for key, value in schema.items():
        # Under these keys stand names, of which one may be "title".
        if key in ("properties", "$defs") and isinstance(value, dict):
            plain[key] = {name: _plain(each) for name, each in value.items()}
        elif key != "title":
            plain[key] = _plain(value)

    return plain


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _without_titles(value) if isinstance(value, dict) else value
