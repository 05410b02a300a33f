"""Replace halves of characters in the JSON of a message, for which the parser refuses all of it.

Hosts written in JavaScript send them when they cut a text in the middle of an emoji, and the agent
that called a tool cannot know what is wrong with its text.
"""

import re
from typing import Final

__all__ = ["whole_characters"]

# Every escape is matched, so that a backslash which is escaped itself begins none: a pair of
# halves (a character), a half alone, or anything else.
_ESCAPE: Final = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def whole_characters(message: bytes) -> bytes:
    """Return JSON with U+FFFD in place of each half of a character; its length stays the same."""
    if rb"\ud" not in message and rb"\uD" not in message:
        return message
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], message)
