"""What a rule is about, as one page for people and agents; and all rules as one document.

`python -m goop_mcp.operations.rule_pages` prints that document, docs/rules.md.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent
from typing import TypedDict

from goop_mcp.protocols import RULES
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.rules import Rule

__all__ = ["LEFT_OUT", "RulePage", "RulePageValues", "rule_page", "rules_markdown"]

LEFT_OUT = "(left out)"
"""Stands for an example whose fault is that the line is not there."""

_LINES = 14
_FIRST_LINES, _LAST_LINES = 7, 4
_COLUMNS = 160
_MARKUP = re.compile(
    r"(?:[\w.]{0,80}(?:<(\w{1,80})[^<>]{0,200}>(?:.{0,200}?</\1>)?|</\w{1,80}>))+|&\w{1,40};"
)

_HEAD = """\
# Rules

All that can be found in a reply, a message or a project, by family. An id is stable: it is never renamed and never
gets another meaning.

- **error** rejects the reply; **warning** and **info** do not.
- **lenient** is the default: it mends the form of an envelope, lists each change and warns. **strict** makes those
  warnings errors. Neither mends meaning: what is missing, cut off or unknown stays so.
- `goop-mcp rules RULE` and the tool `explain_rule` show the page of one rule: why it is there, a bad and a good
  example, and how to mend it.

This file is made from the rules themselves by `make docs`.
"""

_FAMILIES = {
    "envelope": "Any envelope: where it stands, whether it is whole, how large it is",
    "xml": "XML as such",
    "json": "JSON as such",
    "path": "Paths that somebody will write to or read from",
    "evidence": "What a reply claims, held against the project",
    "goop_report": "The GoopSpec report",
    "subagent_protocol": "Older and sibling forms of the report",
    "agent_request": "The XML handoff",
    "speckit": "The JSON of the speckit agents",
    "factory": "The JSON of the Factory agents",
    "visual_style": "The messages for people that we write",
    "workflow": "The state of a project: its gates and phases",
    "memory": "What a memory tool is given",
}
_OF_OTHERS = "Rules that were added here; goop-mcp does not have them"


class RulePageValues(TypedDict):
    """A rule's page as JSON values."""

    id: str
    lenient: str
    strict: str
    catches: str
    why: str
    given: str | None
    bad: str
    good: str
    fix: str
    requirements: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RulePage:
    """All that is to be told about one rule, ready to be shown.

    `bad` and `good` are shortened where they are whole replies. `given` says what the caller knew
    beforehand in the examples; None where they speak for themselves.
    """

    id: str
    lenient: str
    strict: str
    catches: str
    why: str
    given: str | None
    bad: str
    good: str
    fix: str
    requirements: tuple[str, ...]

    def to_dict(self) -> RulePageValues:
        """Return the page as JSON values."""
        return {
            "id": self.id,
            "lenient": self.lenient,
            "strict": self.strict,
            "catches": self.catches,
            "why": self.why,
            "given": self.given,
            "bad": self.bad,
            "good": self.good,
            "fix": self.fix,
            "requirements": list(self.requirements),
        }

    def to_markdown(self) -> str:
        """Return the page as Markdown, ending with a line feed."""
        given = [f"The caller says beforehand: {self.given}."] if self.given else []
        parts = [
            f"# {self.id}",
            f"{_weights(self.lenient, self.strict)} Catches: {_marked_up(self.catches)}.",
            f"**Why.** {_marked_up(self.why)}",
            f"**Fix.** {_marked_up(self.fix)}",
            *given,
            "Bad:",
            _block(self.bad),
            "Good:",
            _block(self.good),
            *([f"Requirements: {', '.join(self.requirements)}"] if self.requirements else []),
        ]

        return "\n\n".join(parts) + "\n"


def rule_page(rule: Rule) -> RulePage:
    """Return the page of `rule`."""
    return RulePage(
        id=rule.id,
        lenient=rule.lenient.value,
        strict=rule.strict.value,
        catches=rule.catches,
        why=rule.why,
        given=_given(rule.example.expected),
        bad=_shortened(rule.example.bad),
        good=_shortened(rule.example.good),
        fix=rule.fix,
        requirements=rule.requirements,
    )


def rules_markdown(book: Mapping[str, Rule] = RULES) -> str:
    """Return docs/rules.md: every rule in `book` by family, with its severity in both modes."""
    parts = [_HEAD]
    for family, rules in groupby(book.values(), key=lambda rule: rule.family):
        rows = "".join(map(_row, rules))
        parts.append(
            f"## {family}\n\n{_FAMILIES.get(family, _OF_OTHERS)}.\n\n"
            f"| rule | lenient | strict | catches | how to mend it |\n|---|---|---|---|---|\n{rows}"
        )

    return "\n".join(parts)


def _row(rule: Rule) -> str:
    cells = (f"`{rule.id}`", rule.lenient.value, rule.strict.value, rule.catches, rule.fix)
    return f"| {' | '.join(_cell(text) for text in cells)} |\n"


def _cell(text: str) -> str:
    return _marked_up(text).replace("|", "\\|")


def _marked_up(text: str) -> str:
    """Return `text` with its elements and entities in backticks; without them a viewer would swallow both."""
    pieces = text.split("`")
    return "`".join(
        piece if n % 2 else _MARKUP.sub(r"`\g<0>`", piece) for n, piece in enumerate(pieces)
    )


def _weights(lenient: str, strict: str) -> str:
    if lenient == strict:
        return f"**{lenient}** in both modes."
    return f"**{lenient}** in lenient mode, **{strict}** in strict mode."


def _given(expected: Expectations) -> str | None:
    """Return in words what the caller expects, None when it expects nothing."""
    words = [
        f"the agent is {expected.agent}" if expected.agent else "",
        f"the phase is {expected.phase}" if expected.phase else "",
        "files were changed" if expected.files_changed else "",
        "memory was saved" if expected.memory_saved else "",
        "checks were run" if expected.checks_run else "",
    ]
    return ", ".join(filter(None, words)) or None


def _shortened(example: str) -> str:
    """Return `example` as it can be read on a page: no more lines than help, none too long, nothing invisible."""
    if not example.strip():
        return LEFT_OUT

    lines = [_readable(line) for line in dedent(example).strip("\n").split("\n")]
    if len(lines) > _LINES:
        lines = [*lines[:_FIRST_LINES], "…", *lines[-_LAST_LINES:]]
    return "\n".join(lines)


def _readable(line: str) -> str:
    line = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line
    )
    if len(line) <= _COLUMNS:
        return line
    return f"{line[: _COLUMNS // 2]}… ({len(line):,} characters)"


def _block(example: str) -> str:
    """Return `example` as a block of code that its own fences do not end."""
    if example == LEFT_OUT:
        return LEFT_OUT
    fence = "````" if "```" in example else "```"
    return f"{fence}\n{example}\n{fence}"


if __name__ == "__main__":
    sys.stdout.write(rules_markdown())
