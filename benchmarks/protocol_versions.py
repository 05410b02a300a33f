"""The two versions of MCP for clients: how a session opens, and what each request carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["LEGACY", "MODERN", "PROTOCOL_VERSIONS", "ProtocolVersion"]

_CLIENT: Final = {"name": "benchmark", "version": "1"}


@dataclass(frozen=True, slots=True)
class ProtocolVersion:
    """A version: its revision, the request that opens a connection, and whether it has sessions."""

    name: str
    revision: str
    opening: str
    has_sessions: bool

    def parameters(self, **given: object) -> dict[str, object]:
        """Return the parameters of a request."""
        if self.has_sessions:
            return given

        prefix = "io.modelcontextprotocol/"
        about = {f"{prefix}protocolVersion": self.revision, f"{prefix}clientCapabilities": {}}
        return {**given, "_meta": {**about, f"{prefix}clientInfo": _CLIENT}}

    def opening_parameters(self) -> dict[str, object]:
        """Return the parameters of the opening request."""
        if self.has_sessions:
            return {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": _CLIENT}
        return self.parameters()

    def headers(self, method: str, parameters: Mapping[str, object]) -> dict[str, str]:
        """Return the headers of a request over HTTP, without those of the session."""
        headers = {"MCP-Protocol-Version": self.revision}
        if not self.has_sessions:
            headers["Mcp-Method"] = method
            if "name" in parameters:
                headers["Mcp-Name"] = str(parameters["name"])

        return headers


LEGACY: Final = ProtocolVersion("2025", "2025-11-25", "initialize", has_sessions=True)
MODERN: Final = ProtocolVersion("2026", "2026-07-28", "server/discover", has_sessions=False)
PROTOCOL_VERSIONS: Final = (LEGACY, MODERN)
