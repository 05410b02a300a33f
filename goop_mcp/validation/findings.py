"""The parts of a verdict: findings about the agent's text and the repairs made to its form."""

from enum import StrEnum
from typing import Any, Literal

from goop_mcp.structs import DataStruct

__all__ = ["Finding", "Hit", "Mode", "Repair", "Severity", "counted_noun", "excerpt", "one_line"]

Mode = Literal["lenient", "strict"]

FOUND_CHARACTERS = 200


class Severity(StrEnum):
    """The severity of a finding: an error rejects, a warning and an info do not (D-19)."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Finding(DataStruct, frozen=True, kw_only=True):
    """One error or remark, as every surface shows it.

    `line` and `column` count from 1 in the text as the caller gave it and are None if the place is
    unknown. `path` is an XPath or JSON pointer inside the envelope. `expected` has the allowed
    values, if there is a list of them.
    """

    rule: str
    severity: Severity
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    found: str | None = None
    expected: tuple[str, ...] | None = None
    fix: str

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON values."""
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "message": self.message,
            "path": self.path,
            "line": self.line,
            "column": self.column,
            "found": self.found,
            "expected": None if self.expected is None else list(self.expected),
            "fix": self.fix,
        }


class Repair(DataStruct, frozen=True, kw_only=True):
    """One change that lenient mode made to the form of the envelope; `line` as in `Finding`."""

    rule: str
    message: str
    line: int | None
    before: str
    after: str


class Hit(DataStruct, frozen=True, kw_only=True):
    """What a check found, before mode and position are known.

    `offset` counts characters from 0 in the text that was read; None means that `path` is looked
    up. `before` and `after` are set if lenient mode repairs the error; `fix` replaces the rule's
    own instruction.
    """

    message: str
    path: str | None = None
    offset: int | None = None
    found: str | None = None
    expected: tuple[str, ...] | None = None
    fix: str | None = None
    before: str | None = None
    after: str | None = None


def counted_noun(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 error`, `1,200 errors`; `plural` is for an irregular noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {plural or f'{noun}s'}"


def excerpt(text: str, limit: int = FOUND_CHARACTERS) -> str:
    """Return `text` on one line, cut to `limit` characters, safe to quote in a message.

    Only the part that can be shown is examined, so that a field of megabytes costs nothing.
    """
    line = one_line(text[: 4 * limit])
    return line if len(line) <= limit else line[: limit - 1] + "…"


def one_line(text: str) -> str:
    """Return `text` on one line, safe to quote in a message.

    Characters that a terminal or an encoder cannot handle are shown as escapes.
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
    )
