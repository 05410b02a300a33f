"""The JSON Schema of Factory replies, made from the same tables by which replies are judged.

`python -m goop_mcp.protocols.factory.schema` writes it to standard output; it ships as
schemas/factory/1.0.json.
"""

import json
import sys
from collections.abc import Mapping

from goop_mcp.protocols.factory import tables
from goop_mcp.protocols.factory.model import Status
from goop_mcp.validation.json_values import Schema, fields_schema, text_definitions

__all__ = ["reply_schema", "schema_text"]

_AN_ITEM: Schema = {"type": "array", "minItems": 1}
_PARTS: Mapping[Status, Schema] = {
    Status.SUCCESS: {
        "anyOf": [
            {"required": ["deliverables"], "properties": {"deliverables": _AN_ITEM}},
            {"required": ["verdict"], "properties": {"verdict": {"type": "string"}}},
        ]
    },
    Status.QUESTIONS: {"required": ["questions"], "properties": {"questions": _AN_ITEM}},
    Status.FAILURE: {},
}
"""What a status promises beyond the fields of its table."""


def reply_schema() -> Schema:
    """Return the schema of a reply."""
    optional = fields_schema(tables.OPTIONAL)["properties"]
    conditions = [
        {
            "if": {"properties": {"status": {"const": status.value}}},
            "then": {"allOf": [fields_schema(tables.FIELDS[status]), _PARTS[status]]},
        }
        for status in Status
    ]

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "goop://schemas/factory/1.0",
        "title": "Reply of a Factory agent",
        "description": "What strict mode takes without an error, as far as one object shows it.",
        **fields_schema(tables.STATUS),
        "allOf": [{"properties": optional}, *conditions],
        "$defs": text_definitions(tables.VALUE_RULES),
    }


def schema_text() -> str:
    """Return the schema as it ships."""
    return json.dumps(reply_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
