"""Send bytes of HTTP to a local server, for clients that measure and clients that misbehave."""

import http.client
import json
from collections.abc import Mapping

from pydantic import JsonValue

PATIENCE = 60.0

_HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Connection:
    """A client with a token; it opens a new connection after the server has closed the last one."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._token = port, token
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def post(
        self, body: bytes, headers: Mapping[str, str] | None = None, *, path: str = "/mcp"
    ) -> tuple[int, bytes]:
        """Send a message; return status and answer."""
        sent = {**_HEADERS, "Authorization": f"Bearer {self._token}", **(headers or {})}
        try:
            self._connection.request("POST", path, body, sent)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise

    def call(self, tool: str, **arguments: JsonValue) -> tuple[int, bytes]:
        """Call a tool in the later protocol version."""
        params = {"_meta": _META, "name": tool, "arguments": arguments}
        body = json.dumps(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        ).encode()
        headers = {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }

        return self.post(body, headers)

    def close(self) -> None:
        self._connection.close()
