"""Notifications over the network: changes of documents, and progress of a long call."""

from pathlib import Path

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import ResourceUpdatedNotification

from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.server.connections import PROTOCOL_MODES, Transport, target
from tests.server.http.serving import PATIENCE, Served, served

URI = "goop://project/SPEC.md"
# What is quick reports nothing: more files until a look takes long enough on this machine.
FILES = (400, 4_000, 12_000)
NETWORK: tuple[Transport, ...] = ("streamable-http", "sse")

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning"
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec" / "SPEC.md").write_text("first", encoding="utf-8")
    return tmp_path


def change(project: Path, text: str) -> None:
    (project / ".goopspec" / "SPEC.md").write_text(text, encoding="utf-8")


async def hear_as_legacy(server: Served, transport: Transport, project: Path) -> None:
    notified = anyio.Event()

    async def note(message: object) -> None:
        if isinstance(message, ResourceUpdatedNotification) and message.params.uri == URI:
            notified.set()

    async with Client(target(server, transport), mode="legacy", message_handler=note) as client:
        await client.subscribe_resource(URI)
        with anyio.fail_after(PATIENCE):
            # Over streamable HTTP the stream for notices may be opened after the subscription.
            for number in range(1_000):
                change(project, f"change {number}")
                with anyio.move_on_after(2):
                    await notified.wait()
                    return


async def hear_as_modern(server: Served, transport: Transport, project: Path) -> None:
    async with (
        Client(target(server, transport)) as client,
        client.listen(resource_subscriptions=[URI]) as events,
    ):
        change(project, "second")
        with anyio.fail_after(PATIENCE):
            event = await anext(aiter(events))

    assert getattr(event, "uri", None) == URI


@pytest.mark.parametrize("transport", NETWORK)
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_whoever_subscribed_hears_of_a_change_on_disk(
    project: Path, transport: Transport, protocol_mode: str
) -> None:
    hear = hear_as_legacy if protocol_mode == "legacy" else hear_as_modern
    with served("--transport", "http", "--stateful", project=project) as server:
        anyio.run(hear, server, transport, project)


@pytest.mark.parametrize("transport", NETWORK)
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_look_at_many_files_reports_its_progress(
    project: Path, transport: Transport, protocol_mode: str
) -> None:
    heard: list[tuple[float, float | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert message == "looking for the files that the reply names"
        heard.append((progress, total))

    async def look(server: Served) -> None:
        async with Client(target(server, transport), mode=protocol_mode) as client:
            for files in FILES:
                claimed = "".join(
                    f'<file path="src/f{n}.py" action="created">One of many</file>'
                    for n in range(files)
                )
                text = COMPLETE_REPLY.replace("<files>", f"<files>{claimed}")
                arguments = {"text": text, "check_workspace": True}
                result = await client.call_tool(
                    "validate_report", arguments, progress_callback=note
                )
                assert not result.is_error
                assert "does not exist" in str(result.content)
                if heard:
                    break

    with served("--transport", "http", project=project) as server:
        anyio.run(look, server)

    assert heard
    assert heard == sorted(heard)
    # Together with the result it would be lost.
    assert all(total is not None and done < total for done, total in heard)
