"""What models do to an envelope in JSON."""

import json
import re
from collections.abc import Callable
from typing import Final

from goop_mcp.testing.corruptions import (
    CUT_OFF,
    Corruption,
    appending,
    placed,
    refused,
    repaired,
    substituting,
)
from goop_mcp.testing.good_replies import GoodReply, fenced, unfenced

__all__ = ["JSON_ERRORS"]

_LOOSE: Final = "json/loose-syntax"
_STATUS: Final = r'"status":\s*"(\w+)"'
# The first field with its comma: what is inserted after it stands between two fields.
_FIRST_KEY: Final = r'^\{\s*"\w+":\s*"[^"]*",\s*'


def _written(write: Callable[[str], str]) -> Callable[[GoodReply], str]:
    return lambda good: fenced(write(good.envelope), "json")


def _packed(envelope: str) -> str:
    """Put all fields but the first into one string, as markup."""
    values = json.loads(envelope)
    first, *others = values
    inside = "".join(f"<{name}>{json.dumps(values[name])}</{name}>" for name in others)
    return json.dumps({first: f"{values[first]}</{first}>{inside}"}, indent=2)


JSON_ERRORS: Final[tuple[Corruption, ...]] = (
    placed(
        "fence_inside_text",
        "a fence within the narrative",
        appending(r"See:\n```\nrun\n```\n"),
        adds="See: ``` run ```",
    ),
    placed(
        "wrong_order",
        "the fields stand in another order",
        _written(
            lambda envelope: json.dumps(dict(reversed(json.loads(envelope).items())), indent=2)
        ),
    ),
    placed(
        "invented_field",
        "a field that nobody knows",
        substituting(r"^\{", r'{"mood": "cheerful", '),
    ),
    repaired(
        "trailing_comma", "a comma before the last brace", substituting(r"\s*\}$", r",\n}"), _LOOSE
    ),
    repaired(
        "comments",
        "a comment",
        substituting(_FIRST_KEY, lambda match: match[0] + "// all went well\n  "),
        _LOOSE,
    ),
    repaired(
        "python_dict",
        "a dict of Python",
        _written(lambda envelope: repr(json.loads(envelope))),
        _LOOSE,
    ),
    repaired(
        "smart_quotes",
        "typographic quotes",
        _written(lambda envelope: re.sub('"([^"]*)"', r"“\1”", envelope)),
        _LOOSE,
    ),
    repaired(
        "raw_line_break",
        "a line break within a string",
        appending("Then:\nmore."),
        _LOOSE,
        adds="Then: more.",
    ),
    repaired(
        "unescaped_quote",
        "a quote within a string",
        appending('Renamed "a" to b.'),
        _LOOSE,
        adds='Renamed "a" to b.',
    ),
    refused(
        "last_brace_missing",
        "the last brace is missing, and no fence says that the block had ended",
        lambda good: unfenced(good.envelope[:-1].rstrip()).rstrip(),
        "envelope/truncated",
        never="cut reply accepted",
    ),
    repaired(
        "value_in_wrong_case",
        "a listed value in the wrong case",
        substituting(_STATUS, lambda match: match[0].replace(match[1], match[1].swapcase())),
        "value-case",
    ),
    repaired(
        "wrapped",
        "wrapped in an object of one key",
        lambda good: fenced(f'{{"{good.protocol}": {good.envelope}}}', "json"),
        _LOOSE,
    ),
    repaired("string_encoded", "the whole object as one string", _written(json.dumps), _LOOSE),
    *CUT_OFF,
    refused(
        "placeholder",
        "the template's list of values is left",
        substituting(
            _STATUS, lambda match: match[0].replace(match[1], "success|questions|failure")
        ),
        "placeholder-left",
        never="placeholder accepted",
    ),
    refused(
        "status_missing",
        "no status",
        substituting(_STATUS + r",?\s*", ""),
        "missing-field",
        never="value guessed",
    ),
    refused("empty", "nothing at all", lambda _: "", "no-envelope", never="made up from nothing"),
    refused(
        "duplicate_key",
        "two statuses that contradict each other",
        substituting(_STATUS, r'\g<0>, "status": "failure"'),
        "json/duplicate-key",
        never="one of two taken",
    ),
    refused(
        "not_a_number",
        "NaN for a status",
        substituting(_STATUS, r'"status": NaN'),
        "json/malformed",
        never="value guessed",
    ),
    refused(
        "fields_packed_in_string",
        "fields as markup within a string",
        _written(_packed),
        "unknown-status",
        "no-envelope",
        never="value guessed",
    ),
    refused(
        "degenerate_answer",
        "a last try that says nothing",
        lambda _: '```json\n{"test": "test"}\n```\n',
        "no-envelope",
        never="empty answer accepted",
    ),
)
