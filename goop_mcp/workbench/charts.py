"""Charts as SVG, made on the server: no script, readable in light and dark, and next to a table.

Colours are mid-tones with a contrast of 3 to 1 against white and against black; what a colour means
stands in the legend as a text. The texts take the colour of the page around them.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from markupsafe import Markup, escape

__all__ = ["COLOURS", "Colour", "columns", "meter"]

Colour = Literal["blue", "green", "orange", "violet"]

COLOURS: Final[Mapping[Colour, str]] = {
    "blue": "#2f7fc1",
    "green": "#3f9463",
    "orange": "#d1603d",
    "violet": "#7d63b8",
}
"""Orange is for what did not work."""

_WIDTH: Final = 440
_HEIGHT: Final = 220
_LEFT, _TOP, _BOTTOM = 48, 12, 46
_LABEL: Final = 62
_MOST_COLUMNS: Final = 53
_NEAR_THE_END: Final = 0.85


def columns(
    title: str, names: Sequence[str], series: Sequence[tuple[str, Colour, Sequence[int]]]
) -> Markup:
    """Return a chart with a stacked column for each name, of at most the last 53.

    `series` are labels, each with its colour and one number of at least 0 for each name.
    """
    names = names[-_MOST_COLUMNS:]
    values = [
        (label, COLOURS[colour], list(numbers)[-_MOST_COLUMNS:])
        for label, colour, numbers in series
    ]
    highest = max(
        (sum(column) for column in zip(*(each for *_, each in values), strict=True)), default=0
    )
    top = _nice(highest)
    step = (_WIDTH - _LEFT - 8) / max(len(names), 1)
    width = min(step * 0.7, 46)
    parts: list[Markup] = []

    for share in (0, 0.5, 1):
        y = _y(top * share, top)
        parts.append(
            Markup(
                '<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" stroke="#8a94a3"'
                ' stroke-width="0.5"/><text x="{}" y="{:.1f}" text-anchor="end">{}</text>'
            ).format(_LEFT, _WIDTH - 8, y, y, _LEFT - 6, y + 4, f"{top * share:g}")
        )

    # Labels that would overlap are left out; every column has its own as a tooltip.
    every = max(1, round(_LABEL / step + 0.49))
    for number, name in enumerate(names):
        x, below = _LEFT + step * number + (step - width) / 2, 0
        for label, colour, numbers in values:
            low, below = below, below + numbers[number]
            parts.append(
                Markup(
                    '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}">'
                    "<title>{}: {} {}</title></rect>"
                ).format(
                    x,
                    _y(below, top),
                    width,
                    _y(low, top) - _y(below, top),
                    colour,
                    name,
                    numbers[number],
                    label,
                )
            )

        if number % every == 0:
            parts.append(
                Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
                    x + width / 2, _HEIGHT - _BOTTOM + 18, name
                )
            )

    parts += _legend([(label, colour) for label, colour, _ in values])

    return _svg(title, _HEIGHT, parts)


def meter(title: str, share: float | None, marks: Sequence[tuple[str, float]]) -> Markup:
    """Return a bar for `share` (0 to 1, None for unknown) with marks at thresholds (0 to 1)."""
    inner, y, height = _WIDTH - 16, 30, 22
    parts = [
        Markup('<rect x="8" y="{}" width="{}" height="{}" fill="none" stroke="#8a94a3"/>').format(
            y, inner, height
        )
    ]
    if share is not None:
        parts.append(
            Markup('<rect x="8" y="{}" width="{:.1f}" height="{}" fill="{}"/>').format(
                y, inner * min(max(share, 0), 1), height, COLOURS["blue"]
            )
        )

    for number, (label, at) in enumerate(marks):
        x = 8 + inner * at
        parts.append(
            Markup(
                '<line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}" stroke="{}" stroke-width="2.5"/>'
                '<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>'
            ).format(
                x,
                x,
                y - 6,
                y + height + 6,
                COLOURS["orange"],
                x,
                # Two labels next to each other would overlap: every second one stands below.
                y + height + 20 if number % 2 else y - 12,
                "end" if at > _NEAR_THE_END else "middle",
                label,
            )
        )

    return _svg(title, 80, parts)


def _legend(labels: Sequence[tuple[str, str]]) -> list[Markup]:
    return [
        Markup(
            '<rect x="{}" y="{}" width="12" height="12" fill="{}"/><text x="{}" y="{}">{}</text>'
        ).format(_LEFT + 128 * at, _HEIGHT - 18, colour, _LEFT + 128 * at + 16, _HEIGHT - 7, label)
        for at, (label, colour) in enumerate(labels)
    ]


def _y(value: float, top: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - value / top)


def _nice(highest: float) -> int:
    """Return the smallest of 2, 4, 10, 20, 40, 100 … that is not below `highest`."""
    size = 1
    while True:
        for step in (2, 4, 10):
            if step * size >= highest:
                return step * size
        size *= 10


def _svg(title: str, height: int, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        _WIDTH, height, escape(title), Markup("").join(parts)
    )
