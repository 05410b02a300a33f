"""The list of tools for clients: schemas of arguments and answers, made short.

A model pays for every byte of the list in each conversation, so that it holds what a model needs to
call a tool, and no more: the server still checks the rest, and its errors name it.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

__all__ = ["UNLISTED", "flat_schema", "listed_schema", "without_titles"]

UNLISTED: Final = frozenset(
    {
        "attempt",
        "estimated_duration",
        "idempotency_key",
        "iteration",
        "max_iterations",
        "notify_on_completion",
        "previous_rules",
        "xsd_compat",
    }
)
"""Arguments that are taken and not listed: programs give them, and for models the server counts."""

_Schema = dict[str, JsonValue]

# The server refuses longer values, with an error that states the limit. Bounds of numbers are
# listed: they say which scale is meant.
_LENGTHS: Final = ("maxLength", "minLength", "maxItems", "minItems")


def listed_schema(schema: Mapping[str, JsonValue]) -> _Schema:
    """Return the schema of the arguments of a tool for the list of tools.

    An argument that may be null is listed without it, because leaving it out says the same, and
    because some models' interfaces refuse a list of types, and every tool of a request with it. An
    argument that takes one text or a list of texts is listed as the list.
    """
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    listed = {
        name: _listed(each)
        for name, each in known.items()
        if name not in UNLISTED and isinstance(each, dict)
    }
    short: _Schema = {"type": "object", "properties": dict(listed)}
    if required := schema.get("required"):
        short["required"] = required

    return short


def flat_schema(schema: Mapping[str, JsonValue]) -> _Schema:
    """Return the schema of an answer with its keys and their types only."""
    definitions, properties = schema.get("$defs"), schema.get("properties")
    known = definitions if isinstance(definitions, dict) else {}
    flat: _Schema = {}
    for name, each in (properties if isinstance(properties, dict) else {}).items():
        types = list(dict.fromkeys(_types(each, known)))
        flat[name] = {"type": types[0] if len(types) == 1 else [*types]} if types else {}

    return {"type": "object", "properties": flat, "required": schema.get("required", [])}


def without_titles(schema: Mapping[str, JsonValue]) -> _Schema:
    """Return a JSON schema without the titles that only repeat names, a fifth of its size."""
    plain: _Schema = {}
    for key, value in schema.items():
        # Under these keys stand names, of which one may be "title".
        if key in ("properties", "$defs") and isinstance(value, dict):
            plain[key] = {name: _plain(each) for name, each in value.items()}
        elif key != "title":
            plain[key] = _plain(value)

    return plain


def _plain(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return without_titles(value) if isinstance(value, dict) else value


def _listed(schema: Mapping[str, JsonValue]) -> _Schema:
    """Return the schema of one argument, or of an item of a list."""
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        # null goes, and of a text and a list of texts the list stays, which comes last.
        rest = [each for each in branches if isinstance(each, dict) and each.get("type") != "null"]
        schema = {**rest[-1], **{key: schema[key] for key in schema if key != "anyOf"}}

    listed: _Schema = {}
    for key, value in schema.items():
        if key in ("title", *_LENGTHS) or (
            key == "default" and _goes_without_saying(value, schema)
        ):
            continue
        if key == "items" and isinstance(value, dict):
            listed[key] = _listed(value)
        elif key == "properties" and isinstance(value, dict):
            listed[key] = {
                name: _listed(each) for name, each in value.items() if isinstance(each, dict)
            }
        elif not (key == "additionalProperties" and value is True):
            listed[key] = value

    return listed


def _goes_without_saying(default: JsonValue, schema: Mapping[str, JsonValue]) -> bool:
    """Whether a default is nothing, false, or the first of the choices: a reader expects it."""
    choices = schema.get("enum")
    # Not by `in`: 0 equals False, and is a default that says something.
    if default is False:
        return True

    return default in (None, [], "") or (isinstance(choices, list) and choices[0] == default)


def _types(schema: JsonValue, definitions: Mapping[str, JsonValue]) -> list[str]:
    """Return the types that a schema of pydantic allows; none if it allows all."""
    if not isinstance(schema, dict):
        return []

    if isinstance(reference := schema.get("$ref"), str):
        return _types(definitions[reference.rpartition("/")[2]], definitions)
    if isinstance(branches := schema.get("anyOf"), list):
        return [each for branch in branches for each in _types(branch, definitions)]

    kind = schema.get("type")
    return [kind] if isinstance(kind, str) else []
