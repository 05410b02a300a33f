"""Messages of both protocol versions with one field too large, for each field of the protocol."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.types.methods import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS
from pydantic import JsonValue

VERSIONS: Final = ("2025-11-25", "2026-07-28")
SIZE: Final = 4_000_000
"""Bytes of the field: the whole message still fits into a body."""

_MARK: Final = "@the large value@"
_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_PARAMS: Final[Mapping[str, dict[str, Any]]] = {
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "repair_report"},
        "argument": {"name": "protocol", "value": "g"},
    },
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    },
    "logging/setLevel": {"level": "info"},
    "prompts/get": {"name": "goop_report", "arguments": {}},
    "resources/read": {"uri": "goop://rules"},
    "resources/subscribe": {"uri": "goop://project/CHRONICLE.md"},
    "resources/unsubscribe": {"uri": "goop://project/CHRONICLE.md"},
    "subscriptions/listen": {
        "notifications": {"resourceSubscriptions": ["goop://project/CHRONICLE.md"]}
    },
    "tools/call": {"name": "explain_rule", "arguments": {"rule": "xml/unescaped"}},
    "notifications/cancelled": {"requestId": 77},
    "notifications/progress": {"progressToken": 1, "progress": 1},
}
_INPUT_RESPONSES: Final = ("params", "inputResponses", "*")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message: in its path 0 is the first item of a list, and `*` is any key."""

    version: str
    method: str
    path: tuple[str | int, ...]

    def message(self, value: bytes) -> bytes:
        """Return a message as JSON that is valid except for this field, which is `value`."""
        params: dict[str, Any] = json.loads(json.dumps(_PARAMS.get(self.method, {})))
        if self.version == VERSIONS[1]:
            params["_meta"] = dict(_META)

        message: dict[str, Any] = {"jsonrpc": "2.0", "method": self.method, "params": params}
        if not self.method.startswith("notifications/"):
            message["id"] = 1

        _put(message, self.path, _MARK)

        return json.dumps(message).encode().replace(json.dumps(_MARK).encode(), value)


def large_values() -> Mapping[str, bytes]:
    """Return values of SIZE bytes as JSON, by what they are."""
    names = b",".join(b'"n%06d":1' % number for number in range(SIZE // 12))
    return {
        "a string": b'"' + b"x" * SIZE + b'"',
        "a string with secrets and escapes": (
            b'"' + (b"ghp_" + b"a1B2" * 9 + b"\\u00e9 ") * (SIZE // 47) + b'"'
        ),
        "a list": b"[" + b"1," * (SIZE // 2) + b"1]",
        "an object": b"{" + names + b"}",
        "lists in lists": b"[" + b"[]," * (SIZE // 3) + b"[]]",
    }


def fields(version: str) -> Iterator[Field]:
    """Return each field of the messages that a client may send, common fields for one message."""
    for table in (CLIENT_REQUESTS, CLIENT_NOTIFICATIONS):
        for (method, of), model in table.items():
            if of != version:
                continue

            schema = model.model_json_schema(by_alias=True)
            for path in dict.fromkeys(_paths(schema, schema.get("$defs", {}))):
                if method == "tools/call" or not _is_shared(method, path):
                    yield Field(version, method, path)


def _is_shared(method: str, path: tuple[str | int, ...]) -> bool:
    """Whether other messages have the field in the same form, and the server keeps none of it."""
    if method in {"initialize", "subscriptions/listen"}:
        return False
    return (path[:2] == ("params", "_meta") and len(path) > 2) or path[:3] == _INPUT_RESPONSES


def _paths(
    schema: Mapping[str, Any],
    known: Mapping[str, Mapping[str, Any]],
    path: tuple[str | int, ...] = (),
    above: tuple[str, ...] = (),
) -> Iterator[tuple[str | int, ...]]:
    """Return the places of all fields of a JSON schema; one that holds itself is entered once."""
    reference = schema.get("$ref")
    if reference is not None:
        if reference in above:
            return

        schema, above = known[reference.rpartition("/")[2]], (*above, reference)

    for either in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _paths(either, known, path, above)

    below: dict[str | int, JsonValue] = dict(schema.get("properties", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        below["*"] = schema["additionalProperties"]
    if isinstance(schema.get("items"), dict):
        below[0] = schema["items"]

    for name, inside in below.items():
        yield (*path, name)
        if isinstance(inside, dict):
            yield from _paths(inside, known, (*path, name), above)


def _put(message: dict[str, Any], path: tuple[str | int, ...], value: str) -> None:
    """Put `value` where `path` leads, and make the way there where there is none."""
    place: Any = message
    for step, following in zip(path, (*path[1:], None), strict=True):
        if step == 0:
            place[:] = place[:1] or [None]
        if following is None:
            place[step] = value
            return

        inside = place[step] if step == 0 else place.get(step)
        kind = list if following == 0 else dict
        place[step] = inside if isinstance(inside, kind) else kind()
        place = place[step]
