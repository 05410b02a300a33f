from pathlib import Path

import pytest
from mcp import MCPError

from goop_mcp.protocols import FAMILIES, RULES
from goop_mcp.server import create_server
from goop_mcp.services.protocol_pages import list_documents, read_document
from goop_mcp.services.rule_pages import rule_page, rules_markdown
from goop_mcp.services.schemas import find_schema, list_schemas
from goop_mcp.services.templates import list_templates, read_template
from goop_mcp.settings import Settings
from goop_mcp.workspace.document_templates import document_template_names, read_document_template
from tests.cli.test_template import OWN, own
from tests.requirements import requirement
from tests.server.connections import Connection, connect


def unknown(connection: Connection, uri: str) -> str:
    """Read a resource that must not exist, and return the message of the error."""
    with pytest.raises(MCPError) as refusal:
        connection.read(uri)

    assert refusal.value.code == -32602
    assert refusal.value.data == {"uri": uri}
    return refusal.value.message


def test_rules_schemas_pages_and_templates_are_listed_by_name(connection: Connection) -> None:
    listed = {
        str(each.uri): each for each in connection.call(connection.client.list_resources).resources
    }
    schemas = [schema.uri for schema in list_schemas()]
    documents = [f"goop://docs/{protocol}" for protocol in list_documents()]
    templates = [f"goop://templates/{template.name}" for template in list_templates()]
    forms = [f"goop://templates/{name}" for name in document_template_names()]
    assert list(listed) == [
        "ui://goop/verdict",
        "ui://goop/handoff",
        "goop://rules",
        *schemas,
        *documents,
        *templates,
        *forms,
        "goop://stats",
        "goop://reports",
        "goop://runs",
    ]
    assert all(each.title and each.description and each.mime_type for each in listed.values())


def test_every_family_has_a_schema_and_a_page(connection: Connection) -> None:
    listed = [str(each.uri) for each in connection.call(connection.client.list_resources).resources]
    for family in FAMILIES:
        assert any(uri.startswith(f"goop://schemas/{family.name}/") for uri in listed)
        assert f"goop://docs/{family.name}" in listed


def test_templates_show_how_to_address_a_resource(connection: Connection) -> None:
    templates = connection.call(connection.client.list_resource_templates).resource_templates
    assert [template.uri_template for template in templates] == [
        "goop://rules/{protocol}/{name}",
        "goop://schemas/answers/{tool}",
        "goop://schemas/{protocol}/{version}",
        "goop://docs/{protocol}",
        "goop://templates/{name}",
        "goop://project/{name}",
        "goop://project/archive/{name}",
        "goop://reports/{n}",
        "goop://runs/{run}",
        "goop://memories/{id}",
    ]


def test_a_template_has_a_type_only_if_all_its_resources_have_it(
    connection: Connection,
) -> None:
    templates = connection.call(connection.client.list_resource_templates).resource_templates
    types = {template.uri_template: template.mime_type for template in templates}
    assert [uri for uri, type_ in types.items() if type_ is None] == [
        "goop://schemas/{protocol}/{version}",
        "goop://project/{name}",
    ]
    assert {type_ for type_ in types.values() if type_} == {
        "text/markdown",
        "application/schema+json",
    }


@pytest.mark.parametrize(
    ("uri", "media_type"),
    [
        ("goop://schemas/goop_report/0.2.0", "application/xml"),
        ("goop://schemas/factory/01.0", "application/schema+json"),
        ("goop://schemas/speckit/1%2E0", "application/schema+json"),
    ],
)
def test_a_schema_that_is_read_through_the_template_has_its_true_type(
    connection: Connection, uri: str, media_type: str
) -> None:
    assert connection.read(uri).mime_type == media_type


def test_index_of_rules_is_the_generated_document(connection: Connection) -> None:
    contents = connection.read("goop://rules")
    assert contents.text == rules_markdown()
    assert contents.mime_type == "text/markdown"


