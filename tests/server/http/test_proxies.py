"""The proxies of the page in front of a real server: nginx and Caddy, with TLS on loopback."""

import shutil
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client import Transport as ClientTransport
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import ResourceUpdatedNotification

from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.documentation.pages import fences
from tests.server.http.requests import HEADERS, INITIALIZE
from tests.server.http.serving import PATIENCE, served

PAGE, NAME, URI = "docs/security.md", "goop.example", "goop://project/SPEC.md"
TOKEN = "a-token-of-the-tests"

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)


@dataclass(frozen=True, slots=True)
class Proxied:
    """A server behind a proxy, and what a client needs to reach it."""

    address: str
    certificate: Path
    project: Path

    def http(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        # The name of the page belongs to nobody; the clients of this test connect by address.
        sent = {"Host": NAME, "Authorization": f"Bearer {TOKEN}", **(headers or {})}
        return httpx2.AsyncClient(
            headers=sent,
            timeout=timeout or PATIENCE,
            auth=auth,
            verify=ssl.create_default_context(cafile=self.certificate),
        )

    def target(self, transport: str) -> ClientTransport:
        if transport == "sse":
            return sse_client(f"{self.address}/sse", httpx_client_factory=self.http)
        return self._streamable()

    @asynccontextmanager
    async def _streamable(self) -> AsyncIterator[TransportStreams]:
        async with (
            self.http() as http,
            streamable_http_client(f"{self.address}/mcp", http_client=http) as streams,
        ):
            yield streams


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def nginx(folder: Path, upstream: int, port: int) -> list[str]:
    (server,) = (each.text for each in fences(PAGE, "nginx"))
    for shown, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("127.0.0.1:8000", f"127.0.0.1:{upstream}"),
        ("/etc/ssl/goop.example.pem", str(folder / "cert.pem")),
        ("/etc/ssl/goop.example.key", str(folder / "key.pem")),
    ):
        assert shown in server
        server = server.replace(shown, here)

    places = "".join(
        f"{kind}_temp_path {folder};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    file.write_text(
        # Started by root, its workers would be somebody who may not write into this folder.
        f"daemon off; pid {folder}/pid; error_log stderr; user {folder.owner()};\n"
        "events {}\n"
        f"http {{\naccess_log off;\n{places}{server}}}\n",
        encoding="utf-8",
    )
    return ["nginx", "-c", str(file), "-e", "stderr"]


def caddy(folder: Path, upstream: int, port: int) -> list[str]:
    (site,) = (each.text for each in fences(PAGE, "") if "reverse_proxy" in each.text)
    assert site.startswith(f"{NAME} {{\n")
    # With -1, Caddy keeps a stream to the server open after its client has left.
    assert "flush_interval" not in site
    site = site.replace("127.0.0.1:8000", f"127.0.0.1:{upstream}").replace(
        f"{NAME} {{\n",
        # The certificate of a real name comes from an authority, which a test does not ask.
        f"{NAME}:{port} {{\nbind 127.0.0.1\ntls {folder}/cert.pem {folder}/key.pem\n",
    )
    file = folder / "Caddyfile"
    options = f"{{\nadmin off\ndefault_sni {NAME}\nauto_https disable_redirects\n}}\n"
    file.write_text(options + site, encoding="utf-8")
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


PROXIES = {"nginx": nginx, "caddy": caddy}


@contextmanager
def proxied(name: str, folder: Path) -> Iterator[Proxied]:
    for needed in (name, "openssl"):
        if shutil.which(needed) is None:
            pytest.skip(f"{needed} is not installed")

    project = folder / "project"
    (project / ".goopspec").mkdir(parents=True)
    (project / ".goopspec" / "SPEC.md").write_text("first", encoding="utf-8")
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key.pem -out cert.pem"
        f" -subj /CN={NAME} -addext subjectAltName=DNS:{NAME},IP:127.0.0.1".split(),
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    port = free_port()
    options = ("--transport", "http", "--allowed-host", NAME, "--rate-limit", "0")
    with served(*options, project=project, GOOP_TOKEN=TOKEN) as server:
        upstream = int(server.address.rpartition(":")[2])
        home = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        with subprocess.Popen(
            PROXIES[name](folder, upstream, port),
            env=home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                wait_for_port(port, process)
                yield Proxied(f"https://127.0.0.1:{port}", folder / "cert.pem", project)
            finally:
                # Not SIGKILL: nginx ends its workers itself.
                process.terminate()


def wait_for_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    while True:
        assert process.poll() is None, f"the proxy has ended with {process.returncode}"
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return


async def use(to: Proxied, transport: str, mode: str) -> None:
    """Call a tool, and hear of a change over a stream that stays open."""
    heard = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            heard.set()

    async with Client(to.target(transport), mode=mode, message_handler=note) as client:
        answer = await client.call_tool("validate_report", {"text": COMPLETE_REPLY})
        assert not answer.is_error
        with anyio.fail_after(PATIENCE):
            if mode == "legacy":
                await client.subscribe_resource(URI)
                for number in range(1_000):
                    change(to.project, f"change {number}")
                    with anyio.move_on_after(2):
                        await heard.wait()
                        return
            else:
                async with client.listen(resource_subscriptions=[URI]) as events:
                    change(to.project, "second")
                    assert (await anext(aiter(events))) is not None


def change(project: Path, text: str) -> None:
    (project / ".goopspec" / "SPEC.md").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_of_the_page_passes_calls_and_streams_on(name: str, tmp_path: Path) -> None:
    with proxied(name, tmp_path) as to:
        anyio.run(use, to, "streamable-http", "auto")
        anyio.run(use, to, "streamable-http", "legacy")
        anyio.run(use, to, "sse", "legacy")


@pytest.mark.parametrize("name", PROXIES)
def test_a_proxy_of_the_page_keeps_the_checks_of_the_server(name: str, tmp_path: Path) -> None:
    async def codes(to: Proxied) -> dict[str, int]:
        async with to.http(HEADERS) as http:
            url = f"{to.address}/mcp"
            longest = b" " * (4 * 1024 * 1024)
            answers = {
                "health": await http.get(f"{to.address}/health"),
                "token": await http.post(url, json=INITIALIZE),
                "other token": await http.post(
                    url, json=INITIALIZE, headers={"Authorization": "Bearer another-token-123"}
                ),
                "longest body": await http.post(url, content=longest),
                "longer body": await http.post(url, content=longest + b" "),
            }
        return {name: each.status_code for name, each in answers.items()}

    with proxied(name, tmp_path) as to:
        assert anyio.run(codes, to) == {
            "health": 200,
            "token": 200,
            "other token": 401,
            "longest body": 400,
            "longer body": 413,
        }
