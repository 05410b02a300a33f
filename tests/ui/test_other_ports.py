"""Other programs next to the workbench: what a browser sends them, and what they can do.

A browser sends cookies to every port of a host. The other program here is one that a person opens,
such as the development server of an agent.
"""

import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from goop_mcp.services.project_status import project_status
from tests.server.http.serving import Served, served
from tests.ui.conftest import Start
from tests.ui.running import PATIENCE
from tests.workbench.projects import opened, play_until

PERSON: Final = "token-of-the-person-at-the-browser"
OURS: Final = re.compile(r"goop_|goop root|goop key|/~")


class OtherProgram:
    """A web server on a port of its own, which keeps what browsers send it."""

    def __init__(self, server: ThreadingHTTPServer, requests: list[tuple[str, str]]) -> None:
        self.origin = f"http://127.0.0.1:{server.server_port}"
        self.requests = requests
        self.page = "<h1>Another program</h1><img src=/picture.png>"


@contextmanager
def other_program(port: int = 0) -> Iterator[OtherProgram]:
    """Serve its page on `port`, 0 for any free one."""
    requests: list[tuple[str, str]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append((self.path, str(self.headers)))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(program.page.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    program = OtherProgram(server, requests)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield program
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def other() -> Iterator[OtherProgram]:
    with other_program() as program:
        yield program


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(ignore_https_errors=True)
    yield context
    context.close()


@contextmanager
def serving_a_team(folder: Path, project: Path, **variables: str) -> Iterator[Served]:
    tokens = folder / "tokens.toml"
    scopes = '["read", "write", "confirm"]'
    tokens.write_text(f'[tokens.ann]\ntoken = "{PERSON}"\nscopes = {scopes}\n', encoding="utf-8")
    tokens.chmod(0o600)
    options = ("--transport", "http", "--ui", "--token-file", str(tokens))
    with served(*options, project=project, **variables) as it:
        yield it


def log_in_with_token(page: Page, origin: str) -> None:
    page.goto(f"{origin}/")
    page.get_by_label("Token").fill(PERSON)
    page.get_by_role("button", name="Log in").click()


def is_locked(project: Path) -> bool | None:
    with opened(project) as context:
        return project_status(context).spec_locked


@pytest.fixture(params=["ui", "serve --ui"])
def logged_in(
    request: pytest.FixtureRequest, start: Start, tmp_path: Path, context: BrowserContext
) -> Iterator[Page]:
    """Show the first page of a project whose specification waits to be locked."""
    page = context.new_page()
    if request.param == "ui":
        page.goto(start("blueprint").address)
        yield page
        return

    project = tmp_path / "linkcheck"
    project.mkdir()
    play_until(project, "blueprint")
    with serving_a_team(tmp_path, project) as server:
        log_in_with_token(page, server.address)
        yield page


def test_a_program_on_another_port_gets_no_cookie_and_confirms_nothing(
    logged_in: Page, tmp_path: Path, context: BrowserContext, other: OtherProgram
) -> None:
    page = logged_in
    page.get_by_role("button", name="Lock the specification").click()
    expect(page.get_by_text("3 must-haves, all traced to tasks")).to_be_visible()
    address = page.url

    visitor = context.new_page()
    for path in ("/", "/confirm/1", "/static/workbench.js"):
        visitor.goto(f"{other.origin}{path}")
    assert len(other.requests) >= 4
    assert not [request for request in other.requests if OURS.search("".join(request))]
    assert visitor.evaluate("Object.keys(localStorage).length") == 0

    # The worst case: a person has shown it the address, and so it got the cookie after all.
    cookies = {each.get("name", ""): each.get("value", "") for each in context.cookies()}
    assert len(cookies) == 1
    with httpx2.Client(cookies=cookies, timeout=PATIENCE) as program:
        shown = program.get(address)
        csrf = re.findall(r'name="csrf" value="(\w+)"', shown.text)[0]
        for key in ("", csrf, next(iter(cookies.values())), "0" * 32):
            fields = {"csrf": csrf, "key": key, "answer": "yes"}
            sent = program.post(address, data=fields)
            assert sent.status_code == 403, sent.text
            assert "key" not in sent.headers.get("set-cookie", "")
    assert is_locked(tmp_path / "linkcheck") is False

    # Nor can its page have the browser send the form, which brings the cookie along.
    other.page = (
        f"<form method=post action='{address}'><input name=csrf value={csrf}>"
        "<input name=answer value=yes><button>A game</button></form>"
    )
    visitor.goto(f"{other.origin}/game")
    visitor.get_by_role("button").click()
    expect(visitor.get_by_text("The form was sent by a page of another address")).to_be_visible()
    assert is_locked(tmp_path / "linkcheck") is False

    page.get_by_role("button", name="Lock", exact=True).click()
    expect(page.locator(".note.done")).to_contain_text("is locked")
    assert is_locked(tmp_path / "linkcheck") is True


def test_bookmarks_links_reload_and_the_way_back_lead_to_the_own_pages(
    logged_in: Page,
) -> None:
    page = logged_in
    first_page = page.get_by_role("heading", name="linkcheck")
    expect(first_page).to_be_visible()
    # The answer to the login is no page to come back to.
    page.go_back()
    assert "/login" not in page.url
    page.go_forward()
    expect(first_page).to_be_visible()

    origin, _, rest = page.url.partition("/~")
    root = f"{origin}/~{rest.partition('/')[0]}"
    page.goto(f"{root}/reports?agent=x")
    page.reload()
    assert page.url == f"{root}/reports?agent=x"

    # Without the first part, with that of an earlier login, and with that of a colleague.
    for before in ("", "/~0123456789012345678901"):
        page.goto(f"{origin}{before}/memory?q=links")
        page.wait_for_url(f"{root}/memory?q=links")
        expect(page.get_by_role("heading", name="What agents remember")).to_be_visible()

    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_text("You are logged out")).to_be_visible()
    assert page.evaluate("Object.keys(localStorage).length") == 0
    page.goto(f"{origin}/memory")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert page.url == f"{origin}/memory"


def test_a_browser_that_keeps_nothing_shows_the_code_to_be_typed(
    start: Start, tmp_path: Path, context: BrowserContext
) -> None:
    ui = start("blueprint")
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('blocked'); }})"
    )
    page = context.new_page()
    page.goto(ui.address)
    code = page.locator("pre").inner_text()
    page.get_by_role("link", name="Go on to the first page").click()
    page.get_by_role("button", name="Lock the specification").click()
    page.get_by_role("button", name="Lock", exact=True).click()
    page.get_by_label("Code of your login").fill(code)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".note.done")).to_contain_text("is locked")
    assert is_locked(tmp_path / "linkcheck") is True


