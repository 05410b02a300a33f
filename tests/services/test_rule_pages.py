"""Each rule has a page, and docs/rules.md is made of them."""

import json
import re
import subprocess
import sys

import pytest

from goop_mcp.protocols import RULES
from goop_mcp.services.rule_pages import LEFT_OUT, rule_page, rules_markdown
from goop_mcp.validation.rules import Rule
from tests.repository import ROOT

MOST_LINES = 16
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)


def test_the_generated_page_is_up_to_date() -> None:
    written = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert written == rules_markdown(), "docs/rules.md is stale; write it again with: make docs"


def test_the_module_prints_the_page() -> None:
    command = [sys.executable, "-X", "utf8", "-m", "goop_mcp.services.rule_pages"]
    result = subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, encoding="utf-8", timeout=300
    )
    assert result.stdout == rules_markdown()
    assert result.stderr == ""


def test_every_rule_stands_in_its_family_with_both_weights() -> None:
    for section in rules_markdown().split("\n## ")[1:]:
        family, _, rows = section.partition("\n")
        listed = re.findall(
            r'^\| <a id="[a-z_-]+"></a>`([^`]+)` \| (\w+) \| (\w+) \|', rows, re.MULTILINE
        )
        expected = [
            (rule.id, rule.lenient.value, rule.strict.value)
            for rule in RULES.values()
            if rule.family == family
        ]
        assert listed == expected

    assert set(re.findall(r"</a>`([a-z_]+/[^`]+)`", rules_markdown())) == set(RULES)


def test_every_row_has_five_cells() -> None:
    for line in rules_markdown().splitlines():
        if line.startswith("|"):
            assert len(re.split(r"(?<!\\)\|", line)) == 7


@every_rule
def test_no_tag_stands_outside_of_code(rule: Rule) -> None:
    page = rule_page(rule).to_markdown()
    prose = re.sub(r"(`{3,})\n.*?\n\1", "", page, flags=re.DOTALL)
    assert re.findall(r"</?\w|&\w+;", re.sub(r"`[^`]*`", "", prose)) == []


@every_rule
def test_a_page_holds_what_the_rule_says(rule: Rule) -> None:
    page = rule_page(rule)
    assert (page.id, page.lenient, page.strict) == (rule.id, rule.lenient.value, rule.strict.value)
    assert (page.catches, page.why, page.fix) == (rule.catches, rule.why, rule.fix)
    assert page.requirements == rule.requirements
    markdown = page.to_markdown()
    assert markdown.startswith(f"# {rule.id}\n")
    assert page.bad in markdown
    assert page.good in markdown


@every_rule
def test_a_page_is_short_enough_to_read(rule: Rule) -> None:
    page = rule_page(rule)
    for example in (page.bad, page.good):
        lines = example.split("\n")
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= 160
        assert all(line.isprintable() for line in lines)


@every_rule
def test_a_page_can_be_sent_as_json(rule: Rule) -> None:
    values = rule_page(rule).to_dict()
    assert json.loads(json.dumps(values)) == values
    assert list(values)[:3] == ["id", "lenient", "strict"]


def test_a_missing_line_is_marked() -> None:
    page = rule_page(RULES["goop_report/ready-missing"])
    assert page.bad == LEFT_OUT == "(left out)"
    assert page.good == "<ready>true</ready>"
    assert "Bad:\n\n(left out)\n" in page.to_markdown()


def test_a_whole_reply_is_cut_in_its_middle() -> None:
    good = rule_page(RULES["goop_report/no-envelope"]).good
    assert good.startswith("The login endpoint")
    assert "\n…\n" in good
    assert good.endswith("</goop_report>\n```")


def test_a_block_with_fences_in_it_has_a_longer_fence() -> None:
    page = rule_page(RULES["goop_report/no-envelope"]).to_markdown()
    assert page.count("\n````\n") == 2


def test_a_line_without_end_is_cut_and_measured() -> None:
    assert re.search(
        r"x… \([\d,]+ characters\)$", rule_page(RULES["envelope/too-large"]).bad, re.MULTILINE
    )


def test_an_invisible_character_is_shown() -> None:
    assert "\\x1b[32m" in rule_page(RULES["xml/control-character"]).bad


def test_what_the_caller_knows_is_stated() -> None:
    page = rule_page(RULES["goop_report/agent-mismatch"])
    assert page.given == "the agent is goop-executor"
    assert "The caller says beforehand: the agent is goop-executor.\n" in page.to_markdown()
    assert rule_page(RULES["goop_report/ready-missing"]).given is None
