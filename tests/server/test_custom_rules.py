"""`serve --rules`: every tool that judges, and everything that shows rules, knows custom rules."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.types import ResourceTemplateReference

from goop_mcp.server import create_server
from goop_mcp.server.truncation import MOST_BYTES
from goop_mcp.settings import Settings
from tests.repository import ROOT
from tests.server.connections import (
    PROTOCOL_MODES,
    Connection,
    check_against_schema,
    connect,
    text_of,
)
from tests.server.http.serving import environment
from tests.validation.shop import FIX, MESSAGE, TICKET, WITH_TICKET, WITHOUT_TICKET

PLACE = "tests.validation.shop:TICKET"
BROKEN_PLACE = "tests.validation.shop:BROKEN"


@pytest.fixture(params=PROTOCOL_MODES)
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    settings = Settings(project=tmp_path, hook_tool=True, rules=(PLACE,))
    with connect(create_server(settings), request.param) as opened:
        yield opened


@pytest.mark.parametrize("check_workspace", [False, True])
def test_a_report_is_judged_by_them(client: Connection, check_workspace: bool) -> None:
    result = client.tool("validate_report", text=WITHOUT_TICKET, check_workspace=check_workspace)
    check_against_schema(result, client.tools()["validate_report"])
    assert f"{MESSAGE} ({TICKET.id}). {FIX}" in text_of(result)
    assert TICKET.id not in text_of(client.tool("validate_report", text=WITH_TICKET))


@pytest.mark.parametrize("tool", ["route_next_action", "record_report"])
def test_no_decision_goes_on_and_nothing_is_recorded_against_them(
    client: Connection, tool: str
) -> None:
    result = client.tool(tool, text=WITHOUT_TICKET, check_workspace=False)
    assert "actions: request_repair" in text_of(result)
    assert FIX in text_of(result)


def test_a_hook_sends_the_agent_back_for_them(client: Connection) -> None:
    turn = {
        "event": "SubagentStop",
        "agent_id": "a",
        "agent_type": "goop-executor",
        "active": "false",
    }
    answer = json.loads(text_of(client.tool("hook_check", text=WITHOUT_TICKET, **turn)))
    assert answer["decision"] == "block"
    assert FIX in answer["reason"]


def test_they_are_explained_listed_and_completed(client: Connection) -> None:
    assert text_of(client.tool("explain_rule", rule=TICKET.id)).startswith(f"# {TICKET.id}\n")
    assert client.read("goop://rules/shop/ticket-missing").text.startswith(f"# {TICKET.id}\n")
    assert f"`{TICKET.id}`" in client.read("goop://rules").text.partition("## shop\n")[2]

    ref = ResourceTemplateReference(uri="goop://rules/{protocol}/{name}")
    argument = {"name": "name", "value": "ticket"}
    offered = client.call(
        lambda: client.client.complete(ref, argument, {"protocol": "shop"})
    ).completion
    assert offered.values == ["ticket-missing"]


def test_the_prompt_that_repairs_a_report_names_their_errors(client: Connection) -> None:
    assert FIX in client.prompt("repair_report", text=WITHOUT_TICKET)


LOOKS_WHERE_IT_RUNS = """
import asyncio
from dataclasses import replace

from tests.validation.shop import TICKET


def check(report, expected):
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    raise RuntimeError("all clients wait for this")


RULES = replace(TICKET, check=check)
"""


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_no_other_client_waits_for_a_rule_that_takes_long(
    protocol_mode: str, tmp_path: Path
) -> None:
    file = tmp_path / "waiting_rules.py"
    file.write_text(LOOKS_WHERE_IT_RUNS, encoding="utf-8")
    settings = Settings(project=tmp_path, hook_tool=True, rules=(str(file),))
    turn = {
        "event": "SubagentStop",
        "agent_id": "a",
        "agent_type": "goop-executor",
        "active": "false",
    }

    with connect(create_server(settings), protocol_mode) as client:
        for tool in ("validate_report", "route_next_action", "record_report"):
            assert "all clients" not in text_of(client.tool(tool, text=WITH_TICKET))

        assert "all clients" not in text_of(client.tool("hook_check", text=WITH_TICKET, **turn))
        client.prompt("repair_report", text=WITH_TICKET)


NAMES_ALL_TICKETS = """
from dataclasses import replace

from goop_mcp import Hit
from tests.validation.shop import TICKET

TICKETS = tuple([f"SHOP-{number}" for number in range(2000)])
HITS = [Hit(message=f"ticket {number} is gone", expected=TICKETS) for number in range(100)]
RULES = replace(TICKET, check=lambda *_: HITS)
"""


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_however_much_a_rule_says_its_answer_is_one_that_clients_take(
    protocol_mode: str, tmp_path: Path
) -> None:
    file = tmp_path / "long_rules.py"
    file.write_text(NAMES_ALL_TICKETS, encoding="utf-8")
    with connect(
        create_server(Settings(project=tmp_path, rules=(str(file),))), protocol_mode
    ) as client:
        result = client.tool("validate_report", text=WITH_TICKET)
        check_against_schema(result, client.tools()["validate_report"])

    assert len(json.dumps(result.structured_content).encode()) <= MOST_BYTES


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_a_rule_that_fails_is_an_error_that_names_it_and_the_server_goes_on(
    protocol_mode: str, tmp_path: Path
) -> None:
    with connect(
        create_server(Settings(project=tmp_path, rules=(BROKEN_PLACE,))), protocol_mode
    ) as client:
        for tool in ("validate_report", "route_next_action", "record_report"):
            result = client.tool(tool, text=WITH_TICKET)
            assert result.is_error
            assert "rule shop/ticket-missing failed: LookupError (incident " in text_of(result)
            assert "line" not in text_of(result)

        assert not client.tool("validate_report", text="No envelope.").is_error


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_the_program_takes_them_from_a_file_that_prints(protocol_mode: str, tmp_path: Path) -> None:
    file = tmp_path / "shop_rules.py"
    file.write_text(
        "from tests.validation.shop import TICKET\nprint('loaded')\nRULES = TICKET\n",
        encoding="utf-8",
    )
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "goop_mcp", "serve", "--rules", file.name],
        cwd=tmp_path,
        env=environment() | {"PYTHONPATH": str(ROOT)},
    )
    with connect(started, protocol_mode) as client:
        assert TICKET.id in text_of(client.tool("validate_report", text=WITHOUT_TICKET))
