"""Remote callers read what a project offers and nothing else, and no path of the server."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from mcp import MCPError

from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.server.connections import PROTOCOL_MODES, Connection, connect, target, text_of
from tests.server.http.serving import Served, served
from tests.server.http.sockets import exchange

OUTSIDE = "what lies outside of the project"
NAMES = [
    "../outside.txt",
    "../../outside.txt",
    "..\\outside.txt",
    "/etc/passwd",
    "C:\\outside.txt",
    ".",
    "..",
    "state.json/..",
]
ADDRESSES = [
    "/mcp/../../etc/passwd",
    "/..%2f..%2fetc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("outer")
    (folder / "outside.txt").write_text(OUTSIDE, encoding="utf-8")
    (folder / "SPEC.md").write_text(OUTSIDE, encoding="utf-8")
    project = folder / "project"
    (project / ".goopspec").mkdir(parents=True)
    (project / ".goopspec" / "SPEC.md").symlink_to(folder / "SPEC.md")
    with served("--transport", "http", "--rate-limit", "0", project=project) as running:
        yield running


@pytest.fixture(params=PROTOCOL_MODES)
def caller(server: Served, request: pytest.FixtureRequest) -> Iterator[Connection]:
    with connect(target(server, "streamable-http"), request.param) as connection:
        yield connection


def spellings(name: str) -> list[str]:
    once = quote(name, safe="")
    dots = name.replace(".", "%2e").replace("/", "%2f").replace("\\", "%5c")
    return [
        name,
        once,
        quote(once, safe=""),
        dots,
        dots.replace("%", "%25"),
        dots.upper().replace("%", "%25"),
        f"SPEC.md/{dots}",
    ]


@pytest.mark.parametrize(
    "place", ["project", "templates", "docs", "schemas/goop_report", "rules/xml", "memories"]
)
@pytest.mark.parametrize("name", NAMES)
def test_no_spelling_of_a_path_leads_out_of_what_is_offered(
    caller: Connection, place: str, name: str
) -> None:
    for spelling in spellings(name):
        with pytest.raises((MCPError, ValueError)) as refusal:
            caller.read(f"goop://{place}/{spelling}")

        assert OUTSIDE not in str(refusal.value)
        assert "root:" not in str(refusal.value)


def test_a_link_out_of_the_project_is_not_followed(caller: Connection) -> None:
    with pytest.raises(MCPError) as refusal:
        caller.read("goop://project/SPEC.md")
    assert OUTSIDE not in str(refusal.value)


@pytest.mark.parametrize("path", ADDRESSES)
def test_no_address_leads_to_a_file(server: Served, path: str) -> None:
    answer = exchange(
        server.port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"root:" not in answer


def test_no_answer_names_a_folder_of_the_server(
    caller: Connection, tmp_path_factory: pytest.TempPathFactory
) -> None:
    messages = [
        text_of(caller.tool("project_status")),
        text_of(caller.tool("validate_report", text=COMPLETE_REPLY, check_workspace=True)),
        text_of(caller.tool("record_report", text=COMPLETE_REPLY)),
        text_of(caller.tool("record_report", text=COMPLETE_REPLY, check_workspace=False)),
        text_of(caller.tool("save_memory", title="A title", content="Something.")),
        text_of(caller.tool("search_memory", queries="title")),
        text_of(caller.tool("build_handoff", kind="session", write=True)),
        text_of(caller.tool("build_handoff", kind="session", session_id="../../x", write=True)),
        caller.prompt("start_task"),
        caller.prompt("resume_session"),
    ]
    for name in NAMES:
        with pytest.raises(MCPError) as refusal:
            caller.read(f"goop://project/{quote(name, safe='')}")

        messages.append(str(refusal.value))

    outer = str(tmp_path_factory.getbasetemp())
    assert [
        text
        for text in messages
        if outer in text or "/site-packages/" in text or "Traceback" in text
    ] == []
