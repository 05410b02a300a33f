import json
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from lxml import etree

from goop_mcp.delegation.drawing import PictureTooLargeError, draw_mermaid, draw_svg
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphAgent, GraphTask
from goop_mcp.services.runs import draw_run, read_view
from tests.cli.running import run
from tests.delegation.graphs import write_login
from tests.delegation.runners import Place

STATES = {"plan": "accepted", "api": "running", "ui": "input_required", "docs": "failed"}
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph.load(write_login(tmp_path))


def contrast(color: str, other: str) -> float:
    """Return the contrast of WCAG 2 between two colors of six hexadecimal digits."""

    def luminance(text: str) -> float:
        parts = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(color), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_every_task_and_edge_is_drawn(graph: Graph) -> None:
    root = etree.fromstring(draw_svg(graph, STATES).encode())
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert texts[::2] == ["plan", "api", "ui", "docs", "review", "ship"]
    assert texts[1::2][:4] == [
        "planner: accepted",
        "executor: running",
        "executor: input required",
        "executor: failed",
    ]
    lines = [each for each in root.iter(f"{SVG}path") if each.get("fill") == "none"]
    assert len(lines) == 7 + 2
    assert len([each for each in lines if each.get("stroke-dasharray")]) == 2


def test_it_fits_into_its_frame_and_can_be_read_on_light_and_dark(graph: Graph) -> None:
    root = etree.fromstring(draw_svg(graph, STATES).encode())
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", 0)) + float(box.get("width", 0)) <= width
        assert float(box.get("y", 0)) + float(box.get("height", 0)) <= height

    colors = {each.get("fill") for each in root.iter(f"{SVG}text")}
    for color in colors:
        assert color is not None
        assert contrast(color, "#ffffff") >= 3
        assert contrast(color, "#14181d") >= 3


def test_the_same_graph_is_the_same_picture(graph: Graph) -> None:
    assert draw_svg(graph, STATES) == draw_svg(Graph.from_dict(graph.to_dict()), dict(STATES))
    assert draw_mermaid(graph) == draw_mermaid(Graph.from_dict(graph.to_dict()))


def test_mermaid_has_its_own_ids_as_names_may_be_words_of_it(graph: Graph) -> None:
    lines = draw_mermaid(graph, STATES).splitlines()
    assert lines[0] == "flowchart TD"
    assert '  n0["plan<br/>planner: accepted"]' in lines
    assert '  n5{{"ship<br/>asks a person"}}' in lines
    assert "  n4 -. feedback .-> n1" in lines

    tasks = (GraphTask("end", agent="a"), GraphTask("graph", agent="a", needs=("end",)))
    drawn = draw_mermaid(Graph(name="x", agents=(GraphAgent("a"),), tasks=tasks))
    assert "  n0 --> n1" in drawn.splitlines()


@pytest.mark.parametrize("seed", range(20))
def test_no_line_is_hidden_by_a_box(seed: int) -> None:
    chance = random.Random(seed)
    names = [f"t{number}" for number in range(12)]
    tasks = tuple(
        GraphTask(
            name,
            agent="a",
            needs=tuple(chance.sample(names[:at], min(at, chance.randint(0, 3)))),
        )
        for at, name in enumerate(names)
    )
    graph = Graph(name="g", agents=(GraphAgent("a", run="command", command=("x",)),), tasks=tasks)
    picture = etree.fromstring(draw_svg(graph).encode())
    boxes = [(float(box.get("x", 0)), float(box.get("y", 0))) for box in picture.iter(f"{SVG}rect")]
    lines = [path.get("d", "") for path in picture.iter(f"{SVG}path") if path.get("fill") == "none"]

    assert len(boxes) == len(names)
    assert len(lines) == sum(len(task.needs) for task in tasks)
    for line in lines:
        for x, y in points_of(line):
            assert not any(
                left + 1 < x < left + 179 and top + 1 < y < top + 51 for left, top in boxes
            ), (line, x, y)


def points_of(path: str) -> Iterator[tuple[float, float]]:
    """Yield points along a path of moves, lines and Bézier curves, in absolute coordinates."""
    here = (0.0, 0.0)
    for part in re.findall(r"[MLC][^MLC]*", path):
        numbers = [float(each) for each in part[1:].split()]
        ends = [here, *zip(numbers[::2], numbers[1::2], strict=True)]
        for step in range(21):
            left = ends if part[0] != "M" else ends[1:]
            # De Casteljau: the same for lines and curves.
            while len(left) > 1:
                share = step / 20
                left = [
                    (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
                    for a, b in pairwise(left)
                ]
            yield left[0]
        here = ends[-1]


def ladder(count: int) -> Graph:
    """Return a graph in which each task needs all that come before it."""
    names = [f"t{number}" for number in range(count)]
    return Graph(
        name="ladder",
        agents=(GraphAgent("one", run="person"),),
        tasks=tuple(
            GraphTask(name, agent="one", needs=tuple(names[:at])) for at, name in enumerate(names)
        ),
    )


def test_a_picture_that_nobody_could_open_is_refused_with_what_to_do(tmp_path: Path) -> None:
    # 44 tasks are 14,190 pieces of lines, 120 are 287,980.
    assert len(draw_svg(ladder(44))) < 2_000_000
    with pytest.raises(PictureTooLargeError, match=r"120 tasks and 7,140 lines .* mermaid"):
        draw_svg(ladder(120))

    graph = tmp_path / "ladder.json"
    graph.write_text(json.dumps(ladder(120).to_dict()))
    ended = run("delegate", graph, "--plan", "--format", "svg", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert "mermaid" in ended.err

    with Place(tmp_path, None) as place:
        run_id = place.ledger.create(ladder(120), input={})
        assert draw_run(place.store, read_view(place.store, run_id)) is None
        with_page = place.ledger.create(ladder(70), input={})
        assert draw_run(place.store, read_view(place.store, with_page)) is None
    page = run("runs", "export", run_id, "--as", "html", cwd=tmp_path)
    assert page.code == 0
    assert "is too large" in page.out
    assert "<td>t119</td>" in page.out
