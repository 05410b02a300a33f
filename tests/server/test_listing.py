import json
import re

import pytest
from mcp import MCPError
from mcp.types import INVALID_PARAMS

from goop_mcp import __version__
from tests.repository import ROOT
from tests.server.connections import PROTOCOL_MODES, Connection, connected


def test_server_says_who_it_is_and_when_to_use_it(connection: Connection) -> None:
    client = connection.client
    assert client.server_info is not None
    assert (client.server_info.name, client.server_info.version) == ("goop-mcp", __version__)
    assert client.instructions is not None
    assert "validate_report" in client.instructions
    assert len(client.instructions) < 1000


@pytest.mark.parametrize(
    "listing", ["list_tools", "list_resources", "list_resource_templates", "list_prompts"]
)
def test_made_up_cursor_is_refused(connection: Connection, listing: str) -> None:
    with pytest.raises(MCPError) as refusal:
        connection.call(lambda: getattr(connection.client, listing)(cursor="7"))

    assert (refusal.value.code, refusal.value.message) == (
        INVALID_PARAMS,
        "invalid cursor; leave it out to begin with the first page",
    )


@pytest.mark.parametrize("protocol_mode", PROTOCOL_MODES)
def test_two_servers_list_everything_in_the_same_order(protocol_mode: str) -> None:
    listings = []
    for _ in range(2):
        with connected("memory", protocol_mode) as fresh:
            client = fresh.client
            listings.append(
                (
                    fresh.call(client.list_tools).tools,
                    fresh.call(client.list_resources).resources,
                    fresh.call(client.list_resource_templates).resource_templates,
                    fresh.call(client.list_prompts).prompts,
                )
            )

    assert listings[0] == listings[1]


def test_lists_may_be_kept_for_a_minute_by_clients_that_understand_that() -> None:
    with connected("memory", "auto") as modern:
        listed = modern.call(modern.client.list_tools)
    assert (listed.ttl_ms, listed.cache_scope) == (60_000, "public")


def test_manual_names_every_tool_argument_resource_and_prompt() -> None:
    manual = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    with connected("memory", "auto") as opened:
        client = opened.client
        names = [
            template.uri_template
            for template in opened.call(client.list_resource_templates).resource_templates
        ]
        for tool in opened.tools().values():
            names += [
                tool.name,
                *tool.input_schema["properties"],
                *(tool.output_schema or {})["properties"],
            ]

        for prompt in opened.call(client.list_prompts).prompts:
            names += [prompt.name, *(argument.name for argument in prompt.arguments or [])]

    page_of_a_rule = {
        "id",
        "lenient",
        "strict",
        "catches",
        "why",
        "given",
        "bad",
        "good",
        "fix",
        "requirements",
    }
    assert [
        name for name in names if f"`{name}`" not in manual and name not in page_of_a_rule
    ] == []


def test_every_host_entry_in_the_manual_starts_the_server() -> None:
    manual = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
    entries = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", manual, re.DOTALL)]
    assert len(entries) == 4
    for entry in entries:
        (servers,) = (value for key, value in entry.items() if key != "$schema")
        command = servers["goop"]["command"]
        parts = command if isinstance(command, list) else [command, *servers["goop"]["args"]]
        assert parts == ["uvx", "goop-mcp"]
