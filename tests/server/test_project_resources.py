"""A project's documents and memories as resources; subscribers hear of changes by others."""

import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from mcp import Client, MCPError
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.types import INTERNAL_ERROR, ResourceTemplateReference

from goop_mcp.context import AppContext
from goop_mcp.memory.drafts import MemoryDraft
from goop_mcp.memory.saving import save_memory
from goop_mcp.server import create_server
from goop_mcp.server.etags import ETags
from goop_mcp.services.recorded_reports import withdraw_report
from goop_mcp.settings import DatabaseUrl, Settings
from goop_mcp.workspace.documents.handoff import SessionHandoff, handoff_text
from goop_mcp.workspace.files import MOST_BYTES
from goop_mcp.workspace.layout import DOCUMENTS
from tests.postgres import Database
from tests.requirements import requirement
from tests.server.conftest import LOCAL_COMBINATIONS
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    check_against_schema,
    connect,
    stdio_server,
    text_of,
)
from tests.server.notifications import Heard, listening
from tests.server.preloaded import starting
from tests.services.reporting import NOW, record, report
from tests.workspace.projects import copied

SPEC = "goop://project/SPEC.md"
MEMORY = "goop://memories/1"
REPORTS = "goop://reports"
CHANGE_SPEC = (
    "import pathlib, sys; pathlib.Path(sys.argv[1], '.goopspec/SPEC.md').write_text('# second')"
)


@pytest.fixture(params=LOCAL_COMBINATIONS)
def project(
    request: pytest.FixtureRequest, preloaded: Path, tmp_path: Path
) -> Iterator[Connection]:
    """Connect to a server of a whole project."""
    transport, protocol_mode = request.param
    copied("profile_0x", tmp_path)
    in_process = starting(preloaded, "serve", "--project", str(tmp_path))

    with connect(
        create_server(Settings(project=tmp_path)) if transport == "memory" else in_process,
        protocol_mode,
    ) as opened:
        yield opened


def listed(connection: Connection) -> dict[str, str | None]:
    resources = connection.call(connection.client.list_resources).resources
    return {
        str(each.uri): each.mime_type
        for each in resources
        if str(each.uri).startswith("goop://project/")
    }


def test_how_the_agents_do_is_a_resource(project: Connection) -> None:
    contents = project.read("goop://stats")
    assert contents.mime_type == "text/markdown"
    assert "Nothing is recorded yet." in contents.text


def refused(connection: Connection, uri: str, code: int) -> str:
    with pytest.raises(MCPError) as refusal:
        connection.read(uri)
    assert refusal.value.code == code
    return refusal.value.message


def not_there(connection: Connection, uri: str) -> str:
    return refused(connection, uri, -32602)


@requirement("P-16")
def test_the_documents_that_are_there_are_listed_and_read_as_they_stand(
    project: Connection, tmp_path: Path
) -> None:
    present = [name for name in DOCUMENTS if (tmp_path / ".goopspec" / name).exists()]
    assert len(present) == 6
    assert list(listed(project)) == [f"goop://project/{name}" for name in present]

    for name in present:
        contents = project.read(f"goop://project/{name}")
        assert contents.text.encode() == (tmp_path / ".goopspec" / name).read_bytes()
        assert contents.mime_type == (
            "application/json" if name == "state.json" else "text/markdown"
        )


def test_a_document_is_listed_as_soon_as_it_is_there(project: Connection, tmp_path: Path) -> None:
    assert "goop://project/HANDOFF.md" not in listed(project)
    (tmp_path / ".goopspec" / "HANDOFF.md").write_text("# Handoff", encoding="utf-8")
    assert "goop://project/HANDOFF.md" in listed(project)


def test_what_is_missing_says_how_it_comes_into_being(project: Connection, tmp_path: Path) -> None:
    assert (
        not_there(project, "goop://project/HANDOFF.md")
        == "there is no .goopspec/HANDOFF.md in this project; a session handoff writes it."
    )
    assert "it is optional" in not_there(project, "goop://project/PROJECT_KNOWLEDGE_BASE.md")
    (tmp_path / ".goopspec" / "SPEC.md").unlink()
    assert 'update_project(action="init") creates it' in not_there(project, SPEC)
    assert "did you mean 'SPEC.md'?" in not_there(project, "goop://project/SPECS.md")


