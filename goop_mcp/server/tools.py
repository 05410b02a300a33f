"""The tools: read the arguments, call the operation, present the value.

The docstrings are what clients read.
"""

import inspect
from collections.abc import Awaitable, Callable

from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import JsonValue

from goop_mcp.composition import Application
from goop_mcp.server.handoffs import Handoffs
from goop_mcp.server.hook_checks import HookChecks
from goop_mcp.server.memories import Memories
from goop_mcp.server.projects import Projects
from goop_mcp.server.replies import Replies
from goop_mcp.server.rule_pages import RulePages
from goop_mcp.server.texts import keep_texts

__all__ = ["offered_tools"]

_ONLY_LOOKS = ToolAnnotations(
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
    replies, projects, memories = Replies(application), Projects(application), Memories(application)
    tools = [
        _tool(replies.validate_report, title="Validate a report"),
        _tool(replies.route_next_action, title="Say what happens next"),
        _tool(projects.record_report, title="Record a report", annotations=_ADDS_ONCE),
        _tool(projects.project_status, title="Say how the project stands"),
        _tool(
            Handoffs(application).build_handoff, title="Build a handoff", annotations=_ADDS_A_FILE
        ),
        _tool(memories.save_memory, title="Save a memory", annotations=_ADDS_ONCE),
        _tool(memories.search_memory, title="Search the memory"),
        _tool(memories.get_memory, title="Read a memory"),
        _tool(memories.forget_memory, title="Forget a memory", annotations=_REMOVES),
        _tool(RulePages(application).explain_rule, title="Explain a rule"),
    ]
    if application.settings.hook_tool:
        tools.append(
            _tool(
                HookChecks(application).hook_check,
                title="Answer a hook of the host",
                annotations=_COUNTS,
            )
        )

    return tools + (_aliases(memories) if application.settings.goopspec_aliases else [])


def _aliases(memories: Memories) -> list[Tool]:
    """Return the tools that bear the names of the GoopSpec packages."""
    return [
        _tool(memories.memory_save, title="Save a memory (GoopSpec)", annotations=_ADDS_ONCE),
        _tool(memories.memory_search, title="Search the memory (GoopSpec)"),
    ]


def _tool(function: _Function, *, title: str, annotations: ToolAnnotations = _ONLY_LOOKS) -> Tool:
    tool = Tool.from_function(
        function, title=title, description=_description(function), annotations=annotations
    )
    keep_texts(tool)
    # Names that are not listed are refused, which the SDK would neither do nor say.
    tool.parameters = {**_without_titles(tool.parameters), "additionalProperties": False}
    # Clients hold each answer against the schema, and so do the tests; once more here takes a
    # twentieth of a call.
    tool.fn_metadata.output_model = None
    tool.fn_metadata.output_schema = _without_titles(tool.fn_metadata.output_schema or {})

    return tool


def _description(function: _Function) -> str:
    """Return the docstring with each paragraph on one line, as clients break lines themselves."""
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def _without_titles(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a JSON schema without the titles that only repeat names, a fifth of its size."""
    return {
        key: _each_without_titles(value) if key in ("properties", "$defs") else _plain(value)
        for key, value in schema.items()
        if key != "title"
    }


def _each_without_titles(schemas: JsonValue) -> JsonValue:
    return (
        {name: _plain(schema) for name, schema in schemas.items()}
        if isinstance(schemas, dict)
        else schemas
    )


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _without_titles(value) if isinstance(value, dict) else value
