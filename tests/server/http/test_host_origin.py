"""Who may ask at all: names and origins, on every address, with and without tokens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.http.requests import ask, refusal_of
from tests.server.http.serving import Served, served
from tests.server.http.sockets import exchange

ORIGIN = "https://app.example"
PATHS = [
    ("POST", "/mcp"),
    ("GET", "/mcp"),
    ("GET", "/sse"),
    ("POST", "/messages/"),
    ("GET", "/health"),
    ("GET", "/ready"),
]
FOREIGN_HOSTS = [
    "attacker.example",
    "127.0.0.1.attacker.example",
    "localhost@attacker.example",
    "0.0.0.0",
]
FOREIGN_ORIGINS = [
    "https://attacker.example",
    "null",
    "https://app.example.attacker.example",
    "file://",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = (
        "--transport",
        "http",
        "--allowed-origin",
        ORIGIN,
        "--allowed-host",
        "goop.example",
        "--rate-limit",
        "0",
    )
    with served(*options, project=tmp_path_factory.mktemp("project")) as running:
        yield running


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_a_foreign_host_is_refused_everywhere(
    server: Served, method: str, path: str, host: str
) -> None:
    response = ask(f"{server.address}{path}", method=method, Host=f"{host}:{server.port}")
    assert refusal_of(response) == (421, "unknown_host")


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_a_foreign_origin_is_refused_everywhere(
    server: Served, method: str, path: str, origin: str
) -> None:
    response = ask(f"{server.address}{path}", method=method, Origin=origin)
    assert refusal_of(response) == (403, "unknown_origin")
    assert not [name for name in response.headers if name.startswith("access-control-")]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost:1", "[::1]:8000", "GOOP.example", "goop.example:8443"]
)
def test_a_known_host_is_accepted_with_any_port_and_in_any_case(server: Served, host: str) -> None:
    assert ask(server.mcp, Host=host).status_code == 200


def test_no_host_and_two_hosts_are_refused(server: Served) -> None:
    for head in (
        b"GET /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: a\r\n\r\n",
    ):
        assert exchange(server.port, head).startswith(b"HTTP/1.1 400 ")

    assert exchange(server.port, b"GET /health HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421 ")


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(server: Served) -> None:
    hidden = b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    head = f"POST /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {5 + len(hidden)}\r\n"
    answer = exchange(
        server.port, f"{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode() + hidden
    )
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b'"two_lengths"' in answer
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("path", ["/mcp/", "/messages", "/sse/", "/health/"])
def test_nobody_is_led_to_another_address_token_and_all(server: Served, path: str) -> None:
    assert refusal_of(ask(f"{server.address}{path}")) == (404, "not_found")


def test_head_opens_no_stream(server: Served) -> None:
    for url in (server.sse, server.mcp, f"{server.address}/messages/"):
        answer = ask(url, method="HEAD")
        assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST, DELETE")


def test_a_page_of_an_allowed_origin_may_ask_before_and_read_after(server: Served) -> None:
    wanted = "authorization,content-type,mcp-protocol-version,mcp-session-id"
    before = ask(
        server.mcp,
        method="OPTIONS",
        Origin=ORIGIN,
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers=wanted,
    )
    assert before.status_code == 200
    assert before.headers["access-control-allow-origin"] == ORIGIN
    assert before.headers["access-control-allow-headers"] == wanted
    after = ask(server.mcp, Origin=ORIGIN)
    assert (after.status_code, after.headers["access-control-allow-origin"]) == (200, ORIGIN)
    assert "Mcp-Session-Id" in after.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in after.headers


def test_a_preflight_of_another_origin_gets_no_permission(server: Served) -> None:
    for origin in ("https://attacker.example", "http://localhost:3000"):
        answer = ask(
            server.mcp, method="OPTIONS", Origin=origin, Access_Control_Request_Method="POST"
        )
        assert answer.status_code >= 400
        assert "access-control-allow-origin" not in answer.headers


def test_without_an_allowed_origin_there_are_no_cors_headers(tmp_path: Path) -> None:
    with served("--transport", "streamable-http", project=tmp_path) as server:
        for origin in (ORIGIN, f"http://127.0.0.1:{server.port}"):
            answer = ask(server.mcp, Origin=origin)
            assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert answer.status_code == 200


def test_an_address_for_other_machines_keeps_the_guard_up(tmp_path: Path) -> None:
    options = ("--transport", "http", "--host", "0.0.0.0", "--allowed-host", "goop.example")
    with served(*options, project=tmp_path, GOOP_TOKEN="a-token-of-the-tests") as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        assert refusal_of(ask(url, token="a-token-of-the-tests")) == (421, "unknown_host")
        assert refusal_of(ask(url, token="a-token-of-the-tests", Host="attacker.example")) == (
            421,
            "unknown_host",
        )
        named = {"token": "a-token-of-the-tests", "Host": "goop.example"}
        assert refusal_of(ask(url, Origin="http://localhost", **named)) == (403, "unknown_origin")  # type: ignore[arg-type]
        assert ask(url, token="a-token-of-the-tests", Host="goop.example").status_code == 200


def test_only_the_transports_that_were_asked_for_are_served(tmp_path: Path) -> None:
    with served("--transport", "sse", project=tmp_path) as server:
        assert refusal_of(ask(server.mcp)) == (404, "not_found")
        assert ask(f"{server.address}/messages/?session_id=x").status_code == 400

    with served("--transport", "streamable-http", project=tmp_path) as server:
        assert refusal_of(ask(server.sse, method="GET")) == (404, "not_found")
        assert ask(server.mcp).status_code == 200


def test_health_says_ok_and_nothing_else(server: Served) -> None:
    answer = ask(f"{server.address}/health", method="GET")
    assert answer.json() == {"status": "ok"}
    assert answer.text.replace(" ", "") == '{"status":"ok"}'
    assert refusal_of(ask(f"{server.address}/health", method="DELETE")) == (405, "not_allowed")
    assert not answer.headers.get("set-cookie")


def test_ready_says_whether_the_database_answers(server: Served, tmp_path: Path) -> None:
    assert ask(f"{server.address}/ready", method="GET").json() == {"status": "ready"}
    folder = f"postgresql://nobody@/none?host={tmp_path}"
    options = ("--transport", "http", "--database", folder, "--project-id", "shop")
    with served(*options, project=tmp_path) as unready:
        answer = ask(f"{unready.address}/ready", method="GET")
        assert (answer.status_code, answer.json()) == (503, {"status": "unavailable"})
        assert ask(f"{unready.address}/health", method="GET").json() == {"status": "ok"}
