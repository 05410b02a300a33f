"""Two tenants on one PostgreSQL and one server: neither sees, finds or changes the other's data."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import MCPError

from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.postgres import Database, Server
from tests.server.connections import PROTOCOL_MODES, Connection, Transport, connect, target, text_of
from tests.server.http.requests import ask
from tests.server.http.serving import Served, served

NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")
SECRET = "the launch is on a Tuesday"
TOKENS = """\
[tokens.ours]
token = "of-the-server-itself"
[tokens.acme]
token = "token-of-the-tenant-acme"
tenant = "acme"
[tokens.rival]
token = "token-of-the-tenant-rival"
tenant = "rival"
"""


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Server() as postgres, postgres.database() as database:
        yield database


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / ".goopspec").mkdir()
    (folder / ".goopspec" / "SPEC.md").write_text(
        "# Spec of the server's own tenant\n", encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="module")
def server(
    database: Database, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
    file.write_text(TOKENS, encoding="utf-8")
    file.chmod(0o600)
    options = ("--transport", "http", "--token-file", str(file), "--rate-limit", "0")

    with served(
        *options,
        project=project,
        GOOP_DATABASE_URL=database.url(),
        GOOP_PROJECT_ID="shop",
        GOOP_LOG_LEVEL="DEBUG",
    ) as running:
        yield running


def save(connection: Connection, title: str, content: str) -> int:
    saved = connection.tool("save_memory", title=title, content=content)
    assert not saved.is_error, text_of(saved)
    assert saved.structured_content is not None
    id: int = saved.structured_content["id"]
    return id


@pytest.mark.parametrize("transport", NETWORK)
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_what_one_tenant_saves_no_other_reads_finds_or_forgets(
    server: Served, transport: Transport, protocol_mode: str
) -> None:
    mark = f"{transport} {protocol_mode}"
    with (
        connect(target(server, transport, token="token-of-the-tenant-acme"), protocol_mode) as acme,
        connect(
            target(server, transport, token="token-of-the-tenant-rival"), protocol_mode
        ) as rival,
    ):
        id = save(acme, f"Launch {mark}", f"{SECRET} in {mark}")
        assert SECRET in text_of(acme.tool("get_memory", id=id))
        for number in range(1, id + 3):
            assert SECRET not in text_of(rival.tool("get_memory", id=number))

        assert rival.tool("forget_memory", id=id).is_error
        found = rival.tool("search_memory", queries=["launch", "Tuesday", mark], limit=50)
        assert found.structured_content is not None
        assert found.structured_content["items"] == []
        assert SECRET in text_of(acme.tool("get_memory", id=id))
        recorded = acme.tool("record_report", text=COMPLETE_REPLY, check_workspace=False)
        assert not recorded.is_error
        assert "W1.T2" not in text_of(rival.tool("project_status"))


def test_a_session_of_one_tenant_does_not_exist_for_the_other(server: Served) -> None:
    # Sessions are kept only where that is asked for; here any id is unknown to the other tenant's
    # server.
    answer = ask(server.mcp, token="token-of-the-tenant-acme")
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


def test_only_the_servers_own_tenant_reads_the_folder_it_runs_in(server: Served) -> None:
    with connect(target(server, "streamable-http", token="of-the-server-itself"), "auto") as own:
        assert "Spec of the server's own tenant" in own.read("goop://project/SPEC.md").text

    with connect(
        target(server, "streamable-http", token="token-of-the-tenant-acme"), "auto"
    ) as acme:
        listed = [str(each.uri) for each in acme.call(acme.client.list_resources).resources]
        # What a tenant itself recorded shows in these.
        recorded = {f"goop://project/{name}" for name in ("CHRONICLE.md", "ADL.md", "HANDOFF.md")}
        assert {uri for uri in listed if uri.startswith("goop://project/")} <= recorded

        with pytest.raises(
            MCPError, match=r"SPEC\.md is a file of the project and not in its database"
        ):
            acme.read("goop://project/SPEC.md")


@pytest.mark.parametrize("token", ["of-the-server-itself", "token-of-the-tenant-acme"])
def test_nothing_is_written_into_a_folder_of_the_server(
    server: Served, project: Path, token: str
) -> None:
    before = sorted(project.rglob("*"))
    with connect(target(server, "streamable-http", token=token), "auto") as caller:
        report = COMPLETE_REPLY.replace("W1.T2", "W2.T1")
        assert not caller.tool("record_report", text=report, check_workspace=False).is_error
        refused = caller.tool(
            "build_handoff",
            kind="agent_request",
            write=True,
            original_intent="An intent that is long enough.",
            current_task_summary="A summary that is long enough.",
            task_details="Details.",
            deliverables=[{"kind": "report", "text": "What was found."}],
        )
        assert refused.is_error
        assert "keeps no files" in text_of(refused)
        assert not caller.tool("build_handoff", kind="session", write=True).is_error
        assert not caller.tool(
            "save_memory", title="A title", content=f"Something by {token}."
        ).is_error

    assert sorted(project.rglob("*")) == before


def test_a_file_is_only_read_for_the_tenant_that_owns_the_folder(server: Served) -> None:
    for token, owns_it in (("of-the-server-itself", True), ("token-of-the-tenant-acme", False)):
        with connect(target(server, "streamable-http", token=token), "auto") as connection:
            judged = connection.tool("validate_report", file=".goopspec/SPEC.md")
            assert judged.is_error != owns_it
            assert ("rejected" in text_of(judged)) == owns_it
            assert ("give the reply as text" in text_of(judged)) != owns_it
