"""A graph as a picture: Mermaid for pages that draw it themselves, and SVG for all others.

Both are the same for the same graph and states, byte for byte. The SVG has no script, no link and
no font of its own, and its colors are readable on a light and on a dark page.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from goop_mcp.delegation.graph import Graph, waves_of
from goop_mcp.delegation.parts import GraphGate, GraphStep, GraphTask
from goop_mcp.errors import GoopError

__all__ = ["PictureTooLargeError", "draw_mermaid", "draw_svg"]

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 180, 52, 40, 56, 20
_LONGEST: Final = 26
# Ends of tasks, and what a person has to do something about, each in a color that has a contrast of
# at least 3 to white and to black.
_COLORS: Final[Mapping[str, str]] = {
    "accepted": "#2f8a4c",
    "running": "#3b78c4",
    "retrying": "#3b78c4",
    "input_required": "#b07514",
    "failed": "#cf4a4a",
    "skipped": "#7f8894",
    "cancelled": "#7f8894",
}
_OTHER: Final = "#7f8894"
# About 60 bytes each. A line has one for each row that it goes on.
_MOST_PIECES: Final = 50_000
_NONE_ADDED: Final[Mapping[str, GraphStep]] = {}


class PictureTooLargeError(GoopError):
    """Raised for a graph with so many lines that no browser shows its picture."""


def draw_mermaid(graph: Graph, states: Mapping[str, str] | None = None) -> str:
    """Return the graph as a flowchart of Mermaid; `states` maps tasks to their states."""
    states = states or {}
    # Ids of our own: those of the graph may be words of Mermaid, such as "end".
    number = {name: f"n{at}" for at, name in enumerate(graph.steps)}
    lines = ["flowchart TD"]

    for name, step in graph.steps.items():
        text = _mermaid_text("<br/>".join(_lines(step, states.get(name))))
        left, right = ("{{", "}}") if isinstance(step, GraphGate) else ("[", "]")
        lines.append(f'  {number[name]}{left}"{text}"{right}')
    for name, step in graph.steps.items():
        lines += [f"  {number[need]} --> {number[name]}" for need in step.needs]
        if isinstance(step, GraphTask):
            lines += [f"  {number[name]} -. feedback .-> {number[to]}" for to in step.feedback_to]

    used = [state for state in _COLORS if state in states.values()]
    for state in used:
        named = ",".join(number[name] for name in graph.steps if states.get(name) == state)
        lines.append(f"  classDef {state} stroke:{_COLORS[state]},stroke-width:3px")
        lines.append(f"  class {named} {state}")

    return "\n".join(lines) + "\n"


def draw_svg(
    graph: Graph,
    states: Mapping[str, str] | None = None,
    *,
    added: Mapping[str, GraphStep] = _NONE_ADDED,
    in_page: bool = False,
) -> str:
    """Return the graph as an SVG, each wave in a row; `states` maps tasks to their states.

    `added` are the tasks that agents added to a run. `in_page`: the picture is a part of a page and
    has the color of its text; otherwise its colors are readable on light and on dark. Raises
    PictureTooLargeError, which names other forms.
    """
    states, steps = states or {}, {**graph.steps, **added}
    text = "currentColor" if in_page else None
    layout = _Layout(steps)

    title = escape(f"The graph {graph.name}: tasks and gates: {len(steps)}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {layout.width:g} {layout.height:g}"'
        f' width="{layout.width:g}" height="{layout.height:g}" role="img" aria-label="{title}"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{title}</title>",
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        f' orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{_OTHER}"/></marker></defs>',
    ]
    for name, step in steps.items():
        parts += [_line(layout.points(need, name)) for need in step.needs]
        if isinstance(step, GraphTask):
            parts += [_line(layout.points(name, to), dashed=True) for to in step.feedback_to]

    places = layout.places
    parts += [_box(step, places[name], states.get(name), text) for name, step in steps.items()]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _lines(step: GraphStep, state: str | None) -> list[str]:
    """Return the two lines of a box: the name, and who does it or what became of it."""
    if isinstance(step, GraphGate) and state == "input_required":
        return [step.id, "waits for a person"]

    second = "asks a person" if isinstance(step, GraphGate) else step.agent
    if isinstance(step, GraphTask) and step.optional and state is None:
        second += ", optional"
    return [step.id, f"{second}: {state.replace('_', ' ')}" if state is not None else second]


def _mermaid_text(text: str) -> str:
    # Within quotes only these two characters end the text or begin an entity.
    return text.replace("#", "#35;").replace('"', "#quot;")


class _Layout:
    """Where each step stands, and where lines that pass other rows go through those.

    `places` are the left upper corners of the boxes. Each wave is a row. A line to a row that is
    not the next one has a lane of its own in the rows between, as a box would hide it; the lines
    that leave one step share theirs.
    """

    def __init__(self, steps: Mapping[str, GraphStep]) -> None:
        waves = waves_of(steps)
        self._row = {name: row for row, wave in enumerate(waves) for name in wave}
        self.height = len(waves) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN

        lines = [(need, name) for name, step in steps.items() for need in step.needs]
        for name, step in steps.items():
            if isinstance(step, GraphTask):
                lines += [(name, to) for to in step.feedback_to]
        # Before the lanes, which are as many.
        pieces = sum(abs(self._row[end] - self._row[start]) for start, end in lines)
        if pieces > _MOST_PIECES:
            raise PictureTooLargeError(
                f"a picture of {len(steps):,} tasks and {len(lines):,} lines is too large; mermaid"
                " and jsonl (json for a plan) hold the whole graph"
            )
        lanes: list[dict[tuple[str, bool], list[str]]] = [{} for _ in waves]
        for start, end in lines:
            for row in self._between(start, end):
                lanes[row].setdefault((start, self._goes_up(start, end)), []).append(end)

        widths = [
            len(wave) * (_WIDTH + _GAP_X) + len(lanes[row]) * _GAP_X - _GAP_X
            for row, wave in enumerate(waves)
        ]
        self.width = max(widths) + 2 * _MARGIN
        # Where the boxes would stand without lanes: near enough to choose the side of a lane.
        rough = {
            name: (at + 0.5) / len(wave) * self.width
            for wave in waves
            for at, name in enumerate(wave)
        }

        self.places: dict[str, tuple[float, float]] = {}
        self._lanes: dict[tuple[int, str, bool], float] = {}
        for row, wave in enumerate(waves):
            wanted = {
                key: (rough[key[0]] + sum(rough[end] for end in ends) / len(ends)) / 2
                for key, ends in lanes[row].items()
            }
            x = (self.width - widths[row]) / 2
            left = sorted(wanted, key=lambda key: wanted[key])
            for name in wave:
                while left and wanted[left[0]] < rough[name]:
                    self._lanes[row, *left.pop(0)] = x
                    x += _GAP_X
                self.places[name] = (x, _MARGIN + row * (_HEIGHT + _GAP_Y))
                x += _WIDTH + _GAP_X
            for key in left:
                self._lanes[row, *key] = x
                x += _GAP_X

    def points(self, start: str, end: str) -> list[tuple[float, float]]:
        """Return the points of a line: its start, both ends of each lane, its end."""
        up = self._goes_up(start, end)
        # A line that goes up keeps a quarter of a box away from the one that goes down.
        across = _WIDTH * 3 / 4 if up else _WIDTH / 2
        (x1, y1), (x2, y2) = self.places[start], self.places[end]
        points = [(x1 + across, y1 if up else y1 + _HEIGHT)]
        for row in self._between(start, end):
            x = self._lanes[row, start, up]
            top = _MARGIN + row * (_HEIGHT + _GAP_Y)
            ends = [(x, top), (x, top + _HEIGHT)]
            points += ends[::-1] if up else ends

        # The point of the arrow stays in front of the box.
        points.append((x2 + across, y2 + _HEIGHT + 2 if up else y2 - 2))
        return points

    def _goes_up(self, start: str, end: str) -> bool:
        return self._row[end] < self._row[start]

    def _between(self, start: str, end: str) -> range:
        """Return the rows that a line passes, in its order."""
        first, last = self._row[start], self._row[end]
        return range(first - 1, last, -1) if last < first else range(first + 1, last)


def _line(points: Sequence[tuple[float, float]], *, dashed: bool = False) -> str:
    """Return a line that is bent between rows and straight within them."""
    (x, y), *others = points
    path = [f"M{x:g} {y:g}"]
    for at, (next_x, next_y) in enumerate(others):
        bend = (next_y - y) / 2
        path.append(
            f"C{x:g} {y + bend:g} {next_x:g} {next_y - bend:g} {next_x:g} {next_y:g}"
            if at % 2 == 0
            else f"L{next_x:g} {next_y:g}"
        )
        x, y = next_x, next_y

    style = ' stroke-dasharray="4 3"' if dashed else ""
    return (
        f'<path d="{" ".join(path)}" fill="none" stroke="{_OTHER}"{style} marker-end="url(#to)"/>'
    )


def _box(step: GraphStep, place: tuple[float, float], state: str | None, text: str | None) -> str:
    x, y = place
    color = _COLORS.get(state or "", _OTHER)
    name, second = (_short(line) for line in _lines(step, state))
    # Gates are round, so that they can be seen to be none without color.
    radius = _HEIGHT / 2 if isinstance(step, GraphGate) else 6
    middle = x + _WIDTH / 2
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="{radius:g}"'
        f' fill="{color}" fill-opacity="0.14" stroke="{color}" stroke-width="1.5"/>'
        f'<text x="{middle:g}" y="{y + 22:g}" text-anchor="middle" font-weight="600"'
        f' fill="{text or color}">{escape(name)}</text>'
        f'<text x="{middle:g}" y="{y + 39:g}" text-anchor="middle" font-size="12"'
        f' fill="{text or _OTHER}">{escape(second)}</text>'
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
