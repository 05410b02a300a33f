"""Show the steps of the demo on a terminal."""

import re
from collections.abc import Iterable
from typing import Final

import click

from goop_mcp.cli.demo.steps import DemoStep
from goop_mcp.cli.rendering.styled import columns, hanging, wrap
from goop_mcp.cli.streams import show, terminal_width, without_controls
from goop_mcp.server.models import VerdictModel

__all__ = ["DemoTerminal"]

_STYLES: Final = {"error": "red", "warning": "yellow", "info": "cyan"}
_INDENT: Final = "  "
_TAG: Final = re.compile(r"""(</?)([A-Za-z][\w.-]*)((?:\s+[\w.-]+="[^"<]*")*)(\s*/?>)""")
_ATTRIBUTE: Final = re.compile(r"""((?<![\w.-])[\w.-]+=)("[^"]*")""")


class DemoTerminal:
    """A terminal that shows the steps one by one."""

    def __init__(self, *, colour: bool) -> None:
        """Prepare for a terminal with or without `colour`."""
        self.colour = colour
        self.width = max(40, min(terminal_width() or 80, 100))

    def present(self, number: int, step: DemoStep) -> None:
        """Show one step."""
        room = self.width - len(_INDENT)
        parts: list[str] = []
        if step.reply is not None:
            parts += _numbered(step.reply.rstrip(), room)
        if step.verdict is not None:
            parts += _findings(step.verdict, room)
        for text in (step.feedback, step.answer):
            if text is not None:
                parts += wrap(without_controls(text).rstrip(), room)
        if step.decision is not None:
            actions = ", ".join(step.decision.actions)
            parts += wrap(f"{step.decision.message.rstrip()}\n\nactions: {actions}", room)

        words = wrap(step.words, self.width)
        head = self._heading(number, step.title)
        self._print([*head, *words, "", *(f"{_INDENT}{line}" for line in parts)])

    def begin(self, number: int, title: str) -> None:
        """Show the heading of a chapter."""
        self._print([*self._heading(number, title), ""])

    def add(self, text: str, *, first: str = "") -> None:
        """Show a text; `first` stands before it, and its other lines are indented by that."""
        self._print(hanging(text, self.width, first=first))

    def _heading(self, number: int, title: str) -> tuple[str, str]:
        head = f"{number}. {title}"
        line = "─" * (self.width - len(head) - 1)
        return "", f"{click.style(head, bold=True)} {click.style(line, dim=True)}"

    def _print(self, lines: Iterable[str]) -> None:
        show("".join(f"{line.rstrip()}\n" for line in lines), colour=self.colour)


def _numbered(reply: str, width: int) -> list[str]:
    """Return the lines of `reply` with their numbers, and its tags in colours."""
    lines = without_controls(reply).split("\n")
    rows = [
        (click.style(f"{number:>{len(str(len(lines)))}}", dim=True), _TAG.sub(_styled_tag, line))
        for number, line in enumerate(lines, 1)
    ]
    return [f"{_INDENT}{line}" for line in columns(rows, width - len(_INDENT), gap=1)]


def _styled_tag(tag: re.Match[str]) -> str:
    opening, name, attributes, closing = tag.groups()
    values = _ATTRIBUTE.sub(
        lambda found: click.style(found[1], fg="cyan") + click.style(found[2], fg="yellow"),
        attributes,
    )
    return click.style(opening + name, fg="blue") + values + click.style(closing, fg="blue")


def _findings(verdict: VerdictModel, width: int) -> list[str]:
    repairs = {(repair.rule, repair.line): repair for repair in verdict.repairs}
    rows = []
    for finding in verdict.findings:
        kind = click.style(finding.severity, fg=_STYLES[finding.severity])
        what = f"{finding.message} {click.style(f'[{finding.rule}]', dim=True)}"
        repair = repairs.get((finding.rule, finding.line))
        if repair is not None:
            kind = click.style("repaired", fg="green")
            before, after = f"- {repair.before}", f"+ {repair.after}"
            what += f"\n{click.style(before, fg='red')}\n{click.style(after, fg='green')}"

        rows.append(("" if finding.line is None else f"line {finding.line}", kind, what))

    return columns(rows, width, gap=1)