@contextmanager
def tls_in_front_of(folder: Path, port: int) -> Iterator[int]:
    """Terminate TLS as a proxy does, and pass the bytes on to `port`; yield the port for TLS."""
    openssl = shutil.which("openssl")
    assert openssl is not None, "install openssl"
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost"
    names = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, *made.split(), *names], check=True, capture_output=True)
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)

    def pipe(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source, target:
            while data := source.recv(1 << 16):
                target.sendall(data)

    def accept() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            with suppress(OSError):
                client = secure.wrap_socket(plain, server_side=True)
                upstream = socket.create_connection(("127.0.0.1", port))
                for ends in ((client, upstream), (upstream, client)):
                    threading.Thread(target=pipe, args=ends, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def test_behind_a_proxy_with_tls_addresses_are_short_and_the_cookie_is_of_the_host(
    tmp_path: Path, context: BrowserContext
) -> None:
    project = tmp_path / "linkcheck"
    project.mkdir()
    play_until(project, "blueprint")
    page = context.new_page()
    with (
        serving_a_team(tmp_path, project) as server,
        tls_in_front_of(tmp_path, server.port) as port,
    ):
        log_in_with_token(page, f"https://localhost:{port}")
        expect(page.get_by_role("heading", name="linkcheck")).to_be_visible()
        assert page.url == f"https://localhost:{port}/"
        (cookie,) = context.cookies()
        assert cookie.get("name", "").startswith("__Host-goop_")
        assert (cookie.get("path"), cookie.get("secure")) == ("/", True)

        page.get_by_role("button", name="Lock the specification").click()
        page.get_by_role("button", name="Lock", exact=True).click()
        expect(page.locator(".note.done")).to_contain_text("is locked")
        page.goto(f"https://localhost:{port}/reports")
        expect(page.get_by_role("heading", name="Reports")).to_be_visible()
    assert is_locked(project) is True
