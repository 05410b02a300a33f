"""Values that are secrets because of what they are assigned to: `PASSWORD=…`, `"api_key": "…"`, `<token>…</token>`.

The names are looked for in the text in small letters, which is several times as quick as to ignore the case.
"""

import re
import string
from typing import Final

from goop_mcp.redaction.values import Assignment, is_secret, is_weak_name

__all__ = ["WORDS_OF_NAMES", "hide_assigned", "in_small_letters"]

# A test passes too: only a value in quotes or after = is a password then.
_SHORT_FORM: Final = (
    r"(?<=[a-z][_-])pass|(?<![a-z_-])pass(?=\\?[\"'`]?[ \t]{0,8}(?:=|:[ \t]{0,8}\\?[\"'`]))"
)
_NAME: Final = (
    rf"(?P<name>passw(?:or)?d|passphrase|passwrd|pswd|pwd|{_SHORT_FORM}|api[ _-]?key|secret|token"
    r"|(?:private|access|account|signing|encryption|master|auth|storage|subscription)[_-]?key"
    r"|aws_(?:access|secret|session|security)\w{0,40}"
    r"|auth|cred(?:ential)?s?|key(?<!publickey)(?<!public[ _-]key))"
    r"(?:[_-]?(?:access|base|key|value)){0,3}"
)
WORDS_OF_NAMES: Final = ("secret", "token", "pass", "pswd", "pwd", "key", "aws_", "auth", "cred")
"""Words of which one is in every name."""

_ASSIGNS: Final = r"(?:\|\||\?|\+|:)?(?:=>|=(?![=~>])|:(?![:=]))"
_ASSIGNED: Final = re.compile(
    rf"{_NAME}"
    rf"(?P<sign>(?:\\?[\"'`]|\*\*)?[ \t]{{0,8}}(?:{_ASSIGNS}(?:\*\*)?|(?:is|was|->|→|\|)(?=\s))["
    r" \t]{0,8})"
)
_FLAG: Final = re.compile(rf"--[a-z-]{{0,20}}?{_NAME}(?P<sign>[ \t]{{1,8}})")
_ELEMENT: Final = re.compile(rf"<[\w:.-]{{0,40}}?{_NAME}(?:\s[^<>]{{0,200}})?(?P<sign>>)")

# A value without quotes ends where the next part of a query or a connection string begins.
_VALUE: Final = re.compile(
    r"\\\"[^\"\n]*\"?|\"(?>(?:[^\"\\\n]++|\\.)*)\"?|'(?>(?:[^'\\\n]++|\\.|'')*)'?|`[^`\n]*`?"
    r"|(?>(?:[^\s\"'`<>\\;&]++|\\(?![nrt\"'])"
    r"|&(?![A-Za-z_-]{1,40}[=;])|;(?=\S)(?![A-Za-z _-]{1,40}=))+)"
)
_CONTENT: Final = re.compile(r"[^<>]+(?=</)")
_LONGEST_WEAK: Final = 256
_SMALL_LETTERS: Final = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def in_small_letters(text: str) -> str:
    """Return `text` with small letters of ASCII, each at its place: some capitals of others become two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_SMALL_LETTERS)


def hide_assigned(text: str, replacement: str) -> tuple[str, int]:
    """Return `text` with `replacement` for values assigned to names of secrets, and how many there were."""
    text, assigned = _hide(text, _ASSIGNED, _VALUE, replacement)
    text, flags = _hide(text, _FLAG, _VALUE, replacement) if "--" in text else (text, 0)
    text, elements = _hide(text, _ELEMENT, _CONTENT, replacement) if "</" in text else (text, 0)
    return text, assigned + flags + elements


def _hide(
    text: str, named: re.Pattern[str], value_of: re.Pattern[str], replacement: str
) -> tuple[str, int]:
    lowered = in_small_letters(text)
    pieces: list[str] = []
    shown = at = 0

    while name := named.search(lowered, at):
        at = name.end()
        # Most weak names assign no secret, and what they assign may hold one: so little is read of
        # it, and it is read again. What other names assign is read once, which keeps this linear.
        is_weak = is_weak_name(name["name"])
        value = (
            value_of.match(text, at, at + _LONGEST_WEAK) if is_weak else value_of.match(text, at)
        )
        if value is None or (is_weak and not is_secret(Assignment.of(text, name, value))):
            continue
        if is_weak:
            value = value_of.match(text, at) or value

        at = value.end()
        assignment = Assignment.of(text, name, value)
        if is_secret(assignment):
            put = assignment.opening + replacement + assignment.closing
            pieces += [text[shown : value.start()], put]
            shown = at

    pieces.append(text[shown:])

    return "".join(pieces), len(pieces) // 2