def test_page_of_every_rule_can_be_read(connection: Connection) -> None:
    for rule in RULES.values():
        assert connection.read(f"goop://rules/{rule.id}").text == rule_page(rule).to_markdown()


def test_every_schema_can_be_read_with_its_media_type(connection: Connection) -> None:
    for schema in list_schemas():
        contents = connection.read(schema.uri)
        assert (contents.text, contents.mime_type) == (schema.text, schema.media_type)


def test_version_without_a_schema_of_its_own_leads_to_the_one_it_is_judged_by(
    connection: Connection,
) -> None:
    assert (
        connection.read("goop://schemas/goop_report/0.2.0").text == find_schema("goop_report").text
    )


def test_every_protocol_page_can_be_read(connection: Connection) -> None:
    for protocol in list_documents():
        assert connection.read(f"goop://docs/{protocol}").text == read_document(protocol)


@requirement("H-65")
def test_every_template_can_be_read_with_what_goes_into_its_slots(connection: Connection) -> None:
    for template in list_templates():
        contents = connection.read(f"goop://templates/{template.name}")
        assert (contents.text, contents.mime_type) == (
            read_template(template.name),
            "text/markdown",
        )
        assert template.text in contents.text
        assert all(
            slot.description in contents.text and f"{{{{{slot.name}}}}}" in contents.text
            for slot in template.slots
        )


@requirement("H-65")
def test_a_template_of_the_project_is_completed_and_read(tmp_path: Path) -> None:
    text = OWN.replace("release-notes", "our-own")
    own(tmp_path, text, name="our-own")
    with connect(create_server(Settings(project=tmp_path)), "auto") as opened:
        assert opened.read("goop://templates/our-own").text == text
        assert "did you mean" in unknown(opened, "goop://templates/our-ovn")


@requirement("P-15")
@pytest.mark.parametrize(
    "name", ["blueprint", "chronicle", "handoff", "project", "requirements", "spec", "state"]
)
def test_the_form_of_every_document_can_be_read(connection: Connection, name: str) -> None:
    contents = connection.read(f"goop://templates/{name}")
    assert (contents.text, contents.mime_type) == (read_document_template(name), "text/markdown")


def test_unknown_rule_is_answered_with_the_nearest_one(connection: Connection) -> None:
    message = unknown(connection, "goop://rules/xml/unescape")
    assert message == "there is no rule 'xml/unescape'; did you mean 'xml/unescaped'?"


@pytest.mark.parametrize(
    "uri",
    [
        "goop://schemas/goop_report/9.9.9",
        "goop://schemas/nothing/0.1.6",
        "goop://docs/nothing",
        "goop://templates/nothing",
        "goop://nothing",
        "goop://project/nothing.md",
        "https://example.org/goop",
    ],
)
def test_unknown_resource_is_answered_with_what_there_is(connection: Connection, uri: str) -> None:
    message = unknown(connection, uri)
    assert message.startswith("there is no ")
    assert "did you mean" in message or "known are" in message or " are known, " in message


@pytest.mark.parametrize(
    "uri",
    [
        "goop://docs/..",
        "goop://docs/%2e%2e",
        "goop://docs/..%2F..%2Fpyproject",
        "goop://docs/%2Fetc%2Fpasswd",
        "goop://schemas/goop_report/..%2f..%2f..%2fpyproject",
        "goop://schemas/%2e%2e/pyproject",
        "goop://docs/goop_report%00",
        "goop://templates/..%2F..%2Fpyproject",
        "goop://project/..%2Fpyproject.toml",
        "goop://project/%2Fetc%2Fpasswd",
        "goop://project/goop.db",
        "goop://memories/..%2F1",
        "goop://runs/..%2F1",
        "goop://runs/run-0",
        "file:///etc/passwd",
    ],
)
def test_no_address_leads_out_of_what_is_offered(connection: Connection, uri: str) -> None:
    assert unknown(connection, uri).startswith("there is no ")
