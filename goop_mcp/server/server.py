"""The MCP server class: every failure leaves with a message that names its cause and a next step.

The SDK reports only the failures it foresees, and repeats the text of its validator. Therefore each
public method for calls, reads and prompts is wrapped here once, and tools, resources and prompts
may raise any exception.
"""

import json
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import (
    ResourceError,
    ResourceNotFoundError,
    ToolError,
    UnexpectedToolError,
)
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.inbound import X_MCP_HEADER_KEY
from mcp.shared.uri_template import UriTemplate
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolResult,
    EmptyResult,
    GetPromptResult,
    InputRequiredResult,
    Resource,
    ResourceTemplate,
    SubscribeRequestParams,
    UnsubscribeRequestParams,
)
from mcp.types import Tool as ListedTool
from pydantic import AnyUrl, ValidationError

from goop_mcp.current_request import current_request
from goop_mcp.errors import (
    GoopError,
    HookEventError,
    NoClientError,
    RuleFailedError,
    UnknownNameError,
)
from goop_mcp.server.answers import cap, with_line, without_secrets
from goop_mcp.server.arguments import argument_errors, as_meant, has_unknown_names
from goop_mcp.server.clients import client_of_message
from goop_mcp.server.message_limits import forget_answered
from goop_mcp.server.permissions import is_offered, refusal, scopes_of_caller
from goop_mcp.server.scopes import ALL_SCOPES, CONFIRM
from goop_mcp.server.sdk_internals import SdkServer, connection_of, without_sdk_spans
from goop_mcp.server.stdio import (
    PendingRequests,
    ReadableMessages,
    take_stdin,
    take_stdout,
)
from goop_mcp.server.subscriptions import Subscriptions
from goop_mcp.server.telemetry import identifying, measuring
from goop_mcp.services.project_step import calls_for_commands

__all__ = ["GoopServer"]

# Characters of a name in a message; secrets in it are looked for before it is shortened further.
_LONGEST_NAME = 1_000

_logger = logging.getLogger(__name__)

_AnyContext = Context[Any, Any]


