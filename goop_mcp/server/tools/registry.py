"""The tools that a server offers, with the titles, annotations and schemas that clients read.

Each tool is a method of the classes that are imported here. It reads the arguments, calls the use
case and formats the result; clients see its signature as the schema and its docstring as the
description.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any, get_args, get_origin

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import CallToolResult, InputRequiredResult, ToolAnnotations
from pydantic import JsonValue

from goop_mcp.context import AppContext
from goop_mcp.server.tools.handoffs import HandoffTools
from goop_mcp.server.tools.hooks import HookTools
from goop_mcp.server.tools.memories import MemoryTools
from goop_mcp.server.tools.project_steps import StepTools
from goop_mcp.server.tools.projects import ProjectTools
from goop_mcp.server.tools.replies import ReplyTools
from goop_mcp.server.tools.rules import RuleTools

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


def offered_tools(application: AppContext) -> list[Tool]:
    """Return the tools of `application`, in the order in which clients list them."""
    replies, projects, memories = (
        ReplyTools(application),
        ProjectTools(application),
        MemoryTools(application),
    )
    tools = [
        _tool(replies.validate_report, title="Validate a report"),
        _tool(replies.route_next_action, title="Decide what happens next"),
        _tool(projects.record_report, title="Record a report", annotations=_ADDS_ONCE),
        _tool(projects.project_status, title="Say how the project stands"),
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
    _keep_texts(tool)
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


def _keep_texts(tool: Tool) -> None:
    """Stop `tool` from parsing texts for arguments that accept text, except lists sent as text.

    The SDK parses a text that looks like JSON, for clients that send a list as a text. A reply that
    is JSON must stay a text.
    """
    metadata = tool.fn_metadata
    tool.fn_metadata = _TextArguments.model_construct(
        **{name: getattr(metadata, name) for name in FuncMetadata.model_fields}
    )


class _TextArguments(FuncMetadata):
    """The arguments of a tool."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return `data` with lists and objects parsed from texts where no text is allowed."""
        parsed = super().pre_parse_json(data)
        for name, given in data.items():
            field = self.arg_model.model_fields.get(name)
            if field is None or not isinstance(given, str) or parsed[name] is given:
                continue

            # A text is allowed and not a list: what was parsed was meant as a text.
            kinds = set(_types_in(field.annotation))
            if str in kinds and not (isinstance(parsed[name], list) and list in kinds):
                parsed[name] = given

        return parsed


# Annotations are of any type.
def _types_in(annotation: Any) -> Iterator[object]:  # noqa: ANN401
    """Yield the types that the alternatives of `annotation` name."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _types_in(get_args(annotation)[0])
    elif origin is None or (isinstance(origin, type) and issubclass(origin, list | dict)):
        yield origin or annotation
    else:
        for each in get_args(annotation):
            yield from _types_in(each)
