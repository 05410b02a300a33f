"""Fixtures of the conformance suite that ask the client: requests in 2025-11-25, rounds later."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.prompts.base import Message
from mcp.types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import Field

__all__ = ["add_questions"]

_STRING: Final = {"type": "string"}
_BOOLEAN: Final = {"type": "boolean"}
_DEFAULTS: Final = {
    "name": {**_STRING, "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {**_STRING, "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {**_BOOLEAN, "default": True},
}
_OPTIONS: Final = ["option1", "option2", "option3"]
_TITLED: Final = [{"const": f"value{number}", "title": f"Choice {number}"} for number in (1, 2, 3)]
_CHOICES: Final = {
    "untitledSingle": {**_STRING, "enum": _OPTIONS},
    "titledSingle": {**_STRING, "oneOf": _TITLED},
    "legacyEnum": {
        **_STRING,
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {**_STRING, "enum": _OPTIONS}},
    "titledMulti": {"type": "array", "items": {"anyOf": _TITLED}},
}


def add_questions(server: MCPServer) -> None:
    """Offer tools and a prompt that need an answer from the client."""
    _add_pushed(server)
    _add_declared(server)
    _add_single_rounds(server)
    _add_rounds_with_state(server)
    _add_prompt(server)


def _add_pushed(server: MCPServer) -> None:
    @server.tool(name="test_sampling")
    async def sampling(prompt: str, ctx: Context) -> str:
        """Ask the client's model."""
        message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
        answer = await ctx.session.create_message(
            [message], max_tokens=100, related_request_id=ctx.request_id
        )
        return f"LLM response: {_text(answer)}"

    @server.tool(name="test_elicitation")
    async def elicitation(message: str, ctx: Context) -> str:
        """Ask the user."""
        fields = {"username": _STRING, "email": _STRING}
        return await _push(ctx, message, fields, required=["username", "email"])

    @server.tool(name="test_elicitation_sep1034_defaults")
    async def elicitation_sep1034_defaults(ctx: Context) -> str:
        """Ask the user, with a default for each kind of value."""
        return await _push(ctx, "Please check these values", _DEFAULTS)

    @server.tool(name="test_elicitation_sep1330_enums")
    async def elicitation_sep1330_enums(ctx: Context) -> str:
        """Ask the user to choose, in each form that there is."""
        return await _push(ctx, "Please choose", _CHOICES)


async def _push(
    ctx: Context, message: str, fields: Mapping[str, object], *, required: list[str] | None = None
) -> str:
    schema: dict[str, Any] = {"type": "object", "properties": fields, "required": required or []}
    answer = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"Elicitation completed: action={answer.action}, content={answer.content}"


def _add_declared(server: MCPServer) -> None:
    @server.tool(name="test_x_mcp_header")
    def x_mcp_header(
        region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})],
    ) -> str:
        """Take an argument that stands in a header too."""
        return f"Region: {region}"

    @server.tool(name="test_missing_capability")
    def missing_capability(ctx: Context) -> str:
        """Need what a client may not have."""
        if ctx.client_capabilities is None or ctx.client_capabilities.sampling is None:
            wanted: dict[str, Any] = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(
                MISSING_REQUIRED_CLIENT_CAPABILITY, "this tool needs sampling", data=wanted
            )

        return "The client has sampling."

    @server.tool(name="test_input_required_result_capabilities")
    def input_required_result_capabilities(ctx: Context) -> str | InputRequiredResult:
        """Ask only what the client can answer."""
        if ctx.input_responses:
            return "Answered."

        can = ctx.client_capabilities
        asked: dict[str, InputRequest] = {}
        if can is not None and can.sampling is not None:
            asked["greeting"] = _sampling("Generate a greeting", 50)
        if can is not None and can.elicitation is not None:
            asked["user_name"] = _form("What is your name?", "name")
        return (
            InputRequiredResult(input_requests=asked) if asked else "The client can answer nothing."
        )


