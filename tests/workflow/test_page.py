"""docs/workflow.md is made of the tables."""

import subprocess
import sys

from goop_mcp.workflow.commands import KNOWN_COMMANDS
from goop_mcp.workflow.gates import GATES
from tests.documentation.workflow_page import workflow_markdown
from tests.repository import ROOT


def test_the_generated_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "workflow.md").read_text(encoding="utf-8")
    assert written == workflow_markdown(), (
        "docs/workflow.md is stale; write it again with: make docs"
    )


def test_the_module_prints_the_page() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "tests.documentation.workflow_page"]
    result = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8", timeout=300
    )
    assert result.stdout == workflow_markdown()


def test_every_gate_and_command_stands_on_the_page() -> None:
    page = workflow_markdown()

    assert all(f"\n| {gate} | " in page for gate in GATES)
    assert all(f"\n| `{command}` | " in page for command in KNOWN_COMMANDS)


def test_every_row_of_a_table_has_as_many_cells_as_its_head() -> None:
    for table in workflow_markdown().split("\n\n"):
        rows = [line for line in table.splitlines() if line.startswith("|")]
        assert len({row.count("|") for row in rows}) <= 1
