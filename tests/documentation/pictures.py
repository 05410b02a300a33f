"""The pictures of the documentation: a recording, a chart of a benchmark, diagrams.

`python -m tests.documentation.pictures` writes them; a test compares them with what it would write.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from tests.cli.running import PROGRAM, TERMINAL_COLUMNS, run_command_on_terminal
from tests.documentation.diagrams import DIAGRAMS, render_diagram
from tests.documentation.pages import DOCS, fences, read_page

__all__ = ["PICTURES", "corrected"]

# The terminal

_COLUMNS: Final = TERMINAL_COLUMNS
_CELL: Final = 8.4
_LINE: Final = 19
_FONT: Final = 14
_MARGIN: Final = 18
_BAR: Final = 34
_BACKGROUND, _TEXT, _DIM = "#15191f", "#d5dbe3", "#8a94a3"
_COLOURS: Final = {
    1: ("red", "#ff8a80"),
    2: ("green", "#7ddba0"),
    3: ("yellow", "#ffd479"),
    4: ("blue", "#8ab4ff"),
    5: ("magenta", "#e0a3ff"),
    6: ("cyan", "#7fd4ff"),
}
"""By the number that stands in an escape sequence after 3."""
_UNTIL_OUTPUT: Final = 1.0
"""Seconds between a command and its output."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A command with its output, styled, and how long it is shown, in seconds."""

    command: str
    output: str
    seconds: float

    @property
    def rows(self) -> int:
        return 2 + self.output.count("\n")


def corrected(reply: str) -> str:
    """Return the reply of README as the agent sends it again."""
    return reply.replace("FAILED", "BLOCKED").replace(
        "<next_action>", '<next_action agent="goop-debugger">'
    )


def _scenes() -> Iterator[Scene]:
    """Run the commands on a terminal, on the reply of README."""
    (reply,) = fences("README.md", "xml")
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "reply.md").write_text(reply.text, encoding="utf-8")
        (folder / "again.md").write_text(corrected(reply.text), encoding="utf-8")
        for words, seconds in (
            (["check", "reply.md"], 9),
            (["check", "again.md"], 5),
            (["route", "again.md"], 7),
        ):
            ended = run_command_on_terminal([*PROGRAM, *words], cwd=folder)
            yield Scene(f"goop-mcp {' '.join(words)}", ended.out.replace("\r\n", "\n"), seconds)


def render_recording(scenes: Sequence[Scene], *, title: str, description: str) -> str:
    """Return an SVG that shows the scenes one after the other, again and again.

    Somebody whose system asks for less motion sees the first scene only.
    """
    rows = max(scene.rows for scene in scenes)
    # A terminal would continue a longer line in the next row.
    longest = max(len(line) for scene in scenes for line in Text.from_ansi(scene.output).split())
    width = 2 * _MARGIN + max(longest, _COLUMNS) * _CELL
    height = _BAR + _MARGIN + rows * _LINE
    total = sum(scene.seconds for scene in scenes)
    starts = [0.0, *accumulate(scene.seconds for scene in scenes)]

    styles = [
        f"text {{ font: {_FONT}px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace;"
        f" fill: {_TEXT}; white-space: pre; }}",
        ".b { font-weight: 700; }",
        f".d {{ fill: {_DIM}; }}",
        *(f".{name} {{ fill: {colour}; }}" for name, colour in _COLOURS.values()),
    ]
    groups = []
    for number, scene in enumerate(scenes):
        begin, end = starts[number], starts[number + 1]
        for part, seen in (("c", begin), ("o", begin + _UNTIL_OUTPUT)):
            name = f"{part}{number}"
            first, last = 100 * seen / total, 100 * end / total
            frames = f"{first:.2f}% {{ opacity: 1 }} {last:.2f}% {{ opacity: 0 }}"
            if first > 0:
                frames = f"0% {{ opacity: 0 }} {frames}"
            styles += [
                f"@keyframes {name} {{ {frames} 100% {{ opacity: 0 }} }}",
                # One step: a terminal does not fade.
                f".{name} {{ animation: {name} {total:g}s step-end infinite; }}",
            ]
        command = _line(Text.assemble(("$", "green"), f" {scene.command}"), 0)
        groups += [
            f'<g class="c{number}">{command}</g>',
            f'<g class="o{number}">{"".join(_lines(scene.output))}</g>',
        ]
    later = ", ".join(f".c{number}, .o{number}" for number in range(1, len(scenes)))
    styles.append(
        "@media (prefers-reduced-motion: reduce) {"
        f" g {{ animation: none !important; }} {later} {{ opacity: 0; }} }}"
    )

    dots = "".join(
        f'<circle cx="{_MARGIN + 16 * place}" cy="17" r="5" fill="#4a5362"/>' for place in range(3)
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"'
            f' width="{width:g}" height="{height:g}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="desc">{escape(description)}</desc>',
            f"<style>{' '.join(styles)}</style>",
            f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{_BACKGROUND}"/>',
            dots,
            *groups,
            "</svg>",
            "",
        ]
    )


