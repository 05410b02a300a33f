"""No example of a page is left out: a test runs it, or a reason says why none can."""

import ast
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.documentation.pages import PAGES, Fence, fences
from tests.repository import ROOT

LISTED = tomllib.loads(Path(__file__).with_name("examples.toml").read_text(encoding="utf-8"))
EXAMPLES: list[dict[str, Any]] = LISTED["example"]
SHOWN = [
    (page, fence)
    for page in PAGES
    for fence in fences(page)
    if not fence.language.startswith("{")  # a directive, which the site is built with
]


def is_meant(example: dict[str, Any], page: str, fence: Fence) -> bool:
    return (example["page"], example["language"]) == (page, fence.language) and (
        fence.text.startswith(example.get("begins", ""))
    )


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_each_example_of_each_page_is_listed_once() -> None:
    wrong = {
        f"{page}: {fence.language}: {fence.text[:60]!r}": count
        for page, fence in SHOWN
        if (count := sum(is_meant(example, page, fence) for example in EXAMPLES)) != 1
    }
    assert len(SHOWN) > 150
    assert wrong == {}, "list it in tests/documentation/examples.toml"


def test_each_line_of_the_list_is_about_one_example_unless_its_test_takes_all() -> None:
    found = Counter(
        number
        for page, fence in SHOWN
        for number, example in enumerate(EXAMPLES)
        if is_meant(example, page, fence)
    )
    assert [
        (example, found[number])
        for number, example in enumerate(EXAMPLES)
        if not (found[number] == 1 or (example.get("every") and found[number]))
    ] == []


@pytest.mark.parametrize("test", sorted({each["test"] for each in EXAMPLES if "test" in each}))
def test_the_test_that_is_named_exists(test: str) -> None:
    file, _, name = test.partition("::")
    assert name in functions_of(file)


def test_each_example_has_a_test_or_a_reason_and_nearly_all_have_a_test() -> None:
    assert [each for each in EXAMPLES if ("test" in each) == ("reason" in each)] == []
    unrun = [each for each in EXAMPLES if "reason" in each]
    # A drawing; what starts Claude Code, containers, and a service of the machine.
    assert len(unrun) <= 4
