"""The private parts of the SDK (mcp), starlette and uvicorn that the server relies on.

Any release may change them, so all uses are here, under names of ours, and each is looked for at
the start: a part that is missing ends it with an error that names the version and what to install,
and not with a failure in the middle of a call. Tests find private names in other modules.
"""

from collections.abc import Collection
from importlib import import_module
from importlib.metadata import version
from inspect import getmro, isclass, isfunction
from logging import getLogger
from operator import attrgetter
from typing import Any, Final

from mcp.server import MCPServer
from mcp.server.connection import Connection
from mcp.server.context import ServerMiddleware, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.mcpserver.prompts import PromptManager
from mcp.server.mcpserver.tools import ToolManager

from goop_mcp import __version__
from goop_mcp.errors import IncompatiblePackageError

__all__ = [
    "RELIED_ON",
    "TESTED",
    "OwnUpgradeWarning",
    "SdkServer",
    "check_parts",
    "connection_of",
    "forget_body",
    "without_sdk_spans",
]

TESTED: Final = {"mcp": "2.3.0", "starlette": "1.10.0", "uvicorn": "0.54.0"}
"""The newest version of each library with which all tests have passed."""

RELIED_ON: Final[dict[str, dict[tuple[str, str], tuple[str, ...]]]] = {
    "mcp": {
        ("mcp.server._otel", ""): ("OpenTelemetryMiddleware",),
        ("mcp.server", "MCPServer"): ("_lowlevel_server", "_prompt_manager", "_tool_manager"),
        ("mcp.server.lowlevel", "Server"): (
            "add_request_handler()",
            "create_initialization_options()",
            "get_tool_input_schema",
            "run()",
        ),
        ("mcp.server.mcpserver.prompts", "PromptManager"): ("get_prompt()",),
        ("mcp.server.mcpserver.tools", "ToolManager"): ("get_tool()", "list_tools()"),
        ("mcp.server.session", "ServerSession"): ("_connection",),
        ("mcp.server.streamable_http_manager", "StreamableHTTPSessionManager"): (
            "_server_instances",
        ),
    },
    "starlette": {("starlette.requests", "Request.body"): ("_body",)},
    "uvicorn": {
        ("uvicorn", "Server"): (
            "capture_signals()",
            "servers",
            "should_exit",
            "shutdown()",
            "startup()",
        ),
        ("uvicorn.protocols.http.h11_impl", "H11Protocol"): (
            "_unsupported_upgrade_warning()",
            "app",
            "client",
            "conn",
            "connections",
            "limit_concurrency",
            "loop",
            "on_response_complete()",
            "send_400_response()",
            "transport",
        ),
    },
}
"""By library: a module with a class or function in it ("" for the module), and what it has.

Names with () are methods; the others may be attributes that only instances have.
"""

_logger = getLogger(__name__)


def check_parts(library: str) -> None:
    """Raise IncompatiblePackageError when the installed `library` lacks a part relied on here."""
    missing = [
        ".".join(filter(None, (module, owner, name)))
        for (module, owner), names in RELIED_ON[library].items()
        for name in names
        if not _has(module, owner, name)
    ]
    if missing:
        raise IncompatiblePackageError(
            f"{library} {version(library)} has changed what goop-mcp {__version__} relies on"
            f" ({', '.join(missing)}); install the version that it was tested with, pip install"
            f" '{library}=={TESTED[library]}', or a newer goop-mcp"
        )


def _has(module: str, owner: str, name: str) -> bool:
    try:
        loaded = import_module(module)
        found: object = attrgetter(owner)(loaded) if owner else loaded
    except (ImportError, AttributeError):
        return False

    if name.endswith("()") or not owner:
        return callable(getattr(found, name.removesuffix("()"), None))

    # Attributes of instances are known from the code of the class: an instance may cost a socket.
    members = [
        member
        for each in (getmro(found) if isclass(found) else ())
        for member in vars(each).values()
    ]

    return hasattr(found, name) or any(
        name in each.__code__.co_names for each in (found, *members) if isfunction(each)
    )


check_parts("mcp")
check_parts("starlette")
# Imported only now that it is known to be there.
_SDK_SPANS: Final[type] = import_module("mcp.server._otel").OpenTelemetryMiddleware


class SdkServer(MCPServer[Any]):
    """The server of the SDK with the parts that it keeps to itself."""

    @property
    def lowlevel(self) -> Server[Any]:
        """The server below, which knows methods and handlers instead of tools and prompts."""
        return self._lowlevel_server

    @property
    def tool_manager(self) -> ToolManager:
        """The tools by name."""
        return self._tool_manager

    @property
    def prompt_manager(self) -> PromptManager:
        """The prompts by name."""
        return self._prompt_manager

    def open_sessions(self) -> Collection[str]:
        """Return the ids of the sessions that outlive their requests, which SSE sessions do not."""
        return self.session_manager._server_instances.keys()


def connection_of(ctx: ServerRequestContext[Any, Any]) -> Connection:
    """Return the connection on which a message came; it can carry notifications later."""
    return ctx.session._connection


def without_sdk_spans(middleware: Collection[ServerMiddleware[Any]]) -> list[ServerMiddleware[Any]]:
    """Return the middleware without what the SDK adds by itself to trace messages."""
    return [each for each in middleware if not isinstance(each, _SDK_SPANS)]


def forget_body(request: object) -> None:
    """Free the body that starlette keeps in a request, in case it is asked for a second time."""
    vars(request).pop("_body", None)


class OwnUpgradeWarning:
    """For a protocol of uvicorn: a warning in our words where a client asks for an upgrade."""

    def _unsupported_upgrade_warning(self) -> None:
        # Uvicorn would advise to install a package for WebSocket.
        _logger.warning(
            "a client asked for another protocol than HTTP/1.1, and is answered in that"
        )
