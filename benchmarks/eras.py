"""The two eras of the protocol as far as a client has to know them: how it opens, and what each request carries."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["ERAS", "LEGACY", "MODERN", "Era"]

_CLIENT: Final = {"name": "benchmark", "version": "1"}


@dataclass(frozen=True, slots=True)
class Era:
    """One era: its revision of the protocol, the request that opens it, and whether a session follows."""

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
        """Return the headers that a request over HTTP has, beside those of the session."""
        headers = {"MCP-Protocol-Version": self.revision}
        if not self.has_sessions:
            headers["Mcp-Method"] = method
            if "name" in parameters:
                headers["Mcp-Name"] = str(parameters["name"])

        return headers


LEGACY: Final = Era("2025", "2025-11-25", "initialize", has_sessions=True)
MODERN: Final = Era("2026", "2026-07-28", "server/discover", has_sessions=False)
ERAS: Final = (LEGACY, MODERN)
