"""Names are offered while somebody types an argument of an address or a prompt."""

import pytest
from mcp.types import Completion, PromptReference, ResourceTemplateReference

from goop_mcp.protocols import FAMILIES, RULES
from goop_mcp.services.protocol_pages import list_documents
from goop_mcp.services.schemas import list_schemas
from goop_mcp.services.templates import template_names
from goop_mcp.workspace.document_templates import document_template_names
from tests.server.connections import Connection

PROTOCOLS = [family.name for family in FAMILIES]


def complete(connection: Connection, of: str, name: str, begun: str, **known: str) -> Completion:
    ref = ResourceTemplateReference(uri=of) if of.startswith("goop:") else PromptReference(name=of)
    argument = {"name": name, "value": begun}
    return connection.call(
        lambda: connection.client.complete(ref, argument, known or None)
    ).completion


def test_names_of_templates_are_completed(connection: Connection) -> None:
    everything = complete(connection, "goop://templates/{name}", "name", "")
    assert everything.values == [*template_names(), *document_template_names()]
    assert complete(connection, "goop://templates/{name}", "name", "Res").values == [
        "research-spike"
    ]


def test_what_begins_so_comes_before_what_holds_it(connection: Connection) -> None:
    values = complete(connection, "goop://templates/{name}", "name", "t").values
    assert values[0] == "test-suite"
    assert values[1:] == [
        name
        for name in (*template_names(), *document_template_names())
        if "t" in name and name != "test-suite"
    ]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        ("goop://docs/{protocol}", [*list_documents()]),
        (
            "goop://schemas/{protocol}/{version}",
            ["checks", "graph", *PROTOCOLS, "hooks", "options", "result"],
        ),
        ("repair_report", PROTOCOLS),
        ("resolve_blocker", PROTOCOLS),
        (
            "goop://rules/{protocol}/{name}",
            list(dict.fromkeys(rule.family for rule in RULES.values())),
        ),
    ],
)
def test_protocols_are_completed(connection: Connection, of: str, expected: list[str]) -> None:
    assert sorted(complete(connection, of, "protocol", "").values) == sorted(expected)


def test_what_is_known_already_narrows_what_is_offered(connection: Connection) -> None:
    rules = complete(
        connection, "goop://rules/{protocol}/{name}", "name", "box", protocol="visual_style"
    )
    assert rules.values == ["box"]
    versions = complete(
        connection, "goop://schemas/{protocol}/{version}", "version", "", protocol="agent_request"
    )
    assert versions.values == [
        each.version for each in list_schemas() if each.protocol == "agent_request"
    ]


def test_no_more_than_a_hundred_are_offered_at_once_with_their_number(
    connection: Connection,
) -> None:
    offered = complete(connection, "goop://rules/{protocol}/{name}", "name", "")
    assert len(offered.values) == 100
    assert (offered.has_more, offered.total) == (
        True,
        len({rule.partition("/")[2] for rule in RULES}),
    )


@pytest.mark.parametrize("of", ["goop_report", "nothing", "goop://nothing/{name}"])
def test_nothing_is_offered_where_nothing_is_known(connection: Connection, of: str) -> None:
    assert complete(connection, of, "agent", "goop").values == []