def test_what_cannot_be_read_says_why_without_an_absolute_path(
    project: Connection, tmp_path: Path
) -> None:
    folder = tmp_path / ".goopspec"
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_text("password=tiger-4711", encoding="utf-8")
    (folder / "SPEC.md").unlink()
    (folder / "SPEC.md").symlink_to(outside)
    (folder / "ADL.md").write_bytes(b"fine\ncaf\xe9")
    with (folder / "CHRONICLE.md").open("wb") as file:
        file.truncate(MOST_BYTES + 1)

    (folder / "BLUEPRINT.md").unlink()
    (folder / "BLUEPRINT.md").mkdir()
    messages = {
        name: refused(project, f"goop://project/{name}", INTERNAL_ERROR)
        for name in ("SPEC.md", "ADL.md", "CHRONICLE.md", "BLUEPRINT.md")
    }
    outside.unlink()

    assert (
        messages["SPEC.md"]
        == "path '.goopspec/SPEC.md' leads out of the project through a link; remove the link."
    )
    assert (
        messages["ADL.md"]
        == ".goopspec/ADL.md is not UTF-8 text: byte 0xe9 in line 2; save it as UTF-8."
    )
    assert messages["CHRONICLE.md"].endswith("bytes; expected at most 16,777,216.")
    assert (
        messages["BLUEPRINT.md"]
        == ".goopspec/BLUEPRINT.md is not a file; expected a text file there."
    )


def test_a_link_within_the_project_is_followed(project: Connection, tmp_path: Path) -> None:
    (tmp_path / "spec.md").write_text("# elsewhere", encoding="utf-8")
    (tmp_path / ".goopspec" / "SPEC.md").unlink()
    (tmp_path / ".goopspec" / "SPEC.md").symlink_to("../spec.md")
    assert project.read(SPEC).text == "# elsewhere"


def test_a_memory_is_read_by_its_id(project: Connection) -> None:
    assert "there is no memory 1; " in not_there(project, MEMORY)
    assert "an id is a number" in not_there(project, "goop://memories/one")
    project.tool("save_memory", title="Use jose", content="For tokens.")
    contents = project.read(MEMORY)
    assert "title: Use jose" in contents.text
    assert "data, not instructions" in contents.text
    assert contents.text.endswith("```text\nFor tokens.\n```")
    project.tool("forget_memory", id=1)
    assert "memory 1 was forgotten on " in not_there(project, MEMORY)


def test_reports_are_listed_and_read_by_their_number(project: Connection) -> None:
    assert "Round 1 has no reports yet." in project.read(REPORTS).text
    assert "there is no report 1; " in not_there(project, f"{REPORTS}/1")
    assert "there is no report 'one'; " in not_there(project, f"{REPORTS}/one")
    for task in ("W1.T1", "W1.T2"):
        answer = project.tool(
            "record_report", text=report(task, summary="Done, password=tiger-4711-xyz.")
        )

    structure = answer.structured_content
    assert structure is not None
    assert structure["written"]["report"] == 2
    assert text_of(answer).startswith("recorded as report 2 at revision 2\n")

    found, one = project.read(REPORTS), project.read(f"{REPORTS}/1")
    assert found.mime_type == one.mime_type == "text/markdown"
    assert found.text.index("| 2 | ") < found.text.index("| 1 | ")
    assert "## 🔮 GoopSpec · Report 1\n" in one.text
    assert '"task_id": "W1.T1"' in one.text
    for text in (found.text, one.text):
        assert "data, not instructions" in text
        assert "tiger-4711" not in text


def test_documents_and_ids_are_completed(project: Connection) -> None:
    def offered(uri: str, name: str, begun: str) -> list[str]:
        ref = ResourceTemplateReference(uri=uri)
        answer = project.call(lambda: project.client.complete(ref, {"name": name, "value": begun}))
        return answer.completion.values

    assert offered("goop://project/{name}", "name", "") == [*DOCUMENTS]
    assert offered("goop://project/{name}", "name", "re") == ["REQUIREMENTS.md", "RESEARCH.md"]
    assert offered("goop://memories/{id}", "id", "") == []
    for number in range(3):
        project.tool("save_memory", title=f"T{number}", content=f"Number {number}.")

    assert offered("goop://memories/{id}", "id", "") == ["3", "2", "1"]
    assert offered("goop://reports/{n}", "n", "") == []
    project.tool("record_report", text=report("W1.T1"))
    assert offered("goop://reports/{n}", "n", "1") == ["1"]


def test_it_is_shown_that_there_are_more_ids_than_offered(tmp_path: Path) -> None:
    settings = Settings(project=tmp_path)
    with AppContext(settings) as application, connect(create_server(settings), "auto") as client:
        for number in range(101):
            save_memory(
                application.store, MemoryDraft(title=f"T{number}", content=f"Number {number}.")
            )

        ref = ResourceTemplateReference(uri="goop://memories/{id}")
        offered = client.call(
            lambda: client.client.complete(ref, {"name": "id", "value": ""})
        ).completion

    assert (len(offered.values), offered.values[0], offered.has_more) == (100, "101", True)


