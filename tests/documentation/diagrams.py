"""The diagrams of the documentation: boxes on a grid, and arrows between them, as SVG.

Arrows take right angles only, and a box knows its place by column and row, so that a diagram is
changed in a line of its data. `python -m tests.documentation.pictures` writes the files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Final

__all__ = ["DIAGRAMS", "Arrow", "Box", "Diagram", "render_diagram"]

_COLUMN, _ROW = 218, 104
_WIDTH, _HEIGHT = 174, 56
_MARGIN: Final = 24
_LINE: Final = 17
_DETOUR: Final = 24
"""How far an arrow that goes around stays away from the boxes."""

_STYLE: Final = (
    "text { font: 14px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; fill: #1c2733;"
    " text-anchor: middle; } .label { font-size: 12px; fill: #4a5a6a; }"
    " .page { fill: #ffffff; } .box { fill: #eef3f8; stroke: #5b7690; stroke-width: 1.3; }"
    " .good { fill: #e3f3e9; stroke: #2e7d4f; } .bad { fill: #fbe9e7; stroke: #c0392b; }"
    " .line { fill: none; stroke: #5b7690; stroke-width: 1.5; } .head { fill: #5b7690; }"
    " .under { fill: #ffffff; }"
    " @media (prefers-color-scheme: dark) { text { fill: #e3e8ee; } .label { fill: #a9b4c0; }"
    " .page, .under { fill: #131820; } .box { fill: #1f2a36; stroke: #86a3bf; }"
    " .good { fill: #1a3325; stroke: #5fbf87; } .bad { fill: #3a2222; stroke: #ff8a80; }"
    " .line { stroke: #86a3bf; } .head { fill: #86a3bf; } }"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A box with `lines` of text, at most two, at a place of the grid; `kind` is its colour."""

    name: str
    column: float
    row: float
    lines: tuple[str, ...]
    kind: str = ""

    @property
    def left(self) -> float:
        return _MARGIN + self.column * _COLUMN

    @property
    def top(self) -> float:
        return _MARGIN + self.row * _ROW

    @property
    def middle(self) -> tuple[float, float]:
        return self.left + _WIDTH / 2, self.top + _HEIGHT / 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from a box to another; `around` is "below" or "above" for one that goes back."""

    start: str
    end: str
    label: str = ""
    around: str = ""


@dataclass(frozen=True, slots=True)
class Diagram:
    title: str
    description: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]


def render_diagram(diagram: Diagram) -> str:
    """Return the diagram as SVG, for light and dark pages."""
    boxes = {box.name: box for box in diagram.boxes}
    width = max(box.left for box in diagram.boxes) + _WIDTH + _MARGIN
    below = any(arrow.around == "below" for arrow in diagram.arrows)
    above = any(arrow.around == "above" for arrow in diagram.arrows)
    top = -(_DETOUR + 14) if above else 0
    height = max(box.top for box in diagram.boxes) + _HEIGHT + _MARGIN - top
    height += (_DETOUR + 8) if below else 0

    lines, labels = [], []
    for arrow in diagram.arrows:
        points = _points(boxes[arrow.start], boxes[arrow.end], arrow.around)
        path = " L ".join(f"{x:g} {y:g}" for x, y in points)
        lines += [
            f'<path class="line" d="M {path}"/>',
            f'<path class="head" d="{_head(*points[-2:])}"/>',
        ]
        if arrow.label:
            labels += _label(arrow.label, points)

    parts = []
    for box in diagram.boxes:
        x, y = box.middle
        parts.append(
            f'<rect class="box {box.kind}" x="{box.left:g}" y="{box.top:g}" width="{_WIDTH}"'
            f' height="{_HEIGHT}" rx="7"/>'
        )
        first = y + 5 - (len(box.lines) - 1) * _LINE / 2
        parts += [
            f'<text x="{x:g}" y="{first + number * _LINE:g}">{escape(line)}</text>'
            for number, line in enumerate(box.lines)
        ]

    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {top} {width:g} {height:g}"'
            f' width="{width:g}" height="{height:g}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(diagram.title)}</title>',
            f'<desc id="desc">{escape(diagram.description)}</desc>',
            f"<style>{_STYLE}</style>",
            f'<rect class="page" y="{top}" width="{width:g}" height="{height:g}" rx="8"/>',
            *lines,
            *parts,
            *labels,
            "</svg>",
            "",
        ]
    )


def _points(start: Box, end: Box, around: str) -> list[tuple[float, float]]:
    (x1, y1), (x2, y2) = start.middle, end.middle
    if around:
        # From edge to edge outside of the boxes, a little off the middle: a straight arrow may
        # end there.
        down = around == "below"
        outer = (
            max(start.top, end.top) + _HEIGHT + _DETOUR
            if down
            else (min(start.top, end.top) - _DETOUR)
        )
        edge1 = start.top + (_HEIGHT if down else 0)
        edge2 = end.top + (_HEIGHT if down else 0)
        return [(x1 - 18, edge1), (x1 - 18, outer), (x2 + 18, outer), (x2 + 18, edge2)]

    if y1 == y2:
        side = _WIDTH / 2 if x2 > x1 else -_WIDTH / 2
        return [(x1 + side, y1), (x2 - side, y2)]

    over = _HEIGHT / 2 if y2 > y1 else -_HEIGHT / 2
    if x1 == x2:
        return [(x1, y1 + over), (x2, y2 - over)]

    if abs(y1 - y2) < _HEIGHT + _DETOUR:
        # Too little room between the rows: out at the side, and in at the side.
        side = _WIDTH / 2 if x2 > x1 else -_WIDTH / 2
        between = (x1 + x2) / 2
        return [(x1 + side, y1), (between, y1), (between, y2), (x2 - side, y2)]

    half = (y1 + over + y2 - over) / 2
    return [(x1, y1 + over), (x1, half), (x2, half), (x2, y2 - over)]


def _head(before: tuple[float, float], end: tuple[float, float]) -> str:
    """Return the head of an arrow that comes from `before`; markers would need an address."""
    (x1, y1), (x2, y2) = before, end
    if y1 == y2:
        back = x2 - 9 if x2 > x1 else x2 + 9
        return f"M {back:g} {y2 - 5:g} L {x2:g} {y2:g} L {back:g} {y2 + 5:g} z"

    back = y2 - 9 if y2 > y1 else y2 + 9
    return f"M {x2 - 5:g} {back:g} L {x2:g} {y2:g} L {x2 + 5:g} {back:g} z"


def _label(text: str, points: Sequence[tuple[float, float]]) -> list[str]:
    # On the longest part of the arrow, with the page's colour under it.
    pairs = list(pairwise(points))
    (x1, y1), (x2, y2) = max(
        pairs, key=lambda pair: abs(pair[0][0] - pair[1][0]) + abs(pair[0][1] - pair[1][1])
    )
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    width = 6.4 * len(text) + 6
    return [
        f'<rect class="under" x="{x - width / 2:g}" y="{y - 9:g}" width="{width:g}" height="17"/>',
        f'<text class="label" x="{x:g}" y="{y + 4:g}">{escape(text)}</text>',
    ]


_RETRY_LOOP: Final = Diagram(
    "The retry loop",
    "A prompt goes to the agent, its reply is validated. An accepted reply is the outcome. A"
    " rejected one goes back with its errors while attempts, time and progress are left; otherwise"
    " the outcome says why it stopped.",
    (
        Box("prompt", 0, 0, ("prompt", "and form of the report")),
        Box("agent", 1, 0, ("agent",)),
        Box("judge", 2.1, 0, ("validate", "form, rules, evidence")),
        Box("done", 3.3, 0, ("outcome", "accepted"), "good"),
        Box("left", 2.1, 1.1, ("attempts, time and", "progress left?")),
        Box("feedback", 1, 1.1, ("feedback", "lines and fixes")),
        Box("ended", 3.3, 1.1, ("outcome", "stopped_because"), "bad"),
    ),
    (
        Arrow("prompt", "agent"),
        Arrow("agent", "judge"),
        Arrow("judge", "done", "yes"),
        Arrow("judge", "left", "rejected"),
        Arrow("left", "feedback", "yes"),
        Arrow("left", "ended", "no"),
        Arrow("feedback", "agent"),
    ),
)

_PHASES: Final = Diagram(
    "Phases and gates of a project",
    "From idle through the gate Discovery to plan, through Spec to execute, through Execution to"
    " accept, through Acceptance to a closed round. Research and specify are a way around from"
    " plan. Steps back from execute to plan and from accept to execute are rework.",
    (
        Box("idle", 0, 0, ("idle",)),
        Box("plan", 1.3, 0, ("plan",)),
        Box("execute", 2.6, 0, ("execute",)),
        Box("accept", 3.9, 0, ("accept",)),
        Box("research", 1.3, 1.1, ("research",)),
        Box("specify", 2.6, 1.1, ("specify",)),
        Box("closed", 3.9, 1.1, ("round closed", "phase idle again"), "good"),
    ),
    (
        Arrow("idle", "plan", "Discovery"),
        Arrow("plan", "execute", "Spec"),
        Arrow("execute", "accept", "Execution"),
        Arrow("accept", "closed", "Acceptance"),
        Arrow("plan", "research"),
        Arrow("research", "specify"),
        Arrow("specify", "execute", "Spec"),
        Arrow("accept", "execute", "rework", "above"),
        Arrow("execute", "plan", "rework", "above"),
    ),
)

_ROUTING: Final = Diagram(
    "From a reply to the next step",
    "A reply becomes a verdict. A rejected one is repaired by its agent, at most twice. Of an"
    " accepted one the outcome is read: done goes to the next agent, blocked and questions to the"
    " user, a checkpoint to a new session.",
    (
        Box("reply", 0, 1, ("reply",)),
        Box("verdict", 1, 1, ("verdict",)),
        Box("repair", 1, 0, ("same agent again", "at most twice"), "bad"),
        Box("outcome", 2.2, 1, ("outcome", "one model for all")),
        Box("next", 3.6, 0, ("next agent", "with its task"), "good"),
        Box("user", 3.6, 1, ("the user decides",)),
        Box("session", 3.6, 2, ("new session", "with a handoff")),
    ),
    (
        Arrow("reply", "verdict"),
        Arrow("verdict", "repair", "rejected"),
        Arrow("verdict", "outcome", "ok"),
        Arrow("outcome", "next", "done"),
        Arrow("outcome", "user", "blocked"),
        Arrow("outcome", "session", "checkpoint"),
    ),
)

_REPLICAS: Final = Diagram(
    "Several machines, one database",
    "Agents of a team reach any replica by URL; agents on a developer's machine start a server of"
    " their own. All of them write to one PostgreSQL database, which keeps the queue of writers.",
    (
        Box("a", 0, 0, ("agents of a team", "token of a tenant")),
        Box("b", 0, 1, ("agents on a", "developer's machine")),
        Box("lb", 1.15, 0, ("load balancer", "TLS")),
        Box("r1", 2.3, 0, ("replica", "keeps no sessions")),
        Box("r2", 2.3, 1, ("server over stdio", "a replica as well")),
        Box("db", 3.6, 0.5, ("PostgreSQL", "data, queue of writers"), "good"),
    ),
    (
        Arrow("a", "lb"),
        Arrow("lb", "r1"),
        Arrow("b", "r2"),
        Arrow("r1", "db"),
        Arrow("r2", "db"),
    ),
)

DIAGRAMS: Final = {
    "retry-loop.svg": _RETRY_LOOP,
    "phases.svg": _PHASES,
    "routing.svg": _ROUTING,
    "replicas.svg": _REPLICAS,
}
