"""`goop-mcp serve --ui`: people log in with a token, next to MCP on one server."""

import socket
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from goop_mcp.cli import main
from goop_mcp.context import AppContext
from goop_mcp.server.http.application import NetworkApplication
from goop_mcp.server.http.options import Options
from goop_mcp.server.http.settings import read_network_settings
from goop_mcp.settings import read_settings
from goop_mcp.workbench import forms
from goop_mcp.workbench.local import LocalWorkbench
from goop_mcp.workbench.team import team_pages
from tests.server.http import serving
from tests.workbench.browsing import ADDRESS, root_of, text_of
from tests.workbench.projects import play_until

ANN, BOB, EVE = (f"{name}-{'0123456789' * 3}" for name in ("ann", "bob", "eve"))
FORM = "application/x-www-form-urlencoded"
KEYS = {"GOOP_STATE_KEYS": "s" * 40}


def write_tokens(folder: Path, **scopes: str) -> Path:
    """Write a file with the token of each person and its scopes."""
    tokens = {"ann": ANN, "bob": BOB, "eve": EVE}
    file = folder / "tokens.toml"
    lines = [f'[tokens.{n}]\ntoken = "{tokens[n]}"\nscopes = {s}\n' for n, s in scopes.items()]
    file.write_text("\n".join(lines), encoding="utf-8")
    file.chmod(0o600)
    assert tomllib.loads(file.read_text())["tokens"].keys() == scopes.keys()
    return file


@contextmanager
def served(
    project: Path, tokens: Path, *, origin: str = ADDRESS, **environment: str
) -> Iterator[tuple[NetworkApplication, TestClient]]:
    settings = read_settings({}, project=str(project))
    options = Options(token_file=str(tokens), allowed_hosts=("goop.example",))
    network = read_network_settings(environment, settings, options, transport="http")
    application = NetworkApplication(settings, network, pages=team_pages)
    with TestClient(application, base_url=origin, raise_server_exceptions=False) as client:
        client.headers["Origin"] = origin
        yield application, client


def test_a_token_logs_in_and_its_scopes_decide(tmp_path: Path) -> None:
    play_until(tmp_path, "blueprint")
    tokens = write_tokens(
        tmp_path, ann='["read", "write", "confirm"]', bob='["read"]', eve='["write"]'
    )
    with served(tmp_path, tokens) as (_, client):
        before = client.get("/")
        wrong = client.post("/login", data={"token": "x" * 40})
        cannot_read = client.post("/login", data={"token": EVE})
        bob = client.get(f"{root_of(client.post('/login', data={'token': BOB}))}/")
        ann = client.get(f"{root_of(client.post('/login', data={'token': ANN}))}/")

    assert before.status_code == 401
    assert 'name="token"' in before.text
    assert (wrong.status_code, cannot_read.status_code) == (401, 403)
    assert "does not know that token" in text_of(wrong)
    assert "bob read-only" in text_of(bob, "header")
    assert "Lock the specification" not in text_of(bob)
    assert "Lock the specification …" in text_of(ann)


