"""The page about the visual style is made of the templates."""

import re
import subprocess
import sys

from goop_mcp.messages import STYLE_VERSION, VISUAL_STYLE_RULES, check_message
from goop_mcp.services.protocol_pages import read_document
from tests.documentation.visual_style_page import visual_style_markdown
from tests.repository import ROOT
from tests.requirements import requirement


def test_the_generated_page_is_up_to_date() -> None:
    assert read_document("visual_style") == visual_style_markdown(), (
        "the page is stale; write it again with: make docs"
    )


def test_the_module_prints_the_page() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "tests.documentation.visual_style_page"]
    result = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8", timeout=300
    )
    assert result.stdout == visual_style_markdown()


@requirement("V-18")
def test_the_docs_resource_shows_the_version_of_the_style() -> None:
    assert STYLE_VERSION == "0.2.0"
    assert read_document("visual_style").startswith(f"# The visual style, v{STYLE_VERSION}\n")


def test_every_message_of_the_page_is_in_the_style() -> None:
    samples = re.findall(
        r"^````markdown\n(.*?)^````$", visual_style_markdown(), re.DOTALL | re.MULTILINE
    )

    assert len(samples) == 8
    assert [check_message(sample) for sample in samples] == [()] * 8


def test_every_rule_of_the_style_stands_on_the_page() -> None:
    page = visual_style_markdown()

    assert all(f"| `{rule.id}` | {rule.catches} |" in page for rule in VISUAL_STYLE_RULES)
