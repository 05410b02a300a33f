"""Requests to a server on the network without a client in between."""

import json
import ssl

import httpx2
from pydantic import JsonValue

from tests.server.http.serving import PATIENCE

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

# Made once, as that takes longer than a request; no test speaks TLS.
_TLS = ssl.create_default_context()

INITIALIZE: JsonValue = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
}


def ask(
    url: str,
    *,
    method: str = "POST",
    token: str | None = None,
    body: JsonValue = INITIALIZE,
    content: bytes | None = None,
    **headers: str,
) -> httpx2.Response:
    """Send one request on a new connection; underscores in names of headers stand for hyphens."""
    sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"

    raw = {name.encode(): value.encode("latin-1") for name, value in sent.items()}
    if method == "POST":
        content = json.dumps(body).encode() if content is None else content

    with httpx2.Client(timeout=PATIENCE, verify=_TLS) as client:
        return client.request(method, url, headers=raw, content=content)


def refusal_of(response: httpx2.Response) -> tuple[int, str]:
    """Return status and short name of a refusal in the usual form, without names of the machine."""
    body = response.json()
    assert set(body) == {"error", "error_description"}
    assert response.headers["content-type"] == "application/json"
    assert "Traceback" not in response.text
    assert "server" not in response.headers
    return response.status_code, body["error"]
