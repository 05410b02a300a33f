"""References to decisions and requirements lead to existing headings."""

import re
import tomllib

import goop_mcp
from tests.documentation.pages import DOCS
from tests.repository import ROOT
from tests.requirements import load_ledger
from tests.requirements.__main__ import requirements_page

DECISIONS = (DOCS / "decisions.md").read_text(encoding="utf-8")
DECISION = re.compile(r"\bD-\d{2,3}\b")
REQUIREMENT = re.compile(r"\b[GPVSFH]-\d{2}\b")


def test_every_decision_that_is_referred_to_has_its_heading() -> None:
    headings = set(re.findall(r"^### (D-\d+)$", DECISIONS, re.MULTILINE))
    sources = [
        path
        for folder in ("goop_mcp", "tests", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    ]
    texts = [*sources, *DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("*.toml")]
    dangling = {
        f"{path.relative_to(ROOT)}: {id}"
        for path in texts
        for id in DECISION.findall(path.read_text(encoding="utf-8"))
        if id not in headings
    }
    assert dangling == set()


def test_every_function_that_the_architecture_page_names_in_its_table_exists() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page[page.index("| step | functions |") :].split("\n\n")[0]
    functions = [line.split("|")[2] for line in table.splitlines()[2:]]
    named = {name for cell in functions for name in re.findall(r"`(?:\w+\.)?(\w+)`", cell)}
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "goop_mcp").rglob("*.py")
    )

    assert len(named) > 10
    assert {name for name in named if not re.search(rf"(?:def|class) {name}\b", sources)} == set()


def test_every_make_target_is_in_the_list_of_make_and_in_the_table_of_contributing() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)", makefile, re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].replace("\\", " ").split()) - {"help"}
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

    assert len(targets) > 20
    assert {name for name in targets if f'@echo "make {name} ' not in makefile} == set()
    assert {name for name in targets if f"| `make {name}` |" not in table} == set()


def test_every_file_that_the_pages_for_contributors_name_exists() -> None:
    pages = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in ("CONTRIBUTING.md", "docs/architecture.md", "docs/writing-rules.md")
    }
    named = {
        (page, path)
        for page, text in pages.items()
        for path in re.findall(
            r"`((?:goop_mcp|tests|docs|prompts|schemas|packaging)/[\w./-]*)`", text
        )
    }

    assert len(named) > 40
    assert {each for each in named if not (ROOT / each[1]).exists()} == set()


def test_each_decision_stands_once_and_in_order() -> None:
    numbers = [int(number) for number in re.findall(r"^### D-(\d+)$", DECISIONS, re.MULTILINE)]
    # A number may be that of a decision of the specification that is not carried out yet.
    assert numbers == sorted(set(numbers))


def test_every_requirement_that_a_decision_names_is_in_the_ledger() -> None:
    assert set(REQUIREMENT.findall(DECISIONS)) - load_ledger().keys() == set()


def test_the_page_of_requirements_is_the_ledger() -> None:
    page = (DOCS / "requirements.md").read_text(encoding="utf-8")
    assert page == requirements_page(), "run make docs"


def test_the_architecture_page_and_its_diagram_show_every_module_of_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract["id"] == "layers")
    modules = set(re.findall(r"\((\w+)\)", " ".join(layers))) - {"__main__"}
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    diagram = (DOCS / "_static" / "layers.svg").read_text(encoding="utf-8")

    assert len(modules) > 15
    assert {name for name in modules if f"`{name}`" not in page} == set()
    assert {name for name in modules if f">{name}<" not in diagram} == set()


def test_the_page_of_the_python_api_has_everything_that_is_exported() -> None:
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    shown = re.findall(
        r"^\.\. auto(?:function|class|exception):: goop_mcp\.(\w+)$", page, re.MULTILINE
    )

    assert sorted(shown) == sorted(set(goop_mcp.__all__) - {"__version__"})