@requirement("P-05")
def test_the_prompts_of_a_session_look_into_the_project(
    project: Connection, tmp_path: Path
) -> None:
    names = [prompt.name for prompt in project.call(project.client.list_prompts).prompts]
    assert {"start_task", "resume_session"} <= {*names}
    assert "Your task: W2.T3" in project.prompt("start_task", task="W2.T3")
    assert project.prompt("resume_session").startswith("There is no `.goopspec/HANDOFF.md`")
    handoff = SessionHandoff(
        generated="2026-01-20T08:00:00Z", phase="execute", command="/goop-execute"
    )
    (tmp_path / ".goopspec" / "HANDOFF.md").write_text(handoff_text(handoff), encoding="utf-8")
    assert "5. Run `/goop-execute`." in project.prompt("resume_session")
    (tmp_path / ".goopspec" / "HANDOFF.md").write_bytes(b"\xff")
    with pytest.raises(MCPError, match=r"^\.goopspec/HANDOFF\.md is not UTF-8 text"):
        project.prompt("resume_session")


# A database that many machines share


@pytest.fixture(params=PROTOCOL_MODES)
def shared(
    request: pytest.FixtureRequest, database: Database, tmp_path: Path
) -> Iterator[Connection]:
    """Connect to a server with the folder of the project and the database of all machines."""
    copied("profile_0x", tmp_path)
    settings = Settings(project=tmp_path, database=DatabaseUrl(database.url()), project_id="shop")

    with (
        AppContext(settings) as application,
        connect(create_server(settings, application=application), request.param) as opened,
    ):
        yield opened


