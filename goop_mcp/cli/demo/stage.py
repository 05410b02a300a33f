"""Show the steps of the demo on a terminal."""

from io import StringIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from goop_mcp.cli.demo.steps import DemoStep
from goop_mcp.cli.streams import show, terminal_width
from goop_mcp.server.models import VerdictModel

__all__ = ["DemoTerminal"]

_STYLES = {"error": "red", "warning": "yellow", "info": "cyan"}


class DemoTerminal:
    """A terminal that shows the steps one by one."""

    def __init__(self, *, colour: bool) -> None:
        """Prepare for a terminal with or without `colour`."""
        self.colour = colour
        self.width = max(40, min(terminal_width() or 80, 100))

    def present(self, number: int, step: DemoStep) -> None:
        """Show one step."""
        parts: list[RenderableType] = []
        if step.reply is not None:
            reply = step.reply.rstrip()
            parts.append(
                Syntax(
                    reply,
                    "xml",
                    theme="ansi_dark",
                    background_color="default",
                    line_numbers=True,
                    word_wrap=True,
                )
            )

        if step.verdict is not None:
            parts.append(_findings(step.verdict))
        if step.feedback is not None:
            parts.append(Text(step.feedback))
        if step.answer is not None:
            parts.append(Text(step.answer))
        if step.decision is not None:
            actions = ", ".join(step.decision.actions)
            parts.append(Text(f"{step.decision.message.rstrip()}\n\nactions: {actions}"))

        indented = [Padding(part, (0, 0, 0, 2)) for part in parts]
        self._print(*_heading(number, step.title), step.words, "", *indented)

    def begin(self, number: int, title: str) -> None:
        """Show the heading of a chapter."""
        self._print(*_heading(number, title), "")

    def add(self, part: RenderableType) -> None:
        """Show a part of a chapter."""
        self._print(part)

    def _print(self, *parts: RenderableType) -> None:
        page = StringIO()
        console = Console(
            file=page,
            force_terminal=self.colour,
            color_system="standard" if self.colour else None,
            width=self.width,
            highlight=False,
            markup=False,
            emoji=False,
        )
        for part in parts:
            console.print(part)

        # The console pads lines with blanks, which would be annoying in copied text.
        show(
            "".join(f"{line.rstrip()}\n" for line in page.getvalue().splitlines()),
            colour=self.colour,
        )


def _heading(number: int, title: str) -> tuple[RenderableType, ...]:
    return "", Rule(Text(f"{number}. {title}", style="bold"), align="left", style="dim")


def _findings(verdict: VerdictModel) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    for width in (7, 8, None):
        table.add_column(width=width)

    repairs = {(repair.rule, repair.line): repair for repair in verdict.repairs}
    for finding in verdict.findings:
        kind = Text(finding.severity, style=_STYLES[finding.severity])
        what = Text.assemble(finding.message, " ", (f"[{finding.rule}]", "dim"))
        repair = repairs.get((finding.rule, finding.line))
        if repair is not None:
            kind = Text("repaired", style="green")
            what.append(f"\n- {repair.before}", style="red")
            what.append(f"\n+ {repair.after}", style="green")

        table.add_row("" if finding.line is None else f"line {finding.line}", kind, what)

    return table
