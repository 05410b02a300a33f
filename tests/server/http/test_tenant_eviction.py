"""More tenants than one process holds: those at rest make room, and nothing of theirs is lost."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import httpx2
import pytest
from pydantic import JsonValue

from goop_mcp.context import AppContext
from goop_mcp.server import GoopServer, create_server
from goop_mcp.server.http import Tenants
from goop_mcp.server.http.fast_path import FastPath
from goop_mcp.settings import Settings
from tests.postgres import Database, Server
from tests.server.connections import PROTOCOL_MODES, Transport, connect, target, text_of
from tests.server.http.few_tenants import MOST
from tests.server.http.requests import INITIALIZE, ask, refusal_of
from tests.server.http.serving import PATIENCE, Served, served
from tests.server.http.sockets import opened, until

NAMES = [f"tenant-{number}" for number in range(7)]
TOKENS = {name: f"the-token-of-{name}" for name in NAMES}
NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def database(postgres: Server) -> Iterator[Database]:
    with postgres.database() as database:
        yield database


@contextmanager
def holding_few(folder: Path, database: Database, *options: str) -> Iterator[Served]:
    """Serve all tenants with a server that holds few of them, its own included."""
    (folder / "temporary").mkdir()
    file = folder / "tokens.toml"
    tables = [
        f'[tokens.{name}]\ntoken = "{token}"\ntenant = "{name}"\n' for name, token in TOKENS.items()
    ]
    file.write_text("".join(tables), encoding="utf-8")
    file.chmod(0o600)
    variables = {
        "GOOP_DATABASE_URL": database.url(),
        "GOOP_PROJECT_ID": "shop",
        "TMPDIR": str(folder / "temporary"),
    }
    asked = ("--transport", "http", "--token-file", str(file), "--rate-limit", "0", *options)

    with served(
        *asked, project=folder, program="tests.server.http.few_tenants", **variables
    ) as running:
        yield running


def ask_until_there_is_room(server: Served, name: str) -> httpx2.Response:
    """Ask as a tenant, again for as long as the answer is that all others are at work."""
    waiting = threading.Event()
    for _ in range(int(PATIENCE)):
        answer = ask(server.mcp, token=TOKENS[name])
        if answer.status_code != 503:
            return answer

        assert refusal_of(answer) == (503, "too_many_tenants")
        waiting.wait(int(answer.headers["retry-after"]))

    raise AssertionError("there was never any room")


@pytest.mark.parametrize("transport", NETWORK)
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_one_tenant_after_the_other_is_served_and_finds_what_it_saved(
    tmp_path: Path, database: Database, transport: Transport, protocol_mode: str
) -> None:
    with holding_few(tmp_path, database) as server:
        for name in NAMES:
            ask_until_there_is_room(server, name)
            with connect(
                target(server, transport, token=TOKENS[name]), protocol_mode
            ) as connection:
                saved = connection.tool(
                    "save_memory", title=f"Of {name}", content=f"Only {name} knows it."
                )
                assert not saved.is_error, text_of(saved)

        for name in NAMES:
            ask_until_there_is_room(server, name)
            with connect(
                target(server, transport, token=TOKENS[name]), protocol_mode
            ) as connection:
                found = connection.tool(
                    "search_memory", queries="knows", limit=50
                ).structured_content
                assert found is not None
                assert [item["title"] for item in found["items"]] == [f"Of {name}"]

        assert len(list((tmp_path / "temporary").glob("goop-mcp-*"))) <= MOST
        assert server.stop() == 143
        assert "Traceback" not in server.stderr()

    assert not list((tmp_path / "temporary").glob("goop-mcp-*"))


def test_tenants_that_all_save_at_once_lose_nothing_that_was_acknowledged(
    tmp_path: Path, database: Database
) -> None:
    each, end = 8, time.monotonic() + 4 * PATIENCE

    def save(name: str) -> list[str]:
        acknowledged = []
        for number in range(each):
            title = f"crowd {name} {number}"
            arguments: JsonValue = {"title": title, "content": f"Something about {title}."}
            meta: JsonValue = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params: JsonValue = {"name": "save_memory", "arguments": arguments, "_meta": meta}
            body: JsonValue = {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": params,
            }
            answer = None

            while answer is None or (answer.status_code == 503 and time.monotonic() < end):
                threading.Event().wait(0.05 if answer else 0)
                answer = ask(
                    server.mcp,
                    token=TOKENS[name],
                    body=body,
                    MCP_Protocol_Version="2026-07-28",
                    Mcp_Method="tools/call",
                    Mcp_Name="save_memory",
                )

            assert answer.status_code == 200, answer.text
            assert not answer.json()["result"].get("isError"), answer.text
            acknowledged.append(title)

        return acknowledged

    with holding_few(tmp_path, database) as server:
        with ThreadPoolExecutor(len(NAMES)) as pool:
            saved_titles = dict(
                zip(NAMES, pool.map(save, NAMES, timeout=5 * PATIENCE), strict=True)
            )

        for name, titles in saved_titles.items():
            ask_until_there_is_room(server, name)
            with connect(
                target(server, "streamable-http", token=TOKENS[name]), "auto"
            ) as connection:
                found = connection.tool(
                    "search_memory", queries="crowd", limit=50
                ).structured_content

            assert found is not None
            assert sorted(item["title"] for item in found["items"]) == sorted(titles)


@contextmanager
def calling(server: Served, name: str, protocol_mode: str) -> Iterator[None]:
    """Have a call under way."""
    with (
        ThreadPoolExecutor(1) as pool,
        connect(target(server, "streamable-http", token=TOKENS[name]), protocol_mode) as connection,
    ):
        over = threading.Event()

        def wait() -> None:
            while not over.is_set():
                assert text_of(connection.tool("wait", seconds=1)) == "waited"

        waiting = pool.submit(wait)
        server.wait_for_line("waiting begins")

        try:
            yield
        finally:
            over.set()
            waiting.result(timeout=PATIENCE)


@contextmanager
def streaming(server: Served, name: str, protocol_mode: str) -> Iterator[None]:
    """Have a stream open, of the earlier or the later protocol version."""
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":'
        b'["goop://stats"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    common = (
        f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKENS[name]}\r\nAccept: application/json,"
        " text/event-stream\r\n"
    )
    older = f"GET /sse HTTP/1.1\r\n{common}\r\n".encode()
    later = (
        f"POST /mcp HTTP/1.1\r\n{common}Content-Type: application/json\r\nContent-Length:"
        f" {len(body)}\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method:"
        " subscriptions/listen\r\n\r\n"
    ).encode() + body

    with opened(server.port) as (stream,):
        stream.sendall(older if protocol_mode == "legacy" else later)
        until(stream, rb"event: endpoint|acknowledged")
        yield


@contextmanager
def in_a_session(server: Served, name: str, _: str) -> Iterator[None]:
    """Have a session of the earlier protocol version open, without a call."""
    session = ask(server.mcp, token=TOKENS[name]).headers["mcp-session-id"]
    yield
    assert (
        ask(server.mcp, token=TOKENS[name], method="DELETE", Mcp_Session_Id=session).status_code
        == 200
    )


WORKING = [
    (calling, "auto"),
    (calling, "legacy"),
    (streaming, "auto"),
    (streaming, "legacy"),
    (in_a_session, "legacy"),
]


@pytest.mark.parametrize(("working", "protocol_mode"), WORKING)
def test_a_tenant_at_work_is_not_closed_and_one_too_many_reads_when_to_come_back(
    tmp_path: Path,
    database: Database,
    working: Callable[[Served, str, str], AbstractContextManager[None]],
    protocol_mode: str,
) -> None:
    with holding_few(tmp_path, database, "--stateful") as server:
        first, second, third = NAMES[-3:]
        with working(server, first, protocol_mode):
            with working(server, second, protocol_mode):
                answer = ask(server.mcp, token=TOKENS[third])
                assert refusal_of(answer) == (503, "too_many_tenants")
                assert answer.headers["retry-after"] == "1"
                assert ask(f"{server.address}/ready", method="GET").json() == {"status": "ready"}

            assert ask_until_there_is_room(server, third).status_code == 200


def test_more_tokens_than_tenants_are_held_do_not_keep_the_server_from_starting(
    tmp_path: Path, database: Database
) -> None:
    with holding_few(tmp_path, database) as server:
        assert len(list((tmp_path / "temporary").glob("goop-mcp-*"))) == 1
        assert [
            ask(server.mcp, token=TOKENS[name], body=INITIALIZE).status_code for name in NAMES
        ] == [200] * len(NAMES)


async def test_a_tenant_that_cannot_be_closed_takes_no_other_with_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(application: AppContext) -> GoopServer:
        server = create_server(application.settings, application=application)
        if application.settings.tenant == "stuck":
            monkeypatch.setattr(application, "close", fail)
        return server

    def fail() -> None:
        raise OSError("the disk is gone")

    tenants = Tenants(
        Settings(project=tmp_path, tenant="own"), made, stateless=True, body_bytes=1_000, most=2
    )

    async with tenants.running():
        stuck = await tenants.tenant("stuck")
        assert await tenants.tenant("third") is not stuck
        assert "did not end as it should" in caplog.text
        own = await tenants.tenant("own")
        assert not own.gone.is_set()
        assert await tenants.tenant("stuck") is not stuck


@pytest.mark.parametrize("rules", [(), ("tests.validation.shop:TICKET",)])
async def test_only_who_brings_no_rules_is_answered_without_a_stream(
    tmp_path: Path, rules: tuple[str, ...]
) -> None:
    tenants = Tenants(
        Settings(project=tmp_path, rules=rules), made, stateless=True, body_bytes=1_000
    )
    async with tenants.running():
        tenant = await tenants.tenant(Settings(project=tmp_path).tenant)
        assert isinstance(tenant.streamable, FastPath) == (not rules)


def made(application: AppContext) -> GoopServer:
    return create_server(application.settings, application=application)