def test_the_cookie_is_secure_over_tls_and_ends_with_logging_out(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read", "write", "confirm"]')
    with served(tmp_path, tokens, origin="https://goop.example") as (_, client):
        entered = client.post("/login", data={"token": ANN}, follow_redirects=False)
        cookie = entered.headers["set-cookie"]
        jar = dict(client.cookies)
        page = client.get("/")
        csrf = page.text.split('name="csrf" value="')[1].split('"')[0]
        client.post("/logout", data={"csrf": csrf})
        client.cookies.update(jar)
        stolen = client.get("/")

    # Over TLS the browser gives the cookie to this host alone, and addresses are short.
    assert cookie.startswith("__Host-")
    assert "; Path=/;" in cookie
    assert root_of(entered) == ""
    assert "; Secure" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Max-Age=43200" in cookie
    assert ANN not in cookie
    assert (page.status_code, stolen.status_code) == (200, 401)


def test_a_login_counts_on_every_replica_with_the_shared_keys(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read"]')
    with (
        served(tmp_path, tokens, **KEYS) as (_, first),
        served(tmp_path, tokens, **KEYS) as (_, second),
        served(tmp_path, tokens) as (_, other),
    ):
        root = root_of(first.post("/login", data={"token": ANN}))
        for each in (second, other):
            each.cookies.update(first.cookies)
        answers = [each.get(f"{root}/").status_code for each in (first, second, other)]

    assert answers == [200, 200, 401]


def test_removing_a_token_ends_its_logins(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read"]', bob='["read"]')
    with served(tmp_path, tokens) as (application, client):
        first_page = f"{root_of(client.post('/login', data={'token': ANN}))}/"
        before = client.get(first_page).status_code
        write_tokens(tmp_path, bob='["read"]')
        application.reload_tokens()
        after = client.get(first_page)

    assert (before, after.status_code) == (200, 401)
    assert "has ended" in text_of(after)


def test_addresses_of_programs_stay_as_they_are(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read"]')
    with served(tmp_path, tokens) as (_, client):
        root = root_of(client.post("/login", data={"token": ANN}))
        health = client.get("/health")
        # A cookie opens pages and never MCP, wherever it is sent.
        below = client.post(f"{root}/mcp", json={})
        cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        mcp = client.post("/mcp", json={}, headers={"Cookie": cookies})
        foreign = client.get("/", headers={"Origin": "https://evil.example"})
        host = client.get("/", headers={"Host": "evil.example"})

    assert health.json() == {"status": "ok"}
    assert (below.status_code, mcp.status_code) == (404, 401)
    assert mcp.json()["error"] == "invalid_token"
    assert (foreign.status_code, host.status_code) == (403, 421)


def test_guessing_tokens_is_limited(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read"]')
    with served(tmp_path, tokens, GOOP_RATE_LIMIT="1") as (_, client):
        answers = [client.post("/login", data={"token": "x" * 40}) for _ in range(6)]

    assert answers[-1].status_code == 429
    assert "Retry-After" in answers[-1].headers


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--ui"], "--ui is for a network"),
        (["--ui", "--transport", "http"], "--ui lets people log in with a token, and none is set"),
    ],
)
def test_a_server_that_cannot_let_people_in_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["serve", "--project", str(tmp_path), *options]) == 2
    assert expected in capsys.readouterr().err


def test_slow_forms_keep_nobody_out(tmp_path: Path) -> None:
    tokens = write_tokens(tmp_path, ann='["read"]')
    options = ("--transport", "http", "--ui", "--token-file", str(tokens), "--rate-limit", "0")
    with serving.served(*options, project=tmp_path, **KEYS) as server, ExitStack() as opened:
        head = f"POST /login HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Type: {FORM}\r\n"
        # More than one client may have in progress.
        for _ in range(300):
            slow = opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            slow.sendall(f"{head}Content-Length: 100\r\n\r\ntoken=".encode())
        whole = opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
        whole.sendall(f"{head}Content-Length: 8\r\n\r\ntoken=no".encode())
        whole.settimeout(serving.PATIENCE)
        answer = whole.recv(4_096)

    assert answer.startswith(b"HTTP/1.1 401 ")


def test_a_form_that_does_not_arrive_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forms, "BODY_SECONDS", 0.01)
    settings = read_settings({}, project=str(tmp_path))
    local = LocalWorkbench(AppContext(settings), is_read_only=False)
    headers = [(b"host", b"127.0.0.1:8000"), (b"content-type", FORM.encode())]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/steps",
        "query_string": b"",
        "headers": headers,
    }
    sent: list[Message] = []

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    anyio.run(local, scope, receive, send)
    assert sent[0]["status"] == 408
    assert b"The form came too slowly" in sent[1]["body"]
