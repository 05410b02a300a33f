"""Where answers leave for the client: every failure is told in our words, with its cause and the next step.

The SDK passes on only what it foresaw and repeats its validator's own text. So each public method through which a
call, a read or a prompt goes is wrapped here once, and tools, resources and prompts raise what they like. This is the
one module that uses a private part of the SDK.
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
from mcp.server import MCPServer
from mcp.server._otel import OpenTelemetryMiddleware
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
from goop_mcp.errors import GoopError, NoClientError, RuleFailedError, UnknownNameError
from goop_mcp.server.answers import cap, without_secrets
from goop_mcp.server.arguments import argument_faults, has_unknown_names
from goop_mcp.server.clients import client_of_message
from goop_mcp.server.message_limits import forget_answered
from goop_mcp.server.notices import Notices
from goop_mcp.server.observing import identifying, measuring
from goop_mcp.server.permissions import is_offered, refusal, scopes_of_caller
from goop_mcp.server.scopes import ALL_SCOPES
from goop_mcp.server.wire import Owed, take_stdin, take_stdout

__all__ = ["GoopServer"]

_LONGEST_NAME = 1_000

_logger = logging.getLogger(__name__)

_AnyContext = Context[Any, Any]


class GoopServer(MCPServer[Any]):
    """An MCP server that checks arguments strictly, keeps answers short and says why something failed."""

    _missing: Callable[[Collection[str]], Collection[str]] = staticmethod(lambda _: ())
    _types: Mapping[str, Callable[..., str]] = {}
    _without_token: Collection[str] = ALL_SCOPES

    def ask_for_tokens(self) -> None:
        """Let nobody do anything by whom no token came."""
        self._without_token = frozenset()

    def _scopes(self) -> Collection[str]:
        return scopes_of_caller(without_token=self._without_token)

    def tell_changes(self, notices: Notices) -> None:
        """Let clients of the earlier era subscribe to resources; those of the later one do so by themselves."""

        async def subscribe(
            ctx: ServerRequestContext[Any, Any], params: SubscribeRequestParams
        ) -> EmptyResult:
            await notices.subscribe(ctx.session._connection, params.uri, of=client_of_message(ctx))
            return EmptyResult()

        async def unsubscribe(
            ctx: ServerRequestContext[Any, Any], params: UnsubscribeRequestParams
        ) -> EmptyResult:
            notices.unsubscribe(ctx.session._connection, params.uri)
            return EmptyResult()

        self._lowlevel_server.add_request_handler(
            "resources/subscribe", SubscribeRequestParams, subscribe
        )
        self._lowlevel_server.add_request_handler(
            "resources/unsubscribe", UnsubscribeRequestParams, unsubscribe
        )

    def observe(self) -> None:
        """Give every message an id, a span and a figure, and forget it once it is answered.

        In place of the spans of the SDK, into which names and errors go as they came from outside.
        What a message brought is forgotten outermost: with a request for input the SDK seals what
        the message had asked for.
        """
        others = [each for each in self.middleware if not isinstance(each, OpenTelemetryMiddleware)]
        self.middleware[:] = [
            forget_answered,
            identifying(self._has),
            measuring(self._has),
            *others,
        ]

    def direct_manager(
        self, security: TransportSecuritySettings, body_bytes: int
    ) -> StreamableHTTPSessionManager:
        """Return a manager of HTTP requests that answers each with one JSON message, and keeps no sessions."""
        return StreamableHTTPSessionManager(
            self._lowlevel_server,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=body_bytes,
        )

    def compare_fewer_headers(self) -> None:
        """Let the SDK compare the headers of a call with its arguments only where a tool says that they are the same.

        Otherwise it looks for that word in the whole schema of the tool, twice a call.
        """
        compared: dict[str, tuple[object, bool]] = {}

        def schema_with_headers(name: str) -> Mapping[str, Any] | None:
            tool = self._tool_manager.get_tool(name)
            if tool is None:
                return None

            schema, has_headers = compared.get(name, (None, False))
            if schema is not tool.parameters:
                has_headers = X_MCP_HEADER_KEY in json.dumps(tool.parameters)
                compared[name] = tool.parameters, has_headers

            return tool.parameters if has_headers else None

        self._lowlevel_server.get_tool_input_schema = schema_with_headers

    def _has(self, method: str, name: str) -> bool:
        if method == "tools/call":
            return self._tool_manager.get_tool(name) is not None
        return self._prompt_manager.get_prompt(name) is not None

    def open_sessions(self) -> Collection[str]:
        """Return the ids of the sessions that outlive their requests; those over SSE do not."""
        return self.session_manager._server_instances.keys()

    def list_without(self, missing: Callable[[Collection[str]], Collection[str]]) -> None:
        """Leave out of the list those that `missing` returns of all addresses; it runs on a worker thread."""
        self._missing = missing

    def tell_types(self, template: str, type_of: Callable[..., str]) -> None:
        """Tell what is read through `template` to be of the type that `type_of` returns for its parameters.

        Of the template itself no type is told then: that would be the one of all.
        """
        self._types = {**self._types, template: type_of}

    async def list_tools(self) -> list[ListedTool]:
        """Return the tools that the caller may use."""
        scopes = self._scopes()
        offered = {
            tool.name for tool in self._tool_manager.list_tools() if is_offered(tool, scopes)
        }
        return [tool for tool in await super().list_tools() if tool.name in offered]

    async def run_stdio_async(self) -> None:
        """Serve one client on stdin and stdout, until its end of input and the answers to what came before.

        Raises NoClientError when the input ended and held text and no message.
        """
        owed = Owed()
        with (
            take_stdout(owed) as stdout,
            take_stdin(owed, refuse=stdout.write if stdout is not None else None) as stdin,
        ):
            # They read and write like files, which is all that the SDK asks of them.
            ways = cast("Any", {"stdin": stdin, "stdout": stdout})
            async with stdio_server(**ways) as (incoming, outgoing):
                options = self._lowlevel_server.create_initialization_options()
                await self._lowlevel_server.run(incoming, outgoing, options)

        if stdin is not None and stdin.is_no_client:
            raise NoClientError(
                "standard input ended without one JSON-RPC message, so no MCP client was served;"
                " did you mean `goop-mcp check -`?"
            )

    async def list_resources(self) -> list[Resource]:
        """Return the resources that are there."""
        listed = await super().list_resources()
        missing = await anyio.to_thread.run_sync(self._missing, [str(each.uri) for each in listed])
        return [each for each in listed if str(each.uri) not in missing]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the templates, each with a type where all that is read through it has the same."""
        listed = await super().list_resource_templates()
        for each in listed:
            if each.uri_template in self._types:
                each.mime_type = None

        return listed

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: _AnyContext | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Run a tool. Raises ToolError with a text that the agent can act on."""
        tool = self._tool_manager.get_tool(name)
        if tool is None:
            known = [each.name for each in await self.list_tools()]
            raise ToolError(
                _sentence(UnknownNameError("tool", without_secrets(name[:_LONGEST_NAME]), known))
            )

        if (refused := refusal(tool, arguments, self._scopes())) is not None:
            raise ToolError(refused)
        if has_unknown_names(tool, arguments):
            raise _refusal(tool, arguments)

        try:
            result = await super().call_tool(name, arguments, context)
        except ToolError as error:
            # What a tool itself trips over is unexpected, this error too.
            if isinstance(error.__cause__, ValidationError) and not isinstance(
                error, UnexpectedToolError
            ):
                raise _refusal(tool, arguments) from error

            raise ToolError(_explain(f"the tool {name}", error)) from error

        return cap(result) if isinstance(result, CallToolResult) else result

    async def read_resource(
        self, uri: AnyUrl | str, context: _AnyContext | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Read a resource.

        Raises ResourceError, ResourceNotFoundError where there is none under `uri`.
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
            if isinstance(cause, UnknownNameError) or (
                isinstance(cause, GoopError) and isinstance(cause, LookupError)
            ):
                raise ResourceNotFoundError(_sentence(cause)) from error

            raise ResourceError(_explain(f"the resource {uri}", error)) from error

        kind = self._type(str(uri))
        if isinstance(contents, InputRequiredResult) or kind is None:
            return contents
        return [replace(each, mime_type=kind) for each in contents]

    def _type(self, uri: str) -> str | None:
        """Return the type of what was read under `uri`, None where the SDK knows it."""
        for template, type_of in self._types.items():
            if (parameters := UriTemplate.parse(template).match(uri)) is not None:
                return type_of(**parameters)
        return None

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: _AnyContext | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Fill in a prompt. Raises MCPError: a prompt has no other way to say what is wrong."""
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            raise MCPError(
                INVALID_PARAMS,
                _sentence(
                    UnknownNameError("prompt", without_secrets(name[:_LONGEST_NAME]), prompts)
                ),
            )

        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            code = INVALID_PARAMS if isinstance(error.__cause__, GoopError) else INTERNAL_ERROR
            raise MCPError(code, _explain(f"the prompt {name}", error)) from error