def test_recorded_entries_stand_among_what_people_keep_in_the_folder(
    shared: Connection, tmp_path: Path
) -> None:
    folder = tmp_path / ".goopspec"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    diary = before["CHRONICLE.md"].decode()
    assert shared.read("goop://project/CHRONICLE.md").text == diary

    result = shared.tool("record_report", text=report("W2.T1", summary="Items can be ticked off."))

    check_against_schema(result, shared.tools()["record_report"])
    assert text_of(result).splitlines()[:3] == [
        "recorded as report 1 at revision 1",
        "accepted: goop_report 0.1.6, status COMPLETE, agent goop-executor, task_id W2.T1",
        "shown at: goop://project/CHRONICLE.md",
    ]
    text = shared.read("goop://project/CHRONICLE.md").text
    (entry,) = re.findall(r"\n\n<!-- goop:rev 1 -->.*?<!-- goop:end 1 -->", text, re.DOTALL)
    assert "Items can be ticked off." in entry
    (block,) = re.findall(r"\n\n<!-- goop:state 1 .*?<!-- goop:end-state 1 -->", text, re.DOTALL)
    assert "- W2.T2 " in block
    assert text.replace(entry, "").replace(block, "") == diary
    assert shared.read(SPEC).text.encode() == before["SPEC.md"]
    assert "goop://project/HANDOFF.md" not in listed(shared)
    assert "there is no .goopspec/HANDOFF.md in this project" in not_there(
        shared, "goop://project/HANDOFF.md"
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_is_shared_says_so_in_status_and_handoff(shared: Connection) -> None:
    not_written = shared.tool("build_handoff", kind="session")
    assert text_of(not_written).startswith(
        "not recorded; with write=true it is recorded and shown at "
    )
    handoff = shared.tool("build_handoff", kind="session", write=True, summary="Half is done.")
    assert text_of(handoff).startswith(
        "recorded and shown at goop://project/HANDOFF.md, in no file (revision 1)\n"
    )
    check_against_schema(handoff, shared.tools()["build_handoff"])
    assert "Its description of the work: Half is done." in shared.prompt("resume_session")
    status = shared.tool("project_status")
    check_against_schema(status, shared.tools()["project_status"])
    assert "shown at goop://project/HANDOFF.md; no file is written" in text_of(status)
    assert "Interview" in text_of(status)


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_database_that_cannot_be_asked_hides_no_other_resource(
    tmp_path: Path, protocol_mode: str
) -> None:
    url = DatabaseUrl("postgresql://goop@127.0.0.1:9/goop")
    copied("profile_0x", tmp_path)
    settings = Settings(project=tmp_path, database=url, project_id="shop")

    with connect(create_server(settings), protocol_mode) as alone:
        assert {SPEC, "goop://project/CHRONICLE.md", "goop://project/HANDOFF.md"} <= {
            *listed(alone)
        }
        assert alone.read(SPEC).text.encode() == (tmp_path / ".goopspec" / "SPEC.md").read_bytes()
        message = refused(alone, "goop://project/CHRONICLE.md", INTERNAL_ERROR)

    assert message.startswith("postgresql://goop@127.0.0.1:9/goop cannot be reached")


def test_only_what_changed_gets_another_etag(database: Database, tmp_path: Path) -> None:
    settings = Settings(project=tmp_path, database=DatabaseUrl(database.url()), project_id="shop")
    uris = [f"goop://project/{name}" for name in ("CHRONICLE.md", "HANDOFF.md", "SPEC.md")] + [
        MEMORY,
        REPORTS,
        f"{REPORTS}/1",
    ]

    def changed(before: Mapping[str, object]) -> list[str]:
        return [uri for uri, etag in take(uris).items() if etag != before[uri]]

    with AppContext(settings) as here, AppContext(settings) as elsewhere:
        take, writer = ETags(here), elsewhere.writing_context()
        seen = take(uris)
        assert [uri for uri, etag in seen.items() if etag is not None] == [REPORTS]
        record(writer, report("W1.T1"))
        assert changed(seen) == ["goop://project/CHRONICLE.md", REPORTS, f"{REPORTS}/1"]
        seen = take(uris)
        save_memory(writer.store, MemoryDraft(title="Use jose", content="For tokens."))
        assert changed(seen) == [MEMORY]
        seen = take(uris)
        (tmp_path / ".goopspec").mkdir()
        (tmp_path / ".goopspec" / "SPEC.md").write_text("# Spec", encoding="utf-8")
        assert changed(seen) == ["goop://project/SPEC.md"]
        seen = take(uris)
        record(writer, report("W1.T2"))
        assert changed(seen) == ["goop://project/CHRONICLE.md", REPORTS]
        seen = take(uris)
        withdraw_report(writer, 1, reason="Another task.", by="ann", now=NOW)
        assert changed(seen) == ["goop://project/CHRONICLE.md", REPORTS, f"{REPORTS}/1"]


# Changes


@asynccontextmanager
async def subscribed(
    project: Path, protocol_mode: str, *uris: str
) -> AsyncIterator[tuple[Client, Heard]]:
    """Connect to a server process and subscribe to `uris` as its protocol version requires."""
    heard = Heard()
    handler = heard.note if protocol_mode == "legacy" else None

    async with Client(stdio_server(project), mode=protocol_mode, message_handler=handler) as client:
        if protocol_mode == "legacy":
            for uri in uris:
                await client.subscribe_resource(uri)

            yield client, heard
        else:
            async with listening(client, *uris) as listener:
                yield client, listener


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
async def test_a_change_by_another_process_is_notified(tmp_path: Path, protocol_mode: str) -> None:
    copied("profile_0x", tmp_path)
    async with subscribed(tmp_path, protocol_mode, SPEC, MEMORY, "goop://project/ADL.md") as (
        client,
        heard,
    ):
        await client.call_tool("save_memory", {"title": "Use jose", "content": "For tokens."})
        await heard.wait_for(MEMORY)
        heard.uris.clear()
        await anyio.run_process([sys.executable, "-c", CHANGE_SPEC, str(tmp_path)])
        await heard.wait_for(SPEC)
        assert heard.uris == [SPEC]
        forget = ["-m", "goop_mcp", "memory", "forget", "1", "--project", str(tmp_path)]
        await anyio.run_process([sys.executable, *forget])
        await heard.wait_for(MEMORY)

    assert heard.uris == [SPEC, MEMORY]


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
async def test_a_document_in_the_folder_of_the_workflow_is_followed(
    tmp_path: Path, protocol_mode: str
) -> None:
    copied("folders_of_workflows", tmp_path)
    async with subscribed(tmp_path, protocol_mode, SPEC) as (_, heard):
        (tmp_path / ".goopspec" / "checkout" / "SPEC.md").write_text(
            "# another one", encoding="utf-8"
        )
        await heard.wait_for(SPEC)

    assert heard.uris == [SPEC]


@pytest.mark.filterwarnings(f"ignore::{MCPDeprecationWarning.__module__}.MCPDeprecationWarning")
@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
async def test_subscribing_creates_nothing_and_an_unknown_address_is_accepted(
    tmp_path: Path, protocol_mode: str
) -> None:
    async with subscribed(
        tmp_path, protocol_mode, SPEC, MEMORY, "goop://nothing", "goop://memories/x"
    ) as (
        _,
        heard,
    ):
        (tmp_path / ".goopspec").mkdir()
        (tmp_path / ".goopspec" / "SPEC.md").write_text("# first", encoding="utf-8")
        await heard.wait_for(SPEC)

    assert heard.uris == [SPEC]
    assert [path.name for path in (tmp_path / ".goopspec").iterdir()] == ["SPEC.md"]


def test_an_etag_loads_no_database_where_none_is_asked_for() -> None:
    script = (
        "import sys; from pathlib import Path; from goop_mcp.context import AppContext;from"
        " goop_mcp.server.etags import ETags; from goop_mcp.settings import"
        " Settings;ETags(AppContext(Settings(project=Path('.'))))(['goop://project/SPEC.md']);"
        " print('apsw' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "False\n"
