"""Which shell line proves which kind of check."""

import json

import pytest

from goop_mcp.evidence import ObservedCommand
from goop_mcp.evidence.attribution import attribute
from goop_mcp.evidence.shell import parts_of
from goop_mcp.evidence.shell.reading import LINE_CHARACTERS
from tests.growth import assert_linear
from tests.repository import ROOT

CASES = [
    json.loads(line)
    for line in (ROOT / "tests" / "cases" / "evidence" / "shell_lines.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]


def proven_kinds(line: str, output: str) -> list[str]:
    runs = attribute(ObservedCommand(position=0, line=line, status=0, output=output)).runs
    return sorted(kind for run in runs if run.outcome == "passed" for kind in run.kinds)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["line"][:60])
def test_a_line_proves_what_its_exit_status_speaks_for(case: dict[str, object]) -> None:
    proven = proven_kinds(str(case["line"]), str(case.get("output", "")))
    assert proven == case["proves"], case.get("note")


def test_there_are_enough_lines_of_both_sorts() -> None:
    proving = [case for case in CASES if case["proves"]]
    assert len(proving) >= 60
    assert len(CASES) - len(proving) >= 60
    assert len({case["line"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize(
    "line",
    ["pytest 'x", 'pytest "x', "pytest $(x", "if pytest", "case x", "pytest )", "&& pytest", "{ a"],
)
def test_a_line_that_is_no_shell_syntax_proves_nothing(line: str) -> None:
    assert parts_of(line) is None


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        "$(",
        "`",
        "{ ",
        "pytest; ",
        "pytest && ",
        "pytest | ",
        '"',
        "'",
        "a\\",
        "<<x\n",
        "${",
        "if pytest; then ",
        "[[ ",
        "((",
        "eval ",
        "bash -c ",
        "! ",
        "a=(",
        "$'",
        "<(",
    ],
)
def test_the_time_is_linear_in_a_hostile_line(unit: str) -> None:
    assert_linear(
        parts_of,
        lambda length: (unit * length)[:length],
        sizes=(LINE_CHARACTERS // 8, LINE_CHARACTERS),
    )
