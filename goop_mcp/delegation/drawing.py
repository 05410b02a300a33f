"""A graph as a picture: Mermaid for pages that draw it themselves, and SVG for all others.

Both are the same for the same graph and states, byte for byte. The SVG has no script, no link and
no font of its own, and its colors are readable on a light and on a dark page.
"""

from collections.abc import Mapping
from html import escape
from typing import Final

from goop_mcp.delegation.graph import Graph, waves_of
from goop_mcp.delegation.parts import GraphGate, GraphStep, GraphTask

__all__ = ["draw_mermaid", "draw_svg"]

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
_NONE_ADDED: Final[Mapping[str, GraphStep]] = {}


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
    has the color of its text; otherwise its colors are readable on light and on dark.
    """
    states, steps = states or {}, {**graph.steps, **added}
    text = "currentColor" if in_page else None
    waves = waves_of(steps)
    widest = max(len(wave) for wave in waves)
    width = widest * (_WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN
    height = len(waves) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN

    places: dict[str, tuple[float, float]] = {}
    for row, wave in enumerate(waves):
        left = (width - len(wave) * (_WIDTH + _GAP_X) + _GAP_X) / 2
        for column, name in enumerate(wave):
            y = _MARGIN + row * (_HEIGHT + _GAP_Y)
            places[name] = (left + column * (_WIDTH + _GAP_X), y)

    title = escape(f"The graph {graph.name}: {len(steps)} tasks and gates")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img" aria-label="{title}"'
        ' font-family="system-ui, sans-serif" font-size="13">',
        f"<title>{title}</title>",
        '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
        f' orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{_OTHER}"/></marker></defs>',
    ]
    for name, step in steps.items():
        parts += [_edge(places[need], places[name]) for need in step.needs]
        if isinstance(step, GraphTask):
            parts += [_feedback(places[name], places[to]) for to in step.feedback_to]

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


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    x1, y1 = start[0] + _WIDTH / 2, start[1] + _HEIGHT
    x2, y2 = end[0] + _WIDTH / 2, end[1] - 2
    bend = (y2 - y1) / 2
    path = f"M{x1:g} {y1:g} C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"
    return f'<path d="{path}" fill="none" stroke="{_OTHER}" marker-end="url(#to)"/>'


def _feedback(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Return a dashed line from the top of a task up to the bottom of an earlier one.

    It keeps a quarter of a box away from the line that goes down between them.
    """
    x1, y1 = start[0] + _WIDTH * 3 / 4, start[1]
    x2, y2 = end[0] + _WIDTH * 3 / 4, end[1] + _HEIGHT + 2
    bend = (y1 - y2) / 2
    path = f"M{x1:g} {y1:g} C{x1:g} {y1 - bend:g} {x2:g} {y2 + bend:g} {x2:g} {y2:g}"
    return (
        f'<path d="{path}" fill="none" stroke="{_OTHER}" stroke-dasharray="4 3"'
        ' marker-end="url(#to)"/>'
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