def _add_single_rounds(server: MCPServer) -> None:
    @server.tool(name="test_input_required_result_elicitation")
    def input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
        """Ask the user's name."""
        name = _field(ctx, "user_name", "name")
        return f"Hello, {name}!" if name else _ask(user_name=_form("What is your name?", "name"))

    @server.tool(name="test_input_required_result_sampling")
    def input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
        """Ask the client's model."""
        answer = _answers(ctx).get("capital_question")
        if isinstance(answer, CreateMessageResult):
            return f"The model says: {_text(answer)}"
        return _ask(capital_question=_sampling("What is the capital of France?", 100))

    @server.tool(name="test_input_required_result_list_roots")
    def input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
        """Ask for the client's roots."""
        answer = _answers(ctx).get("client_roots")
        if isinstance(answer, ListRootsResult):
            return f"Roots: {', '.join(str(root.uri) for root in answer.roots)}"
        return _ask(client_roots=ListRootsRequest(method="roots/list"))


def _add_rounds_with_state(server: MCPServer) -> None:
    @server.tool(name="test_input_required_result_request_state")
    def input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
        """Ask to confirm, and see that the state comes back."""
        return "state-ok" if _is_confirmed(ctx) else _confirm()

    @server.tool(name="test_input_required_result_tampered_state")
    def input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
        """Ask to confirm; a state that was changed never comes this far."""
        return "The state is the same." if _is_confirmed(ctx) else _confirm()

    @server.tool(name="test_input_required_result_multiple_inputs")
    def input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
        """Ask three things at once."""
        asked: dict[str, InputRequest] = {
            "user_name": _form("What is your name?", "name"),
            "greeting": _sampling("Generate a greeting", 50),
            "client_roots": ListRootsRequest(method="roots/list"),
        }
        return (
            "All three came." if asked.keys() <= _answers(ctx).keys() else _ask("several", **asked)
        )

    @server.tool(name="test_input_required_result_multi_round")
    def input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
        """Ask one thing after the other."""
        if ctx.request_state == "second" and (color := _field(ctx, "step2", "color")):
            return f"The favorite color is {color}."
        if ctx.request_state == "first" and _field(ctx, "step1", "name"):
            return _ask("second", step2=_form("Step 2: What is your favorite color?", "color"))
        return _ask("first", step1=_form("Step 1: What is your name?", "name"))


def _add_prompt(server: MCPServer) -> None:
    @server.prompt(name="test_input_required_result_prompt")
    def input_required_result_prompt(ctx: Context) -> list[Message] | InputRequiredResult:
        """Ask what the prompt is for."""
        context = _field(ctx, "user_context", "context")
        if context:
            return [UserMessage(f"Context: {context}")]
        return _ask(user_context=_form("What context should the prompt use?", "context"))


def _confirm() -> InputRequiredResult:
    return _ask("confirming", confirm=_form("Please confirm", "ok", _BOOLEAN))


def _is_confirmed(ctx: Context) -> bool:
    return ctx.request_state == "confirming" and isinstance(
        _answers(ctx).get("confirm"), ElicitResult
    )


def _ask(state: str | None = None, /, **asked: InputRequest) -> InputRequiredResult:
    return InputRequiredResult(input_requests=asked, request_state=state)


def _form(message: str, name: str, kind: Mapping[str, object] = _STRING) -> ElicitRequest:
    schema: dict[str, Any] = {"type": "object", "properties": {name: kind}, "required": [name]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _sampling(question: str, most: int) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[message], max_tokens=most)
    )


def _answers(ctx: Context) -> Mapping[str, object]:
    return ctx.input_responses or {}


def _field(ctx: Context, key: str, name: str) -> str | None:
    """Return what the user filled in, None for no answer and for one of another kind."""
    answer = _answers(ctx).get(key)
    value = (
        answer.content.get(name) if isinstance(answer, ElicitResult) and answer.content else None
    )
    return value if isinstance(value, str) else None


def _text(answer: CreateMessageResult) -> str:
    return answer.content.text if isinstance(answer.content, TextContent) else ""
