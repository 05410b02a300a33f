"""Errors of a request in the wording of the specification (3.4 and 7.1), with true line numbers."""

import re
from collections.abc import Iterator

from goop_mcp.protocols.agent_request.reading import GRAMMAR

__all__ = ["tag_mismatches"]

_MARKUP = re.compile(r"<!--|<!\[CDATA\[|<\?|<(/?)([A-Za-z_][\w.\-:]*+)([^<>]*)>")
_ENDS = {"<!--": "-->", "<![CDATA[": "]]>", "<?": "?>"}


def tag_mismatches(source: str) -> Iterator[tuple[int, str]]:
    """Yield (offset, message) of each end tag in `source` that does not match the last open tag.

    An end tag whose name is neither open nor one of the protocol is skipped, as are comments and
    CDATA.
    """
    opened: list[str] = []
    hidden_until = 0

    for found in _MARKUP.finditer(source):
        if found.start() < hidden_until:
            continue
        if found[2] is None:
            end = source.find(_ENDS[found[0]], found.end())
            hidden_until = len(source) if end < 0 else end
        elif not found[1]:
            if not found[3].endswith("/"):
                opened.append(found[2])
        elif opened and opened[-1] == found[2]:
            opened.pop()
        # Like libxml2, name the innermost open element. Names foreign to both are text that looks
        # like a tag, and reporting them would hide the mismatch that matters.
        elif opened and (found[2] in opened or found[2] in GRAMMAR.names):
            yield found.start(), f"Opening and ending tag mismatch: {opened[-1]} vs. {found[2]}"
            del opened[
                len(opened) - 1 - opened[::-1].index(found[2]) if found[2] in opened else -1 :
            ]