def _lines(output: str) -> Iterator[str]:
    for row, line in enumerate(Text.from_ansi(output).split("\n", allow_blank=True), start=1):
        yield _line(line, row)


def _line(text: Text, row: int) -> str:
    """Return a line of the terminal as SVG; its spans keep to the cells in any font."""
    y = _BAR + _FONT + row * _LINE
    spans, cell = [], 0
    for segment in text.render(Console(width=2 * _COLUMNS, color_system="standard")):
        content = segment.text.rstrip("\n")
        if content.strip():
            length = Segment(content).cell_length
            spans.append(
                f'<tspan x="{_MARGIN + cell * _CELL:g}" textLength="{length * _CELL:g}"'
                f' lengthAdjust="spacingAndGlyphs"{_class(segment.style)}>{escape(content)}</tspan>'
            )
        cell += Segment(content).cell_length

    return f'<text y="{y}" xml:space="preserve">{"".join(spans)}</text>' if spans else ""


def _class(style: Style | None) -> str:
    names = []
    if style is not None:
        number = style.color.number if style.color is not None else None
        names = [
            *(["b"] if style.bold else []),
            *(["d"] if style.dim else []),
            *([_COLOURS[number][0]] if number in _COLOURS else []),
        ]

    return f' class="{" ".join(names)}"' if names else ""


def render_demo() -> str:
    return render_recording(
        list(_scenes()),
        title="goop-mcp in a terminal",
        description="A reply is rejected with two errors; corrected, it is accepted;"
        " then the next step is decided.",
    )


def _recorded(name: str, *seconds: float) -> list[Scene]:
    """Return the scenes of real clients, each with how long it is shown; `make e2e` compares them.

    They are kept, since not everybody who makes the pictures has the clients.
    """
    text = (Path(__file__).parent / "recorded" / f"{name}.json").read_text(encoding="utf-8")
    return [
        # Few fonts have the corner that Claude Code draws; this one looks the same and all have it.
        Scene(each["command"], each["output"].replace("⎿", "└"), shown)
        for each, shown in zip(json.loads(text), seconds, strict=True)
    ]


def render_delegation() -> str:
    """Return the recording of tests/e2e/test_delegate.py."""
    return render_recording(
        _recorded("delegate", 12, 5, 12),
        title="goop-mcp delegate in a terminal",
        description="A plan is made, three executors work, one fails and one asks a person; after"
        " the answer the review sends one back, and the tests pass.",
    )


def render_claude_code() -> str:
    """Return the recording of tests/e2e/test_pictures.py."""
    return render_recording(
        _recorded("claude-code", 12, 7),
        title="Claude Code with the hooks of goop-mcp",
        description="The agent ends with a report whose status is FINISHED; the hook sends it back"
        " with line 4 and the four statuses; the agent reports again with COMPLETE.",
    )


def render_opencode() -> str:
    """Return the recording of tests/e2e/test_pictures.py."""
    return render_recording(
        _recorded("opencode", 14, 5),
        title="OpenCode with the plugin of goop-mcp",
        description="The conversation of a subagent: it ends without a report, is sent the form of"
        " one, and reports with COMPLETE; then its task is done in the main conversation.",
    )


# The chart

_ROW: Final = 30
_NAMES: Final = 330
_PANEL: Final = 220
_GAP: Final = 44
_NUMBER: Final = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Reader:
    """What a library did with the corpus: counts, each with the number of replies of that kind."""

    name: str
    accepted: tuple[int, int]
    lost: tuple[int, int]


def _readers(head: str) -> list[Reader]:
    """Read the table of docs/performance.md whose first cell is `head`."""
    page = read_page("docs/performance.md")
    start = page.index(f"| {head} | read, of ")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page[start : page.index("\n\n", start)].splitlines()
    ]
    readable, repairable, refusable = (int(_NUMBER.findall(cell)[0]) for cell in rows[0][1:4])

    return [
        Reader(
            name=re.sub("[*`]", "", row[0]),
            accepted=(refusable - int(row[3]), refusable),
            lost=(
                readable + repairable - int(row[1]) - int(_NUMBER.findall(row[2])[0]),
                readable + repairable,
            ),
        )
        for row in rows[2:]
    ]


def render_chart() -> str:
    """Return bars for each library: broken replies accepted, and usable ones lost."""
    groups = [("JSON", _readers("JSON")), ("XML", _readers("XML"))]
    width = _NAMES + 2 * _PANEL + _GAP + 70
    body, y = [], 58
    for kind, readers in groups:
        body.append(f'<text class="kind" x="16" y="{y}">{kind}</text>')
        y += 12
        for reader in readers:
            ours = reader.name == "goop-mcp"
            body.append(
                f'<text class="{"ours" if ours else "name"}" x="16" y="{y + 16}">'
                f"{escape(reader.name)}</text>"
            )
            for panel, (count, of) in enumerate((reader.accepted, reader.lost)):
                x = _NAMES + panel * (_PANEL + _GAP)
                length = max(_PANEL * count / of, 2)
                body += [
                    f'<rect class="{"good" if count == 0 else "bad" if panel == 0 else "lost"}"'
                    f' x="{x}" y="{y + 4}" width="{length:.1f}" height="16" rx="2"/>',
                    f'<text class="number" x="{x + length + 6:.1f}" y="{y + 17}">'
                    f"{count} of {of}</text>",
                ]
            y += _ROW
        y += 26
    height = y - 10

    return "\n".join(
        [
            *_head_of_chart(
                width,
                height,
                "Broken replies accepted and usable replies lost, by library",
                _in_words(groups),
            ),
            f'<text class="head" x="{_NAMES}" y="28">broken replies accepted</text>',
            f'<text class="head" x="{_NAMES + _PANEL + _GAP}" y="28">usable replies lost</text>',
            *body,
            "</svg>",
            "",
        ]
    )


