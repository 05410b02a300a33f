"""Tokens: refusals without one, and what each scope allows, over all transports and versions."""

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from pydantic import JsonValue

from goop_mcp.server.http.tokens import read_token_file, single_token
from goop_mcp.settings import SettingsError
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.server.connections import PROTOCOL_MODES, Transport, connect, target, text_of
from tests.server.http import sockets
from tests.server.http.requests import ask, refusal_of
from tests.server.http.serving import Served, served

READER = "token-of-the-reader"
WRITER = "token-of-the-writer"
EVERYTHING = "token-of-another"
TOKENS = f"""\
[tokens.reader]
token = "{READER}"
scopes = ["read"]
[tokens.writer]
token = "{WRITER}"
scopes = ["read", "write"]
[tokens.other]
token = "{EVERYTHING}"
[tokens.useless]
token = "token-that-is-useless"
scopes = ["write"]
"""
WRITING = {"record_report", "update_project", "save_memory", "forget_memory"}
ASKED = [("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/sse"), ("POST", "/messages/")]
WRONG = [
    "wrong",
    "token-of-the-reade",
    f"{READER}2",
    "TOKEN-OF-THE-READER",
    "x" * 20_000,
    f"{READER} {READER}",
    "ü",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("project")
    (folder / "reply.md").write_text(COMPLETE_REPLY, encoding="utf-8")
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    file.write_text(TOKENS, encoding="utf-8")
    file.chmod(0o600)
    options = ("--transport", "http", "--token-file", str(file), "--rate-limit", "0")
    with served(*options, project=folder, GOOP_LOG_LEVEL="DEBUG") as running:
        yield running


NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")


@pytest.fixture(params=NETWORK)
def transport(request: pytest.FixtureRequest) -> Transport:
    transport: Transport = request.param
    return transport


@pytest.mark.parametrize("token", WRONG)
@pytest.mark.parametrize(("method", "path"), ASKED)
def test_a_wrong_token_is_answered_exactly_like_a_missing_one(
    server: Served, method: str, path: str, token: str
) -> None:
    wrong = ask(f"{server.address}{path}", method=method, Authorization=f"Bearer {token}")
    missing = ask(f"{server.address}{path}", method=method)
    assert refusal_of(wrong) == refusal_of(missing) == (401, "invalid_token")
    assert wrong.text == missing.text
    assert "Authorization: Bearer TOKEN" in wrong.json()["error_description"]
    assert (
        wrong.headers["www-authenticate"]
        == missing.headers["www-authenticate"]
        == 'Bearer error="invalid_token"'
    )


@pytest.mark.parametrize(
    "authorization", [READER, f"Basic {READER}", "Bearer", f"Bearer\t{READER}"]
)
def test_a_token_in_another_form_opens_nothing(server: Served, authorization: str) -> None:
    assert refusal_of(ask(server.mcp, Authorization=authorization)) == (401, "invalid_token")


@pytest.mark.parametrize("inside", [b"\r\n ", b"\r\n\t", b"%0a", b"\\n"])
def test_a_token_with_a_line_break_opens_nothing(server: Served, inside: bytes) -> None:
    begin, end = READER[:8].encode(), READER[8:].encode()
    head = b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + begin + inside + end
    answer = sockets.exchange(server.port, head + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"invalid_token" in answer


@pytest.mark.parametrize("inside", [b"\r", b"\0"])
def test_a_token_with_what_no_header_may_hold_is_no_request(server: Served, inside: bytes) -> None:
    head = (
        b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "
        + READER.encode()
        + inside
        + b"x"
    )
    answer = sockets.exchange(server.port, head + b"\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"no_http" in answer


def test_a_token_in_the_address_opens_nothing(server: Served) -> None:
    assert refusal_of(ask(f"{server.mcp}?token={READER}&access_token={READER}")) == (
        401,
        "invalid_token",
    )


def test_the_answer_to_a_wrong_token_does_not_wait_for_the_body(server: Served) -> None:
    head = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4000000\r\n\r\n"
    with sockets.opened(server.port) as (connection,):
        connection.sendall(head.encode())
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 401 ")


def test_a_token_that_may_not_even_read_is_refused_with_the_reason(server: Served) -> None:
    answer = ask(server.mcp, token="token-that-is-useless")
    assert refusal_of(answer) == (403, "insufficient_scope")
    assert answer.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="read"'


def test_health_asks_for_no_token(server: Served) -> None:
    assert ask(f"{server.address}/health", method="GET").json() == {"status": "ok"}
    assert ask(f"{server.address}/ready", method="GET").json() == {"status": "ready"}


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_caller_sees_and_does_what_the_scopes_allow(
    server: Served, transport: Transport, protocol_mode: str
) -> None:
    with connect(target(server, transport, token=READER), protocol_mode) as reader:
        assert not WRITING & reader.tools().keys()
        assert {
            "validate_report",
            "search_memory",
            "project_status",
            "explain_rule",
        } <= reader.tools().keys()
        refused = reader.tool("save_memory", title="A title", content="Something.")
        assert refused.is_error
        assert "save_memory needs the scope write, which this token does not have" in text_of(
            refused
        )
        looked = reader.tool("validate_report", text=COMPLETE_REPLY, check_workspace=True)
        assert looked.is_error
        assert text_of(looked).endswith("call validate_report with check_workspace=false.")
        read = reader.tool("validate_report", file="reply.md")
        assert read.is_error
        assert text_of(read).endswith("call validate_report with the reply as text.")
        assert not reader.tool("validate_report", text=COMPLETE_REPLY).is_error
        assert not reader.tool("search_memory", queries="title").is_error

    with connect(target(server, transport, token=WRITER), protocol_mode) as writer:
        assert writer.tools().keys() >= WRITING
        assert not writer.tool("save_memory", title="A title", content="Something.").is_error
        # Its default is to look.
        looked = writer.tool("record_report", text=COMPLETE_REPLY)
        assert looked.is_error
        assert "needs the scope workspace" in text_of(looked)

    with connect(target(server, transport, token=EVERYTHING), protocol_mode) as everything:
        assert not everything.tool("validate_report", file="reply.md").is_error
        assert not everything.tool(
            "validate_report", text=COMPLETE_REPLY, check_workspace=True
        ).is_error


def test_lists_that_depend_on_the_token_are_kept_by_nobody_else(server: Served) -> None:
    with connect(target(server, "streamable-http", token=READER), "auto") as reader:
        assert reader.call(reader.client.list_tools).cache_scope == "private"


def test_a_session_belongs_to_the_token_that_opened_it(server: Served) -> None:
    session = ask(server.mcp, token=READER).headers["mcp-session-id"]
    listing: JsonValue = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    assert ask(server.mcp, token=READER, body=listing, Mcp_Session_Id=session).status_code == 200
    for token in (WRITER, EVERYTHING):
        assert ask(server.mcp, token=token, body=listing, Mcp_Session_Id=session).status_code == 404
        assert (
            ask(server.mcp, token=token, method="DELETE", Mcp_Session_Id=session).status_code == 404
        )


def test_a_session_keeps_to_the_scopes_of_the_request_and_not_of_its_opener(server: Served) -> None:
    with connect(target(server, "sse", token=EVERYTHING), "legacy") as everything:
        assert everything.tools().keys() >= WRITING
    with connect(target(server, "sse", token=READER), "legacy") as reader:
        assert not WRITING & reader.tools().keys()


def test_no_token_is_ever_written_to_the_log(tmp_path: Path) -> None:
    secret = "t0p-secret-token-of-the-tests"
    with served(
        "--transport", "http", project=tmp_path, GOOP_TOKEN=secret, GOOP_LOG_LEVEL="DEBUG"
    ) as server:
        with connect(target(server, "streamable-http", token=secret), "legacy") as connection:
            assert not connection.tool(
                "save_memory", title="A title", content="Something."
            ).is_error

        ask(server.mcp, token=f"{secret}x")
        ask(f"{server.mcp}?token={secret}")
        ask(f"{server.mcp}/{secret}")
        ask(server.mcp, Authorization=secret)
        assert server.stop() == 143
        log = server.stderr()

    assert "save_memory" in log
    assert "refused a request from address 127.0.0.1 without a token that is known" in log
    assert secret not in log
    assert not [
        path
        for path in tmp_path.rglob("*")
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


def test_a_file_of_tokens_is_read_as_far_as_one_may_be_long_and_may_be_a_pipe(
    tmp_path: Path,
) -> None:
    large, pipe = tmp_path / "large", tmp_path / "pipe"
    large.touch(mode=0o600)
    os.truncate(large, 1 << 40)
    os.mkfifo(pipe, 0o600)
    writer = Thread(target=lambda: pipe.write_text(READER + "\n", encoding="utf-8"))
    writer.start()

    assert read_token_file(str(pipe)) == single_token(READER, source="pipe")

    with pytest.raises(
        SettingsError, match="has more than 1,048,576 bytes; a file with tokens has fewer"
    ):
        read_token_file(str(large))

    writer.join()
