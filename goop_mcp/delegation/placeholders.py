"""`${plan.summary}` in a prompt: which there are, and what stands in their place.

Only values that a run was given, fields of accepted envelopes and answers of gates can be put into
a prompt. What is put in is not read again, so that no value can name another.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from goop_mcp.command_words import COMMAND, opening
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["INPUT", "MissingValueError", "Placeholder", "fill_in", "placeholders_in"]

INPUT: Final = "input"
"""What placeholders for values that the run was started with begin with."""

LONGEST_VALUE: Final = 50_000
"""Characters of one value in a prompt; the rest is cut, with a remark."""

LONGEST_FILLED: Final = 1_000_000
"""Characters of a prompt with all its values: one value may be named thousands of times."""

# `$${` writes "${". What does not close in the same line is found as well, to be refused.
_PLACEHOLDER: Final = re.compile(r"\$(?P<escape>\$(?=\{))|\$\{(?P<path>[^{}\n]{0,300})(?P<end>\}?)")
_PATH: Final = re.compile(r"[A-Za-z0-9_-]{1,100}(?:\.[A-Za-z0-9_-]{1,100}){0,20}", re.ASCII)


class MissingValueError(ValueError):
    """Raised when there is no value for a placeholder; the text names it."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """One placeholder: its text, what gives the value (a task, a gate or "input"), and the field.

    `defect` says what is wrong with its form, None for nothing.
    """

    text: str
    source: str
    fields: tuple[str, ...]
    defect: str | None = None


def placeholders_in(prompt: str) -> tuple[Placeholder, ...]:
    """Return the placeholders of `prompt` in order, those with a wrong form included."""
    found = (match for match in _PLACEHOLDER.finditer(prompt) if match["escape"] is None)
    return tuple(map(_read, found))


def fill_in(prompt: str, values: Mapping[str, JsonValue]) -> str:
    """Return `prompt` with the values of its placeholders; `$${` becomes `${`.

    `values` maps sources to objects: "input" to what the run was given, a task to its envelope,
    a gate to its `answer` and `note`, and to None what ended without a result, for which a remark
    is put in. `${plan.summary}` and `${plan.envelope.summary}` are the same. A text is put in as it
    is, anything else as JSON; at most 50,000 characters.

    Raises MissingValueError for a placeholder without a value, and ValueError for more than a
    million characters.
    """
    length = len(prompt)

    def value_of(match: re.Match[str]) -> str:
        nonlocal length
        shown = shown_for(match)
        length += len(shown)
        # At once, and not after all of them were put together.
        if length > LONGEST_FILLED:
            raise ValueError(
                f"the prompt has more than {LONGEST_FILLED:,} characters with its values; name"
                " fewer of them, or single fields"
            )
        return shown

    def shown_for(match: re.Match[str]) -> str:
        if match["escape"] is not None:
            return "$"

        found = _read(match)
        if found.defect is not None or found.source not in values:
            raise MissingValueError(f"there is no value for {found.text}")
        if values[found.source] is None:
            return f"({found.source} ended without a result)"

        value = _value_at(values[found.source], found)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
        if len(text) <= LONGEST_VALUE:
            return text
        return f"{text[:LONGEST_VALUE]}… (cut: {len(text):,} characters)"

    filled = _PLACEHOLDER.sub(value_of, prompt)
    # The author of a graph may begin with a command of a host, and a value may not.
    return filled if prompt.lstrip().startswith(COMMAND) else opening(filled)


def _read(match: re.Match[str]) -> Placeholder:
    text, path = match[0][:100], match["path"]
    if not match["end"]:
        defect = "is not closed; expected } in the same line, or $${ for the characters themselves"
        return Placeholder(text, "", (), defect)
    if not _PATH.fullmatch(path):
        defect = "names no value; expected ${TASK.FIELD} or ${input.NAME}"
        return Placeholder(text, "", (), defect)

    source, *fields = path.split(".")
    return Placeholder(text, source, tuple(fields))


def _value_at(values: JsonValue, found: Placeholder) -> JsonValue:
    # "envelope" is the whole of what a task gave, unless the envelope itself has such a field.
    fields = found.fields
    if fields[:1] == ("envelope",) and not (isinstance(values, Mapping) and "envelope" in values):
        fields = fields[1:]

    value = values
    for name in fields:
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif (entries := _entries(value)) and name.isdecimal() and int(name) < len(entries):
            value = entries[int(name)]
        else:
            known = ", ".join(sorted(value)[:12]) if isinstance(value, Mapping) else "none"
            raise MissingValueError(
                f"there is no value for {found.text}: {name!r} is not there; there are {known}"
            )

    return value


def _entries(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