def _head_of_chart(width: int, height: int, title: str, description: str) -> list[str]:
    """Return the start of a chart, with the colours of light and of dark pages."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
        "<style>",
        "text { font: 14px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;"
        " fill: #1c2733; }",
        ".head, .ours, .kind { font-weight: 600; } .number, .kind { fill: #4a5a6a; }",
        ".good { fill: #2e7d4f; } .bad { fill: #c0392b; } .lost { fill: #b98a45; }",
        ".page { fill: #ffffff; } .mark { fill: #1c2733; }",
        "@media (prefers-color-scheme: dark) { text { fill: #e3e8ee; }"
        " .number, .kind { fill: #a9b4c0; } .page { fill: #131820; } .mark { fill: #e3e8ee; }"
        " .good { fill: #5fbf87; } .bad { fill: #ff8a80; } .lost { fill: #e0b56a; } }",
        "</style>",
        f'<rect class="page" width="{width}" height="{height}" rx="8"/>',
    ]


def _in_words(groups: Sequence[tuple[str, Sequence[Reader]]]) -> str:
    return " ".join(
        f"{kind}, {reader.name}: {reader.accepted[0]} of {reader.accepted[1]} broken replies"
        f" accepted, {reader.lost[0]} of {reader.lost[1]} usable ones lost."
        for kind, readers in groups
        for reader in readers
    )


_TIMES: Final = re.compile(r"((?:[\d.]+ (?:and|to) )?[\d.]+) ×")
_DECIMAL: Final = re.compile(r"\d+(?:\.\d+)?")
_COST_NAMES: Final = 560
_LONGEST_NAME: Final = 76


def render_costs() -> str:
    """Return bars for what is measured against a floor: how much of its largest cost is used.

    Each bar is the value divided by the value from which it counts as a defect, with a mark at the
    goal: so rows with other floors stand on one scale.
    """
    rows = []
    for line in read_page("docs/performance.md").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4 or not all(_TIMES.search(cell) for cell in cells[1:]):
            continue
        # Of several runs, as in "8.8 and 6.2 ×", the worst one counts.
        value, goal, defect = (
            max(float(each) for found in _TIMES.findall(cell) for each in _DECIMAL.findall(found))
            for cell in cells[1:]
        )
        rows.append((re.sub("[*`]", "", cells[0]), value, goal, defect))

    width, body = _COST_NAMES + _PANEL + 90, []
    for number, (name, value, goal, defect) in enumerate(rows):
        y = 44 + number * _ROW
        # A value over the largest allowed one ends at the edge; its number says how far it is over.
        length = _PANEL * min(value / defect, 1.1)
        mark = _COST_NAMES + _PANEL * goal / defect
        shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        body += [
            f'<text class="name" x="16" y="{y + 16}">{escape(shown)}</text>',
            f'<rect class="{"good" if value <= goal else "lost" if value <= defect else "bad"}"'
            f' x="{_COST_NAMES}" y="{y + 4}" width="{length:.1f}" height="16" rx="2"/>',
            f'<rect class="mark" x="{mark:.1f}" y="{y}" width="2" height="24"/>',
            f'<text class="number" x="{_COST_NAMES + 1.1 * _PANEL + 6:.1f}" y="{y + 17}">'
            f"{value:g} ×</text>",
        ]
    height = 54 + len(rows) * _ROW
    words = " ".join(f"{row[0]}: {row[1]:g}, goal {row[2]:g}, at most {row[3]:g}." for row in rows)

    return "\n".join(
        [
            *_head_of_chart(width, height, "Measured costs and their bounds", words),
            f'<text class="head" x="{_COST_NAMES}" y="28">worst run; the line is the goal</text>',
            *body,
            "</svg>",
            "",
        ]
    )


PICTURES: Final[Mapping[str, Callable[[], str]]] = {
    "claude-code.svg": render_claude_code,
    "costs.svg": render_costs,
    "delegate.svg": render_delegation,
    "demo.svg": render_demo,
    "libraries.svg": render_chart,
    "opencode.svg": render_opencode,
    **{file: partial(render_diagram, diagram) for file, diagram in DIAGRAMS.items()},
}

if __name__ == "__main__":
    for file, render in PICTURES.items():
        (DOCS / "_static" / file).write_text(render(), encoding="utf-8")
