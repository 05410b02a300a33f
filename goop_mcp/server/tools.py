"""The tools: read the arguments, call the operation, present the value. The docstrings are what clients read."""

import inspect
from collections.abc import Callable
from typing import Annotated, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field, JsonValue

from goop_mcp.operations.rule_pages import rule_page
from goop_mcp.protocols import RULES, validate
from goop_mcp.server.answers import answer, decision_answer, verdict_answer
from goop_mcp.server.handoffs import Handoffs
from goop_mcp.server.models import DecisionModel, ProtocolChoice, RulePageModel, VerdictModel
from goop_mcp.settings import Settings
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import DEFAULT_LIMITS

__all__ = ["offered_tools"]

_ONLY_LOOKS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ADDS_A_FILE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)


def offered_tools(settings: Settings) -> list[Tool]:
    """Return the tools for the project of `settings`, in the order in which clients list them."""
    return [
        _tool(validate_report, title="Validate a report"),
        _tool(route_next_action, title="Say what happens next"),
        _tool(Handoffs(settings.project).build_handoff, title="Build a handoff", annotations=_ADDS_A_FILE),
        _tool(explain_rule, title="Explain a rule"),
    ]


def validate_report(
    text: Annotated[
        str,
        Field(
            description="The agent's whole reply, as it came.",
            max_length=DEFAULT_LIMITS.text_bytes,
        ),
    ],
    *,
    protocol: Annotated[ProtocolChoice, Field(description="The protocol of the envelope; auto detects it.")] = "auto",
    mode: Annotated[
        Literal["lenient", "strict"],
        Field(description="lenient mends faults of form and warns; strict makes each of them an error."),
    ] = "lenient",
    expected_agent: Annotated[
        str | None,
        Field(description="The agent that was asked, for example goop-executor; null: any.", max_length=200),
    ] = None,
    expected_phase: Annotated[
        str | None,
        Field(description="The current workflow phase, for example execute; null: any.", max_length=200),
    ] = None,
    check_workspace: Annotated[
        bool, Field(description="Not available in this version; leave it false.", strict=True)
    ] = False,
) -> Annotated[CallToolResult, VerdictModel]:
    """Judge the envelope in an agent's reply: <goop_report>, <agent_request>, speckit or Factory JSON.

    Use it on every reply of a subagent before acting on it, and on your own report before sending it. Reports every
    fault at once, with line, reason and fix. When the reply is rejected, send the feedback back to the agent, or mend
    your own report by it. Faults of form are mended in lenient mode; a missing or unknown status, a missing field or a
    reply that was cut off never are. Reads only the text given: it opens no file and changes nothing.
    """
    if check_workspace:
        raise ToolError("workspace checks are not available in this version; call again with check_workspace=false")
    expected = Expectations(agent=expected_agent, phase=expected_phase)
    return verdict_answer(validate(text, protocol=protocol, mode=mode, expected=expected))


def route_next_action(
    text: Annotated[
        str, Field(description="The agent's whole reply, as it came.", max_length=DEFAULT_LIMITS.text_bytes)
    ],
    *,
    protocol: Annotated[ProtocolChoice, Field(description="The protocol of the envelope; auto detects it.")] = "auto",
    mode: Annotated[
        Literal["lenient", "strict"],
        Field(description="lenient mends faults of form and warns; strict makes each of them an error."),
    ] = "lenient",
    expected_agent: Annotated[
        str | None, Field(description="The agent that was asked; null: any.", max_length=200)
    ] = None,
    expected_phase: Annotated[
        str | None, Field(description="The current workflow phase; null: any.", max_length=200)
    ] = None,
    attempt: Annotated[int, Field(description="Which attempt at the same request this is.", ge=1, le=1000)] = 1,
    iteration: Annotated[int, Field(description="How many feedbacks were given on this edge.", ge=0, le=1000)] = 0,
    max_iterations: Annotated[
        int | None, Field(description="The limit in the feedback that was sent; null: the default.", ge=0, le=1000)
    ] = None,
    previous_rules: Annotated[
        list[str] | None, Field(description="Rules that the last rejected reply broke; null: none.", max_length=100)
    ] = None,
    context: Annotated[
        dict[str, JsonValue] | None,
        Field(
            description="What else you know, above all the state_changes you stored: counters, policy, evidence, "
            "dependencies, batch and so on; a name in it wins over the argument. null: nothing."
        ),
    ] = None,
) -> Annotated[CallToolResult, DecisionModel]:
    """Judge an agent's reply and say what happens next: who continues, with which words, or why to ask the user.

    Use it in place of validate_report when you are the orchestrator and have to act on the reply. Never goes on from a
    rejected reply, a failed check or a blocking verdict; what it cannot place is ask_user. It remembers nothing:
    store state_changes and give what you stored as context with the next call. It starts no agent and changes nothing.
    """
    from goop_mcp.operations.route_reply import route_reply  # noqa: PLC0415 - the router is loaded by the first decision
    from goop_mcp.routing import RoutingContext  # noqa: PLC0415

    known = {
        "expected_agent": expected_agent,
        "phase": expected_phase,
        "attempt": attempt,
        "iteration": iteration,
        "max_iterations": max_iterations,
        "previous_rules": previous_rules or [],
        **(context or {}),
    }
    return decision_answer(route_reply(text, RoutingContext.from_dict(known), protocol=protocol, mode=mode))


def explain_rule(
    rule: Annotated[
        str,
        Field(
            description="Id of the rule as a finding names it, for example goop_report/unknown-status.",
            max_length=200,
        ),
    ],
) -> Annotated[CallToolResult, RulePageModel]:
    """Explain one rule: what it catches, why, a bad and a good example, and the fix.

    Use it when a finding of validate_report is not clear enough to mend. The resource goop://rules lists all rules.
    """
    page = rule_page(RULES.find(rule))
    return answer(page.to_markdown(), page.to_dict())


def _tool(function: Callable[..., CallToolResult], *, title: str, annotations: ToolAnnotations = _ONLY_LOOKS) -> Tool:
    tool = Tool.from_function(function, title=title, description=_description(function), annotations=annotations)
    tool.parameters = _without_titles(tool.parameters)
    tool.fn_metadata.output_schema = _without_titles(tool.fn_metadata.output_schema or {})
    return tool


def _description(function: Callable[..., CallToolResult]) -> str:
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
    return {name: _plain(schema) for name, schema in schemas.items()} if isinstance(schemas, dict) else schemas


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _without_titles(value) if isinstance(value, dict) else value
