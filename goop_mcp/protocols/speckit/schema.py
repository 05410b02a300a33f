"""The JSON Schema of speckit, made from the same tables by which answers are judged.

`python -m goop_mcp.protocols.speckit.schema` writes it to standard output; it ships as
schemas/speckit/1.0.json.
"""

import json
import sys

from goop_mcp.protocols.speckit import tables
from goop_mcp.protocols.speckit.model import PREFIXES, Status
from goop_mcp.validation.json_values import Schema, fields_schema, text_definitions

__all__ = ["response_schema", "schema_text"]


def response_schema() -> Schema:
    """Return the schema of an answer; those of the contexts stand among its definitions."""
    prefixes = "|".join(prefix.replace(".", r"\.") for prefix in PREFIXES)
    # What the result of each agent has to hold; without a success there is none.
    results = [
        {
            "if": {
                "required": ["agent"],
                "properties": {
                    # In Python, `$` also matches before a final line feed, which the lookahead
                    # excludes.
                    "agent": {"type": "string", "pattern": f"^(?:{prefixes})?{agent}$(?!\\n)"},
                    "status": {"const": Status.SUCCESS.value},
                },
            },
            "then": {"properties": {"result": fields_schema(table)}},
        }
        for agent, table in tables.RESULTS.items()
    ]
    feedback = fields_schema(tables.FEEDBACK)
    feedback["properties"]["issues_to_fix"]["minItems"] = 1

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "goop://schemas/speckit/1.0",
        "title": "Answer of a speckit agent",
        "description": "What strict mode takes without an error, as far as one object shows it.",
        **fields_schema(tables.ENVELOPE),
        "allOf": [
            _on(Status.SUCCESS, "result", fields_schema(tables.NEXT_STEPS), "error"),
            _on(Status.ERROR, "error", fields_schema(tables.ERROR), "result"),
            *results,
        ],
        "$defs": {
            **text_definitions(tables.VALUE_RULES),
            "workflow_context": fields_schema(tables.WORKFLOW),
            "feedback_context": feedback,
        },
    }


def _on(status: Status, part: str, schema: Schema, other: str) -> Schema:
    """Return what an answer of `status` has to hold, and that it does not hold `other`."""
    return {
        "if": {"properties": {"status": {"const": status.value}}},
        "then": {
            "required": [part],
            "properties": {part: {"type": "object", **schema}, other: {"type": "null"}},
        },
    }


def schema_text() -> str:
    """Return the schema as it ships."""
    return json.dumps(response_schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(schema_text())
