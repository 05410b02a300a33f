"""Sets of texts with what they show: one file a set, `python -m tests.sets` prints the counts.

Each line of a file has a `text` or a `first` and `second` one, what to `expect`, and `why`. In a
text `«report»` stands for a whole report, `«report|> »` for one whose lines have this mark, in
which `{n}` is the number of the line, `«report^<handoff>»` for one that is cut before these words,
and `«report¦old¦new»` for one with other words. The product is changed for a text, never the text.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY, REQUEST_PROMPT
from tests.validation.replies import read_case

__all__ = ["ENVELOPES", "filled", "lines_of"]

_FOLDER = Path(__file__).parent
_PLACE = re.compile(r"«(\w+)(?:([|^¦])([^»]*))?»")


def _between(text: str, begin: str, end: str) -> str:
    return text[text.index(begin) : text.rindex(end) + len(end)]


ENVELOPES: Mapping[str, str] = {
    "report": _between(COMPLETE_REPLY, "<goop_report", "</goop_report>"),
    "factory": _between(FACTORY_REPLY, "{", "}"),
    "speckit": read_case("speckit/concrete_review.json").strip(),
    "request": _between(REQUEST_PROMPT, "<agent_request", "</agent_request>"),
}


def filled(text: str) -> str:
    """Return `text` with the envelopes that it names."""

    def envelope(place: re.Match[str]) -> str:
        whole, how, value = ENVELOPES[place[1]], place[2], place[3] or ""
        match how:
            case "|":
                lines = whole.split("\n")
                return "\n".join(value.format(n=at) + line for at, line in enumerate(lines, 1))
            case "^":
                return whole[: whole.index(value)]
            case "¦":
                old, _, new = value.partition("¦")
                return whole.replace(old, escape(new))
            case _:
                return whole

    return _PLACE.sub(envelope, text)


def lines_of(name: str) -> list[dict[str, Any]]:
    """Return the lines of the set `name`."""
    content = (_FOLDER / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in content.splitlines()]
