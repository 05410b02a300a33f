"""Describe a rule on a page for people and agents, and all rules in one document.

`python -m goop_mcp.services.rule_pages` prints that document, docs/rules.md.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from textwrap import dedent
from typing import TypedDict

from goop_mcp.protocols import RULES
from goop_mcp.validation.rules import Rule

__all__ = [
    "LEFT_OUT",
    "PAGE_OF_RULES",
    "RulePage",
    "RulePageValues",
    "anchor_of",
    "rule_page",
    "rules_markdown",
]

PAGE_OF_RULES = "https://github.com/goop-mcp/goop-mcp/blob/main/docs/rules.md"
"""Where the page of all rules is read; `#` and the anchor of a rule follow."""

LEFT_OUT = "(left out)"
"""Stands for an example whose error is that the text is missing."""

_LINES = 14
_FIRST_LINES, _LAST_LINES = 7, 4
_COLUMNS = 160
_MARKUP = re.compile(
    r"(?:[\w.]{0,80}(?:<(\w{1,80})[^<>]{0,200}>(?:.{0,200}?</\1>)?|</\w{1,80}>))+|&\w{1,40};"
)

_HEAD = """\
# Rules

All rules for replies, messages and projects, by family. An id is stable: it is never renamed and
never gets another meaning.

- **error** rejects the reply; **warning** and **info** do not.
- **lenient** is the default: it repairs the form of an envelope, lists each change and warns.
  **strict** makes those warnings errors. Neither repairs meaning: what is missing, cut off or
  unknown stays so.
- `goop-mcp rules RULE` and the tool `explain_rule` show the page of one rule: its reason, a bad and
  a good example, and the fix.

This file is generated from the rules by `make docs`.
"""

_FAMILIES = {
    "envelope": "Any envelope: its position, completeness and size",
    "xml": "XML in general",
    "json": "JSON in general",
    "path": "Paths that will be written or read",
    "evidence": "The claims of a reply, verified in the project",
    "correction": "A reply that corrects another one, compared with it",
    "goop_report": "The GoopSpec report",
    "subagent_protocol": "Older and related forms of the report",
    "agent_request": "The XML handoff",
    "speckit": "The JSON of the speckit agents",
    "factory": "The JSON of the Factory agents",
    "visual_style": "Our messages for people",
    "workflow": "The state of a project: its gates and phases",
    "memory": "The arguments of memory tools",
}
_OF_OTHERS = "Custom rules, which are not part of goop-mcp"


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
    """The description of one rule, ready for display.

    `bad` and `good` are examples, shortened if they are long. `given` states what the caller
    expects in the examples, None if nothing.
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
        """Return the page as Markdown, with a final line feed."""
        severity = f"**{self.lenient}** in lenient mode, **{self.strict}** in strict mode."
        if self.lenient == self.strict:
            severity = f"**{self.lenient}** in both modes."

        given = [f"The caller says beforehand: {self.given}."] if self.given else []
        parts = [
            f"# {self.id}",
            f"{severity} Catches: {_marked_up(self.catches)}.",
            f"**Why.** {_marked_up(self.why)}",
            f"**Fix.** {_marked_up(self.fix)}",
            *given,
            "Bad:",
            _block(self.bad),
            "Good:",
            _block(self.good),
            *(
                [f"Requirements (docs/requirements.md): {', '.join(self.requirements)}"]
                if self.requirements
                else []
            ),
        ]

        return "\n\n".join(parts) + "\n"


def rule_page(rule: Rule) -> RulePage:
    """Return the page of `rule`."""
    # Some rules compare a reply with what its caller expects.
    expected = rule.example.expected
    clauses = [
        f"the agent is {expected.agent}" if expected.agent else "",
        f"the phase is {expected.phase}" if expected.phase else "",
        "files were changed" if expected.files_changed else "",
        "memory was saved" if expected.memory_saved else "",
        "checks were run" if expected.checks_run else "",
    ]

    return RulePage(
        id=rule.id,
        lenient=rule.lenient.value,
        strict=rule.strict.value,
        catches=rule.catches,
        why=rule.why,
        given=", ".join(filter(None, clauses)) or None,
        bad=_shortened(rule.example.bad),
        good=_shortened(rule.example.good),
        fix=rule.fix,
        requirements=rule.requirements,
    )


def anchor_of(rule: str) -> str:
    """Return the anchor of the rule with the id `rule` on the page of all rules."""
    return rule.replace("/", "-")


def rules_markdown(book: Mapping[str, Rule] = RULES) -> str:
    """Return docs/rules.md: all rules in `book` by family, with their severity in both modes."""
    parts = [_HEAD]
    for family, rules in groupby(book.values(), key=lambda rule: rule.family):
        rows = []
        for rule in rules:
            texts = (f"`{rule.id}`", rule.lenient.value, rule.strict.value, rule.catches, rule.fix)
            cells = [_marked_up(text).replace("|", "\\|") for text in texts]
            # What findings link to; a heading for each rule would make the page ten times as long.
            cells[0] = f'<a id="{anchor_of(rule.id)}"></a>{cells[0]}'
            rows.append(f"| {' | '.join(cells)} |\n")

        parts.append(
            f"## {family}\n\n{_FAMILIES.get(family, _OF_OTHERS)}.\n\n"
            f"| rule | lenient | strict | catches | fix |\n|---|---|---|---|---|\n{''.join(rows)}"
        )

    return "\n".join(parts)


def _marked_up(text: str) -> str:
    """Return `text` with elements and entities in backticks, as viewers would hide them."""
    pieces = text.split("`")
    return "`".join(
        piece if n % 2 else _MARKUP.sub(r"`\g<0>`", piece) for n, piece in enumerate(pieces)
    )


def _shortened(example: str) -> str:
    """Return `example` in readable form: few and short lines, invisible characters escaped."""
    if not example.strip():
        return LEFT_OUT

    lines = []
    for raw in dedent(example).strip("\n").split("\n"):
        line = "".join(
            c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in raw
        )
        if len(line) > _COLUMNS:
            line = f"{line[: _COLUMNS // 2]}… ({len(line):,} characters)"
        lines.append(line)

    if len(lines) > _LINES:
        lines = [*lines[:_FIRST_LINES], "…", *lines[-_LAST_LINES:]]
    return "\n".join(lines)


def _block(example: str) -> str:
    """Return `example` as a code block whose fence is longer than those inside."""
    if example == LEFT_OUT:
        return LEFT_OUT
    fence = "````" if "```" in example else "```"
    return f"{fence}\n{example}\n{fence}"


if __name__ == "__main__":
    sys.stdout.write(rules_markdown())