class GoopServer(SdkServer):
    """An MCP server that checks arguments strictly, bounds its answers and explains failures."""

    _missing: Callable[[Collection[str]], Collection[str]] = staticmethod(lambda _: ())
    _types: Mapping[str, Callable[..., str]] = {}
    _line: Callable[[], str | None] = staticmethod(lambda: None)
    # Overridden once settings are read: a server in tests, or in a process of its own, has one
    # caller.
    _without_token: Collection[str] = ALL_SCOPES
    _scopes_now: Callable[[AccessToken], Collection[str]] = staticmethod(lambda token: token.scopes)

    def allow_without_token(self, scopes: Collection[str]) -> None:
        """Give callers without a token `scopes`; before this is called, they have all."""
        self._without_token = scopes

    def scopes_of_caller(self) -> Collection[str]:
        """Return what the caller of the current request may do."""
        return scopes_of_caller(without_token=self._without_token)

    def may_confirm(self) -> bool:
        """Whether the caller of the current request may confirm, now and when the request came.

        A call may wait for minutes for a person, and the scope be taken away meanwhile.
        """
        token = get_access_token()
        is_kept = token is None or CONFIRM in self._scopes_now(token)
        return is_kept and CONFIRM in self.scopes_of_caller()

    def look_up_scopes(self, scopes_now: Callable[[AccessToken], Collection[str]]) -> None:
        """Let `scopes_now` say what the token of a caller may do by now."""
        self._scopes_now = scopes_now

    def serve_subscriptions(self, subscriptions: Subscriptions) -> None:
        """Let clients of 2025-11-25 subscribe to resources.

        Clients of 2026-07-28 open a stream, which the SDK serves without a handler.
        """

        async def subscribe(
            ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams
        ) -> EmptyResult:
            await subscriptions.subscribe(connection_of(ctx), params.uri, of=client_of_message(ctx))
            return EmptyResult()

        async def unsubscribe(
            ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
        ) -> EmptyResult:
            subscriptions.unsubscribe(connection_of(ctx), params.uri)
            return EmptyResult()

        self.lowlevel.add_request_handler("resources/subscribe", SubscribeRequestParams, subscribe)
        self.lowlevel.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, unsubscribe
        )

    def observe(self) -> None:
        """Give every message an id, a span and a duration, and clear it once it is answered."""
        # `forget_answered` is the outermost: for a request for input, the SDK still seals the
        # arguments of the message after the handler has returned.
        self.middleware[:] = [
            forget_answered,
            identifying(self._has),
            measuring(self._has),
            # The spans of the SDK hold names and errors as they came from outside: ours replace
            # them.
            *without_sdk_spans(self.middleware),
        ]

    def direct_manager(
        self, security: TransportSecuritySettings, body_bytes: int
    ) -> StreamableHTTPSessionManager:
        """Return a manager that answers HTTP requests in one JSON message, without sessions."""
        return StreamableHTTPSessionManager(
            self.lowlevel,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=body_bytes,
        )

    def compare_fewer_headers(self) -> None:
        """Let the SDK compare headers with arguments only for tools whose schema names headers.

        Otherwise it searches the whole schema of the tool twice a call.
        """
        # Kept by the identity of the schema, which is replaced when a tool is registered again.
        compared: dict[str, tuple[object, bool]] = {}

        def schema_with_headers(name: str) -> Mapping[str, Any] | None:
            tool = self.tool_manager.get_tool(name)
            if tool is None:
                return None

            schema, has_headers = compared.get(name, (None, False))
            # Its text is searched, as the key may stand anywhere in the schema.
            if schema is not tool.parameters:
                has_headers = X_MCP_HEADER_KEY in json.dumps(tool.parameters)
                compared[name] = tool.parameters, has_headers

            return tool.parameters if has_headers else None

        self.lowlevel.get_tool_input_schema = schema_with_headers

    def _has(self, method: str, name: str) -> bool:
        if method == "tools/call":
            return self.tool_manager.get_tool(name) is not None
        return self.prompt_manager.get_prompt(name) is not None

    def list_without(self, missing: Callable[[Collection[str]], Collection[str]]) -> None:
        """List no resource that `missing` returns for all addresses; it runs on a worker thread."""
        self._missing = missing

    def say_once(self, line: Callable[[], str | None]) -> None:
        """Add what `line` returns after a call of a tool to its answer and the log."""
        self._line = line

    def declare_types(self, template: str, type_of: Callable[..., str]) -> None:
        """Give resources read through `template` the media type `type_of(**parameters)`.

        The template itself is then listed without a type, which would hold for all its resources.
        """
        self._types = {**self._types, template: type_of}

    async def list_tools(self) -> list[ListedTool]:
        """Return the tools that the caller may use."""
        # Hidden rather than refused when called: a model plans with the tools that it sees.
        scopes = self.scopes_of_caller()
        offered = {tool.name for tool in self.tool_manager.list_tools() if is_offered(tool, scopes)}
        return [tool for tool in await super().list_tools() if tool.name in offered]

    async def run_stdio_async(self) -> None:
        """Serve one client on stdin and stdout until its input ends and its requests are answered.

        Raises NoClientError if the input held text but no message, HookEventError for the event of
        a hook.
        """
        unanswered = PendingRequests()
        with (
            take_stdout(unanswered) as stdout,
            take_stdin(unanswered, refuse=stdout.write if stdout is not None else None) as stdin,
        ):
            # The SDK declares files, and uses only their reading and writing, which these have.
            streams = cast("Any", {"stdin": stdin, "stdout": stdout})
            async with stdio_server(**streams) as (incoming, outgoing):
                options = self.lowlevel.create_initialization_options()
                messages = incoming if stdin is None else ReadableMessages(incoming, stdin)
                await self.lowlevel.run(messages, outgoing, options)

        if stdin is not None and stdin.event is not None:
            raise HookEventError(stdin.event)
        if stdin is not None and stdin.is_no_client:
            raise NoClientError(
                "standard input ended without a JSON-RPC message, so no MCP client was served;"
                " did you mean `goop-mcp check -`?"
            )

    async def list_resources(self) -> list[Resource]:
        """Return the resources that exist."""
        listed = await super().list_resources()
        # On a thread, since it looks at files and the database.
        missing = await anyio.to_thread.run_sync(self._missing, [str(each.uri) for each in listed])
        return [each for each in listed if str(each.uri) not in missing]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the templates, with a media type where all their resources have the same."""
        # A type that holds for most of a template's resources is wrong for the others; none is
        # correct.
        listed = await super().list_resource_templates()
        for each in listed:
            if each.uri_template in self._types:
                each.mime_type = None

        return listed

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: _AnyContext | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool. Raises ToolError with a message that the agent can act on."""
        tool = self.tool_manager.get_tool(name)
        if tool is None:
            known = [each.name for each in await self.list_tools()]
            raise ToolError(
                _sentence(UnknownNameError("tool", without_secrets(name[:_LONGEST_NAME]), known))
            )

        # Before the scopes are compared: "true" asks for as much as true.
        # After conversion, as the errors should be about what cannot be read at all.
        arguments = as_meant(tool, arguments)
        if (refused := refusal(tool, arguments, self.scopes_of_caller())) is not None:
            raise ToolError(refused)
        if has_unknown_names(tool, arguments):
            raise _refusal(tool, arguments)

        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            # A validation error inside the tool's own code is an UnexpectedToolError; only one
            # that arises before the tool runs is about the arguments.
            if isinstance(error.__cause__, ValidationError) and not isinstance(
                error, UnexpectedToolError
            ):
                raise _refusal(tool, arguments) from error

            raise ToolError(_explain(f"the tool {name}", error)) from error

        if not isinstance(result, CallToolResult):
            return result
        if (line := self._line()) is not None:
            _logger.warning("%s", line)
            result = with_line(result, line)

        return cap(result)

    async def read_resource(
        self, uri: AnyUrl | str, context: _AnyContext | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource.

        Raises ResourceNotFoundError if `uri` names none, ResourceError if it cannot be read.
        """
        try:
            contents = await super().read_resource(uri, context)
        except ResourceNotFoundError as error:
            known = [str(resource.uri) for resource in await self.list_resources()]
            raise ResourceNotFoundError(
                _sentence(
                    UnknownNameError("resource", without_secrets(str(uri)[:_LONGEST_NAME]), known)
                )
            ) from error
        except ResourceError as error:
            cause = error.__cause__
            # What does not exist is another error than what cannot be read: clients retry only the
            # latter.
            if isinstance(cause, UnknownNameError) or (
                isinstance(cause, GoopError) and isinstance(cause, LookupError)
            ):
                raise ResourceNotFoundError(_sentence(cause)) from error

            raise ResourceError(_explain(f"the resource {uri}", error)) from error

        if isinstance(contents, InputRequiredResult):
            return contents

        for template, type_of in self._types.items():
            if (parameters := UriTemplate.parse(template).match(str(uri))) is not None:
                media_type = type_of(**parameters)
                return [replace(each, mime_type=media_type) for each in contents]

        return contents

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: _AnyContext | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Fill in a prompt. Raises MCPError, because answers of prompts cannot report errors."""
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            # The protocol has no error results for prompts, only protocol errors.
            raise MCPError(
                INVALID_PARAMS,
                _sentence(
                    UnknownNameError("prompt", without_secrets(name[:_LONGEST_NAME]), prompts)
                ),
            )

        try:
            return await super().get_prompt(name, arguments, context)
        # pydantic's errors are ValueErrors as well.
        except ValueError as error:
            code = INVALID_PARAMS if isinstance(error.__cause__, GoopError) else INTERNAL_ERROR
            raise MCPError(code, _explain(f"the prompt {name}", error)) from error


def _refusal(tool: Tool, arguments: Mapping[str, Any]) -> ToolError:
    """Return an error that lists everything wrong with the arguments."""
    heading = f"{tool.name} was not run; fix the arguments and call it again:"
    return ToolError(without_secrets("\n- ".join([heading, *argument_errors(tool, arguments)])))


def _explain(what: str, failure: Exception) -> str:
    """Return the message of a foreseen error, else the id under which the log has the cause."""
    cause = failure.__cause__
    if isinstance(cause, GoopError) and not isinstance(cause, RuleFailedError):
        return _sentence(cause)
    if isinstance(cause, ToolError):
        return without_secrets(str(cause))

    # The id of the request is in the log already; without one, any id that the person can quote.
    request = current_request()
    incident = request.id if request is not None else secrets.token_hex(4)
    _logger.error("incident %s in %s", incident, what, exc_info=cause or failure)
    if isinstance(cause, RuleFailedError):
        # The text of the exception may name files of this machine, and the caller may be remote.
        return (
            f"rule {cause.rule} failed: {type(cause.__cause__ or cause).__name__} (incident"
            f" {incident}). Nothing was validated: the error is in a rule of whoever runs this"
            " server, whose log says more, and not in the reply."
        )

    return without_secrets(
        f"{what} failed because of an error in this server (incident {incident}, see its log). "
        "Try once more; if it fails again, continue without it and report the incident."
    )


def _sentence(error: GoopError) -> str:
    text = calls_for_commands(without_secrets(str(error)))
    return text if text.endswith((".", "?")) else f"{text}."