def _refusal(tool: Tool, arguments: Mapping[str, Any]) -> ToolError:
    """Return what is wrong with the arguments, all of it at once."""
    mend = f"{tool.name} was not run; mend the arguments and call it again:"
    return ToolError(without_secrets("\n- ".join([mend, *argument_faults(tool, arguments)])))


def _explain(what: str, failure: Exception) -> str:
    """Return our own sentence where the cause is foreseen, else the id under which the cause is in the log."""
    cause = failure.__cause__
    if isinstance(cause, GoopError) and not isinstance(cause, RuleFailedError):
        return _sentence(cause)
    if isinstance(cause, ToolError):
        return without_secrets(str(cause))

    request = current_request()
    incident = request.id if request is not None else secrets.token_hex(4)
    _logger.error("incident %s in %s", incident, what, exc_info=cause or failure)
    if isinstance(cause, RuleFailedError):
        # What it raised may name anything of this machine, and the caller may sit at another one.
        return (
            f"rule {cause.rule} failed: {type(cause.__cause__ or cause).__name__} (incident"
            f" {incident}). Nothing was judged: the fault is in a rule of whoever runs this server,"
            " whose log says more, and not in the reply."
        )

    return without_secrets(
        f"{what} failed because of a fault in this server (incident {incident}, see its log). "
        "Try once more; if it fails again, go on without it and report the incident."
    )


def _sentence(error: GoopError) -> str:
    text = without_secrets(str(error))
    return text if text.endswith((".", "?")) else f"{text}."
