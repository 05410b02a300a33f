"""Schemas are found by protocol and version."""

from dataclasses import fields
from xml.etree import ElementTree

import pytest

from goop_mcp import validate
from goop_mcp.errors import UnknownNameError
from goop_mcp.services.schemas import Schema, find_schema, list_schemas
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.requirements import requirement


@requirement("P-14")
def test_the_listing_carries_the_line_of_the_protocol() -> None:
    (schema,) = [schema for schema in list_schemas() if schema.protocol == "goop_report"]
    assert "Subagent Protocol v0.1.4" in schema.title
    assert "Subagent Protocol v0.1.4" in schema.text


def test_a_schema_says_where_and_what_it_is() -> None:
    schema = find_schema("goop_report", "0.1.6")
    assert schema.uri == "goop://schemas/goop_report/0.1.6"
    assert schema.media_type == "application/xml"
    assert (schema.protocol, schema.version) == ("goop_report", "0.1.6")
    assert schema.title.startswith("GoopSpec report 0.1.6")


@pytest.mark.parametrize("schema", list_schemas(), ids=lambda schema: schema.uri)
def test_every_schema_is_found_under_its_own_name_and_is_well_formed(schema: Schema) -> None:
    assert find_schema(schema.protocol, schema.version) == schema
    assert all(getattr(schema, field.name) for field in fields(schema))
    if schema.media_type == "application/xml":
        ElementTree.fromstring(schema.text)  # noqa: S314 - our own file


@requirement("G-05")
@pytest.mark.parametrize("version", [None, "0.1.4", "0.1.5", "0.1.6", "0.1.10", "0.2.0", "0.2.9"])
def test_versions_that_share_a_structure_share_the_schema(version: str | None) -> None:
    assert find_schema("goop_report", version) == find_schema("goop_report", "0.1.6")


@pytest.mark.parametrize(
    "version",
    ["0.1.3", "0.2.10", "0.3.0", "1.0.0", "0.1", "0.1.6.1.1.1", "v0.1.6", "", "0.1.٦", "../0.1.6"],
)
def test_a_version_without_a_schema_is_refused_with_the_one_there_is(version: str) -> None:
    with pytest.raises(
        UnknownNameError, match=r"there is no goop_report schema of version .*0\.1\.6"
    ):
        find_schema("goop_report", version)


@pytest.mark.parametrize("version", ["0.1.3", "0.1.4", "0.2.9", "0.3.0", "0.2.10"])
def test_a_version_has_a_schema_exactly_when_the_engine_knows_it(version: str) -> None:
    verdict = validate(COMPLETE_REPLY.replace('version="0.1.6"', f'version="{version}"'))
    known = "goop_report/unknown-version" not in {finding.rule for finding in verdict.findings}
    try:
        found = find_schema("goop_report", version).version == "0.1.6"
    except UnknownNameError:
        found = False

    assert found == known


def test_a_protocol_without_a_schema_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UnknownNameError, match="there is no schema 'goop-report'; did you mean 'goop_report'"
    ):
        find_schema("goop-report")
