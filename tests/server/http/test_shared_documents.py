"""Two replicas on one PostgreSQL without the project's folder: both show what either records."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import INVALID_REQUEST

from goop_mcp.workspace.layout import DOCUMENTS
from tests.postgres import Database, Server
from tests.server.connections import PROTOCOL_MODES, Connection, Transport, connect, target, text_of
from tests.server.http.serving import PATIENCE, Served, served
from tests.server.notifications import Heard, listening
from tests.services.reporting import report

CHRONICLE, ADL, HANDOFF, SPEC = (
    f"goop://project/{name}" for name in ("CHRONICLE.md", "ADL.md", "HANDOFF.md", "SPEC.md")
)
TOKENS = """\
[tokens.acme]
token = "token-of-acme-for-tests"
tenant = "acme"
[tokens.rival]
token = "token-of-rival-for-tests"
tenant = "rival"
"""

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)


@dataclass(frozen=True)
class Replicas:
    """Two servers on one database, and the folders they run in."""

    first: Served
    second: Served
    folder: Path

    def files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Server() as postgres, postgres.database() as database:
        yield database


@pytest.fixture(scope="module", params=["stateless", "stateful"])
def replicas(
    request: pytest.FixtureRequest, database: Database, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Replicas]:
    folder, tokens = (
        tmp_path_factory.mktemp("replicas"),
        tmp_path_factory.mktemp("tokens") / "tokens.toml",
    )
    tokens.write_text(TOKENS, encoding="utf-8")
    tokens.chmod(0o600)
    options = (
        "--transport",
        "http",
        f"--{request.param}",
        "--token-file",
        str(tokens),
        "--rate-limit",
        "0",
    )

    with ExitStack() as stack:
        both = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            variables = {
                "GOOP_DATABASE_URL": database.url(),
                "GOOP_PROJECT_ID": f"shop-{request.param}",
            }
            both.append(stack.enter_context(served(*options, project=folder / name, **variables)))

        yield Replicas(both[0], both[1], folder)


def open_client(
    server: Served,
    protocol_mode: str,
    *,
    transport: Transport = "streamable-http",
    tenant: str = "acme",
) -> Client:
    return Client(
        target(server, transport, token=f"token-of-{tenant}-for-tests"),
        mode=protocol_mode,
        read_timeout_seconds=PATIENCE,
    )


def recorded(connection: Connection, text: str) -> list[str]:
    """Record a report, and return where it says that it is shown."""
    result = connection.tool("record_report", text=text, check_workspace=False)
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    assert result.structured_content["written"]["files"] == []
    assert "no file was written" in text_of(result)
    shown: list[str] = result.structured_content["written"]["resources"]

    return shown


def listed(connection: Connection) -> list[str]:
    resources = connection.call(connection.client.list_resources).resources
    return [str(each.uri) for each in resources if str(each.uri).startswith("goop://project/")]


def refused(connection: Connection, uri: str) -> str:
    with pytest.raises(MCPError) as refusal:
        connection.read(uri)
    return refusal.value.message


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_what_one_replica_records_the_other_shows(replicas: Replicas, protocol_mode: str) -> None:
    with (
        connect(
            target(replicas.first, "streamable-http", token="token-of-acme-for-tests"),
            protocol_mode,
        ) as writer,
        connect(
            target(replicas.second, "streamable-http", token="token-of-acme-for-tests"),
            protocol_mode,
        ) as reader,
    ):
        text = report(
            f"W7.T{PROTOCOL_MODES.index(protocol_mode) + 1}",
            summary=f"Recorded by {protocol_mode}.",
            new_session="true",
        )
        text = text.replace(
            "</goop_report>", f"<decision>Decided in {protocol_mode}.</decision></goop_report>"
        )
        assert recorded(writer, text) == [CHRONICLE, ADL, HANDOFF]
        handed_over = writer.tool(
            "build_handoff", kind="session", write=True, summary=f"Handed over in {protocol_mode}."
        )
        assert "recorded and shown at goop://project/HANDOFF.md, in no file" in text_of(handed_over)

        assert listed(reader) == [CHRONICLE, HANDOFF, ADL]
        diary = reader.read(CHRONICLE).text
        (entry,) = re.findall(
            rf"<!-- goop:rev (\d+) -->\n### [^<]*Recorded by {protocol_mode}\.[^<]*"
            r"<!-- goop:end \1 -->",
            diary,
        )
        assert diary.startswith("# CHRONICLE\n\n<!-- goop:state ")
        assert re.search(r"- \*\*Tasks:\*\* ([12])/\1\n", diary)
        assert f"Decided in {protocol_mode}." in reader.read(ADL).text
        handoff = reader.read(HANDOFF).text
        assert f"Handed over in {protocol_mode}." in handoff
        assert handoff.endswith(f"\n<!-- goop:rev {int(entry) + 1} -->\n")
        assert f"Handed over in {protocol_mode}." in reader.prompt("resume_session")
        for uri in (CHRONICLE, ADL, HANDOFF):
            assert reader.read(uri) == writer.read(uri)

        status = reader.tool("project_status")
        assert "shown at goop://project/CHRONICLE.md" in text_of(status)
        assert status.structured_content is not None
        assert (
            f"W7.T{PROTOCOL_MODES.index(protocol_mode) + 1}"
            in status.structured_content["reported"]["done"]
        )

    assert replicas.files() == []


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_what_the_database_does_not_hold_says_where_it_is(
    replicas: Replicas, protocol_mode: str
) -> None:
    with connect(
        target(replicas.second, "streamable-http", token="token-of-rival-for-tests"), protocol_mode
    ) as rival:
        for name in DOCUMENTS:
            message = refused(rival, f"goop://project/{name}")
            if name in ("CHRONICLE.md", "ADL.md", "HANDOFF.md"):
                assert message.startswith(f"there is no {name} in this project yet; ")
            else:
                assert message.startswith(
                    f"{name} is a file of the project and not in its database"
                )
                assert "read it where the project is checked out" in message


def test_a_project_is_created_only_where_somebody_works_in_it(replicas: Replicas) -> None:
    url = target(replicas.first, "streamable-http", token="token-of-rival-for-tests")
    with connect(url, "auto") as connection:
        result = connection.tool("update_project", action="init")

    assert result.is_error
    assert "run `goop-mcp init` with the same --database in a checkout" in text_of(result)
    assert replicas.files() == []


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
@pytest.mark.parametrize("tool", ["record_report", "validate_report", "route_next_action"])
def test_no_claim_is_called_untrue_where_there_is_nothing_to_look_at(
    replicas: Replicas, protocol_mode: str, tool: str
) -> None:
    claim = report().replace(
        "<files/>", '<files><file path="src/a.py" action="created">New</file></files>'
    )
    with connect(
        target(replicas.first, "streamable-http", token="token-of-acme-for-tests"), protocol_mode
    ) as acme:
        refused = acme.tool(tool, text=claim, check_workspace=True)

    assert refused.is_error
    assert text_of(refused).endswith(
        "no claim of the reply can be verified; call again with check_workspace=false."
    )


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_what_a_tenant_records_is_no_resource_of_another(
    replicas: Replicas, protocol_mode: str
) -> None:
    with (
        connect(
            target(replicas.first, "streamable-http", token="token-of-acme-for-tests"),
            protocol_mode,
        ) as acme,
        connect(
            target(replicas.first, "streamable-http", token="token-of-rival-for-tests"),
            protocol_mode,
        ) as rival,
    ):
        recorded(acme, report("W8.T1", summary=f"Nobody else's, {protocol_mode}."))
        assert f"Nobody else's, {protocol_mode}." in acme.read(CHRONICLE).text
        assert listed(rival) == []
        assert "there is no CHRONICLE.md" in refused(rival, CHRONICLE)
        assert "W8.T1" not in text_of(rival.tool("project_status"))


# Changes


@asynccontextmanager
async def listener(server: Served, *uris: str, tenant: str) -> AsyncIterator[Heard]:
    async with (
        open_client(server, "auto", tenant=tenant) as client,
        listening(client, *uris) as heard,
    ):
        yield heard


@asynccontextmanager
async def subscribed(server: Served, transport: Transport, *uris: str) -> AsyncIterator[Heard]:
    heard = Heard()
    to = target(server, transport, token="token-of-acme-for-tests")
    async with Client(to, mode="legacy", message_handler=heard.note) as client:
        for uri in uris:
            await client.subscribe_resource(uri)

        yield heard


async def say(server: Served, text: str, *, tenant: str = "acme") -> None:
    async with open_client(server, "auto", tenant=tenant) as client:
        result = await client.call_tool("record_report", {"text": text, "check_workspace": False})
        assert not result.is_error


async def say_until_heard(server: Served, heard: Heard, mark: str) -> None:
    """Record until the client is notified: its stream may open after the subscription."""
    with anyio.fail_after(PATIENCE):
        for number in range(1_000):
            await say(server, report("W9.T1", summary=f"{mark} {number}"))
            with anyio.move_on_after(5):
                await heard.wait_for(CHRONICLE)
                return


async def test_a_listener_at_one_replica_hears_of_what_another_records_and_of_nothing_else(
    replicas: Replicas,
) -> None:
    everything = (CHRONICLE, ADL, HANDOFF, SPEC)
    async with (
        listener(replicas.second, *everything, tenant="acme") as acme,
        listener(replicas.second, *everything, tenant="rival") as rival,
    ):
        await say(replicas.first, report("W9.T2", summary=f"Sent to listeners. {replicas.folder}"))
        await acme.wait_for(CHRONICLE)
        await say(
            replicas.first,
            report("W9.T3", summary=f"Of the other. {replicas.folder}"),
            tenant="rival",
        )
        await rival.wait_for(CHRONICLE)
        await say(
            replicas.second, report("W9.T4", new_session="true", status="CHECKPOINT"), tenant="acme"
        )
        await acme.wait_for(HANDOFF)

    assert {*acme.uris} == {CHRONICLE, HANDOFF}
    assert rival.uris == [CHRONICLE]
    assert replicas.files() == []


async def test_a_subscriber_of_the_earlier_version_hears_of_what_another_replica_records(
    replicas: Replicas,
) -> None:
    async with subscribed(replicas.second, "sse", CHRONICLE, SPEC) as heard:
        await say_until_heard(replicas.first, heard, f"sse {replicas.folder}")
    assert {*heard.uris} == {CHRONICLE}


async def test_a_subscription_is_kept_with_a_session_and_refused_without_one(
    replicas: Replicas, request: pytest.FixtureRequest
) -> None:
    if request.node.callspec.params["replicas"] == "stateful":
        async with subscribed(replicas.second, "streamable-http", CHRONICLE, SPEC) as heard:
            await say_until_heard(replicas.first, heard, f"http {replicas.folder}")

        assert {*heard.uris} == {CHRONICLE}
        return

    async with open_client(replicas.second, "legacy") as client:
        with pytest.raises(MCPError, match="this server keeps no sessions") as refusal:
            await client.subscribe_resource(CHRONICLE)

    assert refusal.value.code == INVALID_REQUEST
