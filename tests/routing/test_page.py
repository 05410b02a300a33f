"""docs/routing.md is made of the tables."""

import subprocess
import sys

import pytest

from goop_mcp.routing.table import ROWS
from tests.documentation.routing_page import routing_markdown
from tests.repository import ROOT


def test_the_generated_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "routing.md").read_text(encoding="utf-8")
    assert written == routing_markdown(), "docs/routing.md is stale; write it again with: make docs"


def test_the_module_prints_the_page() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "tests.documentation.routing_page"]
    result = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8", timeout=300
    )
    assert result.stdout == routing_markdown()


@pytest.mark.parametrize("page", ["rules.md", "routing.md", "workflow.md"])
def test_make_docs_writes_the_page(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"> docs/{page}.new" in makefile


def test_every_row_stands_on_the_page() -> None:
    page = routing_markdown()
    assert all(f"\n| {row.rule} | {row.when} | " in page for row in ROWS)


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    for table in routing_markdown().replace("\\|", "").split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1
