"""What reaches a client when tools, resources and prompts fail in ways that nobody foresaw."""

import logging
import re
from collections.abc import Iterator
from functools import partial

import pytest
from mcp import MCPError
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import INTERNAL_ERROR, CallToolResult, TextContent

from goop_mcp.errors import GoopError
from goop_mcp.server import GoopServer
from goop_mcp.server.answers import MOST_CHARACTERS
from goop_mcp.server.middleware import log_timing, paging
from tests.server.connections import PROTOCOL_MODES, Connection, connect, text_of

PRIVATE = "what only the log may say"
INCIDENT = re.compile(r"incident ([0-9a-f]{8})")


def crash() -> str:
    raise RuntimeError(PRIVATE)


def foreseen() -> str:
    raise GoopError("the store is full; free some room")


def refuse() -> str:
    raise ToolError("not on a Sunday; come back tomorrow")


def long_text() -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text="word " * 50_000)])


def count_up(number: int) -> str:
    return str(number + 1)


def crash_about(protocol: str) -> str:
    raise RuntimeError(f"{PRIVATE} {protocol}")


@pytest.fixture(params=PROTOCOL_MODES)
def faulty(request: pytest.FixtureRequest) -> Iterator[Connection]:
    server = GoopServer("faulty", middleware=[log_timing, paging(2)])
    for tool in (crash, foreseen, refuse, long_text, count_up):
        server.tool()(tool)

    server.resource("goop://crash")(crash)
    server.resource("goop://crash/{protocol}")(crash_about)
    server.prompt()(crash)
    with connect(server, request.param) as connection:
        yield connection


def incident_in(message: str, caplog: pytest.LogCaptureFixture) -> logging.LogRecord:
    """Return the record of the incident that `message` names."""
    assert PRIVATE not in message
    assert "RuntimeError" not in message
    match = INCIDENT.search(message)
    assert match is not None
    (record,) = [record for record in caplog.records if match[1] in record.getMessage()]
    return record


def test_crash_of_a_tool_is_reported_as_an_incident_that_is_in_the_log(
    faulty: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    result = faulty.tool("crash")
    assert result.is_error
    record = incident_in(text_of(result), caplog)
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == PRIVATE
    assert "Try once more" in text_of(result)


@pytest.mark.parametrize("uri", ["goop://crash", "goop://crash/x"])
def test_crash_of_a_resource_is_reported_as_an_incident_too(
    faulty: Connection, caplog: pytest.LogCaptureFixture, uri: str
) -> None:
    with pytest.raises(MCPError) as refusal:
        faulty.read(uri)

    assert refusal.value.code == INTERNAL_ERROR
    assert incident_in(refusal.value.message, caplog).exc_info


def test_crash_of_a_prompt_is_reported_as_an_incident_too(
    faulty: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(MCPError) as refusal:
        faulty.prompt("crash")

    assert refusal.value.code == INTERNAL_ERROR
    assert incident_in(refusal.value.message, caplog).exc_info


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("foreseen", "the store is full; free some room."),
        ("refuse", "not on a Sunday; come back tomorrow"),
    ],
)
def test_foreseen_failure_keeps_its_own_words(faulty: Connection, tool: str, message: str) -> None:
    result = faulty.tool(tool)
    assert result.is_error
    assert text_of(result) == message


def test_long_answer_is_cut_off_with_a_line_that_says_how_to_get_less(faulty: Connection) -> None:
    text = text_of(faulty.tool("long_text"))
    assert len(text) == MOST_CHARACTERS
    assert text.splitlines()[-1].startswith(
        "… cut off here: 250,000 characters are more than 40,000. Ask for less"
    )


def test_number_in_a_string_is_taken_only_where_nothing_is_lost(faulty: Connection) -> None:
    assert text_of(faulty.tool("count_up", number=1)) == "2"
    message = text_of(faulty.tool("count_up", number="one")).splitlines()
    assert message[1:] == ["- number is a string of 3 characters; expected a whole number"]


def test_lists_come_in_pages_until_there_is_no_cursor(faulty: Connection) -> None:
    names: list[str] = []
    sizes: list[int] = []
    cursor: str | None = None

    while cursor is not None or not names:
        page = faulty.call(partial(faulty.client.list_tools, cursor=cursor))
        names += [tool.name for tool in page.tools]
        sizes.append(len(page.tools))
        cursor = page.next_cursor

    assert names == ["crash", "foreseen", "refuse", "long_text", "count_up"]
    assert sizes == [2, 2, 1]


@pytest.mark.parametrize("cursor", ["", "0", "1", "3", "6", "-2", "2 ", "two", "٢"])
def test_cursor_that_was_never_given_out_is_refused(faulty: Connection, cursor: str) -> None:
    with pytest.raises(MCPError, match=r"^invalid cursor; leave it out"):
        faulty.call(partial(faulty.client.list_tools, cursor=cursor))


def test_time_of_each_request_is_logged_without_its_content(
    faulty: Connection, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "goop_mcp.server.middleware")
    faulty.tool("count_up", number=41)
    with pytest.raises(MCPError):
        faulty.read("goop://crash")

    lines = [
        record.getMessage()
        for record in caplog.records
        if record.name == "goop_mcp.server.middleware"
    ]
    called = [line for line in lines if "count_up" in line]
    assert len(called) == 1
    assert re.fullmatch(r"tools/call count_up answered in \d+\.\d ms", called[0])
    assert any(
        re.fullmatch(r"resources/read goop://crash failed in \d+\.\d ms", line) for line in lines
    )
