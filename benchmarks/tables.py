"""Print measurements as a table, each judged by its bound."""

from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Bound", "Table"]

_GAP = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A value should stay at or below `goal`; from `defect` on it is a defect."""

    goal: float
    defect: float

    def judge(self, value: float) -> str:
        """Return "ok", "over the goal" or "DEFECT"."""
        if value >= self.defect:
            return "DEFECT"
        return "ok" if value <= self.goal else "over the goal"


@dataclass(slots=True)
class Table:
    """One benchmark: a title, what the columns mean, a row a case.

    `defects` names the cases that broke a bound.
    """

    title: str
    columns: Sequence[str]
    notes: Sequence[str] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)

    def add(self, *cells: str, judgement: str = "") -> None:
        """Add a row; the first cell names the case, `judgement` is the last one."""
        self.rows.append((*cells, judgement))
        if judgement.startswith("DEFECT"):
            self.defects.append(f"{self.title}: {cells[0]}")

    def render(self) -> str:
        """Return the table as text: names to the left, numbers to the right, judgements last."""
        rows = [(*self.columns, ""), *self.rows]
        widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
        lines = [_line(row, widths) for row in rows]
        return "\n".join(
            [self.title, *self.notes, lines[0], "-" * len(max(lines, key=len)), *lines[1:]]
        )


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
    return _GAP.join([row[0].ljust(widths[0]), *cells[1:-1], row[-1]]).rstrip()
