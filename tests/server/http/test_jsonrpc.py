"""Refusals of messages, sessions and versions that cannot be served, in both protocol versions."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from pydantic import JsonValue

from tests.server.connections import PROTOCOL_MODES, connect, target
from tests.server.http.requests import INITIALIZE, ask, refusal_of
from tests.server.http.serving import Served, served
from tests.server.http.sockets import opened, until

LISTING: JsonValue = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
MODERN = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/list"}
EARLIER = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NO_MESSAGES = [
    (b"", -32700),
    (b"{", -32700),
    (b"\xff\xfe", -32700),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/li', -32700),
    (b"null", -32600),
    (b'"ping"', -32600),
    (b'{"jsonrpc": "2.0"}', -32600),
    (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32600),
    (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
    (b"[" * 100_000, -32600),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(
        "--transport", "http", "--rate-limit", "0", project=tmp_path_factory.mktemp("project")
    ) as running:
        yield running


def session_of(server: Served, version: str = "2025-11-25") -> str:
    """Open a session of a revision, and return its id."""
    assert isinstance(INITIALIZE, dict)
    client: JsonValue = {"name": "tests", "version": "1"}
    params: JsonValue = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    answer = ask(server.mcp, body={**INITIALIZE, "params": params})
    assert f'"protocolVersion":"{version}"' in answer.text
    return answer.headers["mcp-session-id"]


@contextmanager
def older_way(server: Served) -> Iterator[str]:
    """Hold a stream of the older way open, and give the address for messages that it names."""
    with opened(server.port) as (stream,):
        stream.sendall(b"GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        path = until(stream, rb"(/messages/\?session_id=[0-9a-f]{32})")[1].decode()
        yield f"{server.address}{path}"


def rpc_error(answer: httpx2.Response) -> tuple[int, str]:
    """Return code and message of a JSON-RPC error of the package, which opens no session."""
    content = answer.json()
    body = content[0] if isinstance(content, list) else content
    assert answer.status_code >= 400
    assert body["jsonrpc"] == "2.0"
    message: str = body["error"]["message"]
    assert not [
        foreign
        for foreign in ("pydantic", "input_value", "Traceback", "/site-packages/")
        if foreign in message
    ]
    assert "mcp-session-id" not in answer.headers

    return body["error"]["code"], message


@pytest.mark.parametrize(("content", "code"), NO_MESSAGES)
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_body_that_is_no_message_is_refused_with_what_to_send(
    server: Served, content: bytes, code: int, protocol_mode: str
) -> None:
    headers = MODERN if protocol_mode == "auto" else {"Mcp_Session_Id": session_of(server)}
    assert rpc_error(ask(server.mcp, content=content, **headers))[0] == code
    assert (
        rpc_error(
            ask(server.mcp, content=content, **({} if protocol_mode == "legacy" else MODERN))
        )[0]
        == code
    )


@pytest.mark.parametrize(("content", "code"), NO_MESSAGES)
def test_a_body_that_is_no_message_is_refused_over_sse_too(
    server: Served, content: bytes, code: int
) -> None:
    with older_way(server) as messages:
        assert rpc_error(ask(messages, content=content))[0] == code
        assert ask(messages, body=INITIALIZE).status_code == 202


@pytest.mark.parametrize(
    "content", [b"[]", b"\n [{}]", b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]']
)
def test_a_batch_is_refused_with_the_advice_to_send_its_messages_singly(
    server: Served, content: bytes
) -> None:
    one_by_one = "send each message in its own request"
    code, message = rpc_error(ask(server.mcp, content=content, **MODERN))
    assert code == -32600
    assert (
        message
        == f"a list of messages (a batch) arrived, which this revision of MCP lacks; {one_by_one}"
    )
    later = {
        "Mcp_Session_Id": session_of(server, "2025-06-18"),
        "MCP_Protocol_Version": "2025-06-18",
    }
    assert rpc_error(ask(server.mcp, content=content, **later)) == (code, message)


@pytest.mark.parametrize("content", [b"[]", b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]'])
def test_a_batch_of_the_revision_that_had_batches_is_refused_with_later_ones(
    server: Served, content: bytes
) -> None:
    session = session_of(server, "2025-03-26")
    with older_way(server) as messages:
        answers = [
            ask(server.mcp, content=content, Mcp_Session_Id=session),
            ask(
                server.mcp,
                content=content,
                Mcp_Session_Id=session,
                MCP_Protocol_Version="2025-03-26",
            ),
            ask(messages, content=content),
        ]

    for answer in answers:
        code, message = rpc_error(answer)
        assert code == -32600
        assert "revision 2025-03-26 of MCP has and this server does not accept" in message
        assert message.endswith("or initialize with 2025-06-18 or later")

    assert ask(server.mcp, body=LISTING, Mcp_Session_Id=session).status_code == 200


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_every_id_of_a_batch_and_one_that_is_no_integer_are_in_the_answer(
    server: Served, protocol_mode: str
) -> None:
    batch: JsonValue = [
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 7, "result": {}},
        3,
    ]
    headers = MODERN if protocol_mode == "auto" else {"Mcp_Session_Id": session_of(server)}

    def answered(content: str) -> list[tuple[JsonValue, int]]:
        answer = ask(server.mcp, content=content.encode(), **headers).json()
        errors = answer if isinstance(answer, list) else [answer]
        return [(each["id"], each["error"]["code"]) for each in errors]

    assert answered(json.dumps(batch)) == [("a", -32600), (1.5, -32600)]
    assert answered('{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}') == [(1.5, -32600)]
    # Python reads it as a number, and JSON has no word for it.
    assert answered('{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}') == [(None, -32600)]


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_words_that_look_like_a_strange_id_do_no_harm_in_arguments(
    server: Served, protocol_mode: str
) -> None:
    with connect(target(server, "streamable-http"), protocol_mode) as connection:
        assert not connection.tool("validate_report", text='{"id": null}, "id":{}').is_error
        assert connection.tool("route_next_action", text="x", context={"id": None}).is_error


def test_clients_of_unknown_sessions_read_how_to_open_another(server: Served) -> None:
    for session in ("0" * 32, "x", "../../etc/passwd", "a" * 10_000):
        for method in ("POST", "GET", "DELETE"):
            answer = ask(server.mcp, method=method, body=LISTING, Mcp_Session_Id=session)
            assert answer.status_code == 404
            assert (
                rpc_error(answer)[1]
                == "the session has ended or never existed; send initialize to open another"
            )

    messages = f"{server.address}/messages/"
    assert refusal_of(ask(f"{messages}?session_id={'0' * 32}", body=LISTING)) == (404, "not_found")

    for url in (messages, f"{messages}?session_id=x"):
        answer = ask(url, body=LISTING)
        assert refusal_of(answer) == (400, "bad_request")
        assert (
            "the address that the stream at /sse names first" in answer.json()["error_description"]
        )

    assert refusal_of(ask(messages, method="GET")) == (405, "not_allowed")


def test_a_session_that_was_ended_does_not_exist(server: Served) -> None:
    session = session_of(server)
    assert ask(server.mcp, method="DELETE", Mcp_Session_Id=session).status_code == 200
    answer = ask(server.mcp, body=LISTING, Mcp_Session_Id=session)
    assert (answer.status_code, "never existed" in rpc_error(answer)[1]) == (404, True)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_a_request_without_a_session_reads_how_to_get_one(server: Served, method: str) -> None:
    answer = ask(server.mcp, method=method, body=LISTING)
    code, message = rpc_error(answer)
    assert (answer.status_code, code) == (400, -32600)
    assert message.startswith("the request names no session; send initialize first")


def test_a_second_stream_of_a_session_is_refused_and_one_that_would_be_resumed_too(
    server: Served,
) -> None:
    session = session_of(server)
    head = (
        "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nMcp-Session-Id:"
        f" {session}\r\n\r\n"
    )
    resumed = ask(server.mcp, method="GET", Mcp_Session_Id=session, Last_Event_ID="7")
    assert refusal_of(resumed) == (400, "no_replay")

    with opened(server.port) as (stream,):
        stream.sendall(head.encode())
        until(stream, b"\r\n\r\n")
        answer = ask(server.mcp, method="GET", Mcp_Session_Id=session)
        assert answer.status_code == 409
        assert "Only one SSE stream is allowed" in rpc_error(answer)[1]


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("path", ["/mcp", "/sse", "/messages/"])
def test_another_method_opens_no_session(server: Served, method: str, path: str) -> None:
    for headers in ({}, MODERN):
        answer = ask(f"{server.address}{path}", method=method, content=None, **headers)
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")
        assert "mcp-session-id" not in answer.headers


@pytest.mark.parametrize("accept", ["text/html", "application/json", "text/event-stream", ""])
def test_a_client_that_takes_no_streams_reads_what_to_accept(server: Served, accept: str) -> None:
    answer = ask(server.mcp, Accept=accept, content=None, **MODERN)
    assert refusal_of(answer) == (406, "not_acceptable")
    assert "application/json, text/event-stream" in answer.json()["error_description"]
    legacy = ask(server.mcp, Accept=accept)
    assert legacy.status_code == 406
    assert "must accept both application/json and text/event-stream" in rpc_error(legacy)[1]


@pytest.mark.parametrize("version", EARLIER)
def test_every_earlier_version_is_spoken(server: Served, version: str) -> None:
    session = session_of(server, version)
    answer = ask(server.mcp, body=LISTING, Mcp_Session_Id=session, MCP_Protocol_Version=version)
    assert '"validate_report"' in answer.text


@pytest.mark.parametrize("version", ["1999-01-01", "2026-07-29", "latest", "x" * 5_000])
def test_a_version_that_never_was_is_refused_with_those_that_are_spoken(
    server: Served, version: str
) -> None:
    for headers in ({}, {"Mcp_Session_Id": session_of(server)}):
        answer = ask(
            server.mcp,
            body=LISTING,
            MCP_Protocol_Version=version,
            Mcp_Method="tools/list",
            content=None,
            **headers,
        )
        code, message = rpc_error(answer)
        assert (answer.status_code, code) == (400, -32022)
        assert answer.json()["error"]["data"] == {
            "supported": ["2026-07-28"],
            "requested": version[:64],
        }
        assert all(spoken in message for spoken in ("2026-07-28", *EARLIER))


def test_what_a_client_sends_wrong_leaves_no_traceback_in_the_log(tmp_path: Path) -> None:
    with served("--transport", "http", "--rate-limit", "0", project=tmp_path) as server:
        for content, _ in NO_MESSAGES:
            ask(server.mcp, content=content)
            ask(server.mcp, content=content, **MODERN)
            with older_way(server) as messages:
                ask(messages, content=content)

        ask(server.mcp, method="GET", Upgrade="websocket", Connection="Upgrade")
        assert server.stop() == 143
        log = server.stderr()

    assert "Traceback" not in log
    assert "pip install" not in log
