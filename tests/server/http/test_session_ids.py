"""Ids of sessions are secrets: no log and no trace contains one."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from pydantic import JsonValue

from tests.server.connections import Transport, connect, target
from tests.server.http.requests import ask
from tests.server.http.serving import Served, served
from tests.server.http.sockets import opened, until

OWNER, OTHER = "token-of-the-owner", "token-of-the-other"
TOKENS = f"""\
[tokens.owner]
token = "{OWNER}"
[tokens.other]
token = "{OTHER}"
"""
LISTING: JsonValue = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")
ANY_ID = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")


@pytest.fixture(params=["text", "json"])
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    file = tmp_path / "tokens.toml"
    file.write_text(TOKENS, encoding="utf-8")
    file.chmod(0o600)
    options = ("--transport", "http", "--token-file", str(file), "--rate-limit", "0")
    with served(
        *options, project=tmp_path, GOOP_LOG_LEVEL="DEBUG", GOOP_LOG_FORMAT=request.param
    ) as running:
        yield running


@contextmanager
def older_stream(server: Served) -> Iterator[str]:
    """Hold a stream of the older way open, and give the id of its session."""
    head = f"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {OWNER}\r\n\r\n"
    with opened(server.port) as (stream,):
        stream.sendall(head.encode())
        found = until(stream, rb"session_id=([0-9a-f]{32})")
        yield found[1].decode()


def test_no_id_of_a_session_is_ever_written_to_the_log(server: Served) -> None:
    for transport in NETWORK:
        with connect(target(server, transport, token=OWNER), "legacy") as connection:
            assert connection.tools()

    session = ask(server.mcp, token=OWNER).headers["mcp-session-id"]
    with older_stream(server) as older:
        for token in (OWNER, OTHER):
            ask(f"{server.address}/messages/?session_id={older}", token=token, content=b"{")
            ask(server.mcp, token=token, body=LISTING, Mcp_Session_Id=session)

    assert ask(server.mcp, token=OWNER, method="DELETE", Mcp_Session_Id=session).status_code == 200
    assert ask(server.mcp, token=OWNER, method="DELETE", Mcp_Session_Id=session).status_code == 404
    assert server.stop() == 143
    log = server.stderr()

    for id in (session, older):
        assert id[:8] in log
        assert id not in log
        assert str(UUID(id)) not in log

    assert not ANY_ID.search(log)
