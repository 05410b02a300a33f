"""The pages about the protocols say what the program does."""

import re

import pytest

from goop_mcp import Severity, validate
from goop_mcp.errors import UnknownNameError
from goop_mcp.protocols import RULES
from goop_mcp.services.prompts import render_prompt
from goop_mcp.services.protocol_pages import list_documents, read_document

PAGE = read_document("goop_report")
# The element <memory> bears the name of a family of rules.
PATHS_NAMED_LIKE_RULES = {"memory/saved"}
MODES_DIFFER = {
    rule.id
    for rule in RULES.values()
    if rule.lenient is not rule.strict
    and rule.family in ("envelope", "xml", "goop_report", "subagent_protocol")
}


def _section(title: str) -> str:
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert section, f"the page has no section {title!r}"
    return section


def test_the_page_of_a_protocol_is_found() -> None:
    assert "goop_report" in list_documents()
    assert PAGE.startswith("# The `goop_report` envelope")


@pytest.mark.parametrize("name", ["goop-report", "", "../rules", "goop_report.md"])
def test_a_protocol_without_a_page_is_refused(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"there is no document .*goop_report"):
        read_document(name)


def test_the_example_is_accepted_in_strict_mode_without_a_remark() -> None:
    (example,) = re.findall(r"```xml\n(<goop_report.*?)```", PAGE, re.DOTALL)
    verdict = validate(example, protocol="goop_report", mode="strict")
    assert verdict.accepted
    assert verdict.findings == ()


def test_the_table_of_repairs_names_every_rule_that_repairs() -> None:
    table = "".join(
        line for line in _section("Lenient and strict").splitlines() if line.startswith("|")
    )
    repairs = set(re.findall(r"`([a-z_]+/[a-z-]+)`", table))
    assert repairs == MODES_DIFFER - {
        "goop_report/complete-with-failed-check",
        "goop_report/check-without-result",
        "goop_report/summary-contradicts-status",
    }


def test_every_rule_the_page_names_exists() -> None:
    families = {rule.family for rule in RULES.values()}
    named = {
        name
        for name in re.findall(r"`([a-z_]+/[a-z-]+)`", PAGE)
        if name.partition("/")[0] in families
    }
    assert named - set(RULES) == PATHS_NAMED_LIKE_RULES


def test_every_element_that_a_rule_requires_is_called_required() -> None:
    needed = {
        cells[1].strip(): cells[3].strip()
        for line in PAGE.splitlines()
        if len(cells := line.split("|")) == 5
    }
    elements = (
        RULES["goop_report/missing-field"].catches.partition(": ")[2].partition(";")[0].split(", ")
    )
    assert [needed[f"`{element}`"] for element in elements] == ["required"] * 6


def test_the_size_of_the_prompt_is_the_one_on_the_page() -> None:
    section = _section("For authors of agents")
    found = re.search(
        r"about ([\d,]+) tokens: ([\d,]+) characters.* It has ([\d,]+) words", section, re.DOTALL
    )
    assert found is not None
    tokens, characters, words = (int(number.replace(",", "")) for number in found.groups())
    prompt = render_prompt("goop_report", {})
    assert characters == pytest.approx(len(prompt), rel=0.1)
    assert words == pytest.approx(len(prompt.split()), rel=0.1)
    assert tokens == pytest.approx(len(prompt) / 4, rel=0.1)


@pytest.mark.parametrize("status", ["COMPLETE", "PARTIAL", "BLOCKED", "CHECKPOINT"])
def test_every_status_is_explained(status: str) -> None:
    assert re.search(rf"^\| `{status}` \|", _section("Statuses"), re.MULTILINE)


def test_severities_of_the_page_are_those_of_the_rules() -> None:
    rule = RULES["goop_report/complete-with-failed-check"]
    assert (rule.lenient, rule.strict) == (Severity.WARNING, Severity.ERROR)
    assert rule.id in _section("Lenient and strict")
