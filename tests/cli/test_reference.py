"""`goop-mcp rules`, `schema` and `prompt`: the lists, and single entries."""

import json

import click
import pytest
from lxml import etree

from goop_mcp.protocols import RULES
from goop_mcp.services.prompts import list_prompts, render_prompt
from goop_mcp.services.rule_pages import rule_page
from goop_mcp.services.schemas import find_schema, list_schemas
from tests.cli.running import run, run_on_terminal


def test_every_rule_is_listed_on_a_line_with_its_severity() -> None:
    ended = run("rules")
    assert ended.code == 0
    rows = [line.split(maxsplit=1) for line in ended.out.splitlines() if line]
    assert [row[0] for row in rows] == list(RULES)
    assert dict(rows)["goop_report/unknown-status"] == "error: status outside the four"
    assert dict(rows)["goop_report/phase-alias"].startswith("warning (error if strict): ")


def test_the_list_fits_a_terminal() -> None:
    lines = run_on_terminal("rules").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "`" not in "".join(lines)


def test_the_page_of_a_rule_is_markdown_in_a_pipe() -> None:
    ended = run("rules", "goop_report/unknown-status")
    assert (ended.code, ended.out) == (
        0,
        rule_page(RULES["goop_report/unknown-status"]).to_markdown(),
    )


def test_the_page_of_a_rule_is_drawn_on_a_terminal() -> None:
    page = run_on_terminal("rules", "goop_report/blocked-without-blocker").out
    assert "Fix." in page
    assert not {"#", "*", "`"} & set(page)
    assert "  <blockers>RULE 4 DEVIATION: which provider?" in page
    assert max(len(click.unstyle(line)) for line in page.splitlines()) <= 80


def test_a_rule_is_found_by_the_part_of_its_id_after_the_slash() -> None:
    assert (
        run("rules", "unknown-file-action").out
        == run("rules", "goop_report/unknown-file-action").out
    )


def test_rules_are_available_as_json() -> None:
    pages = [rule_page(rule).to_dict() for rule in RULES.values()]
    assert json.loads(run("rules", "--format", "json").out) == pages
    assert json.loads(run("rules", pages[0]["id"], "--format", "json").out) == pages[0]


def test_every_schema_is_listed() -> None:
    rows = run("schema").out.splitlines()
    assert [row.split()[:2] for row in rows] == [
        [each.protocol, each.version] for each in list_schemas()
    ]


@pytest.mark.parametrize("version", [[], ["--version", "0.1.6"], ["--version", "0.1.4"]])
def test_a_schema_is_printed_as_it_ships(version: list[str]) -> None:
    ended = run("schema", "goop_report", *version)
    assert (ended.code, ended.out) == (0, find_schema("goop_report").text)
    etree.XMLSchema(etree.fromstring(ended.out.encode()))


def test_every_prompt_is_listed_with_its_arguments() -> None:
    listed = run("prompt", "--list").out
    for prompt in list_prompts():
        assert f"{prompt.name} " in listed
        for argument in prompt.arguments:
            assert f"  --set {argument.name}=…" in listed


def test_a_prompt_is_printed_with_its_arguments_filled_in() -> None:
    ended = run("prompt", "goop_report", "--set", "agent=goop-tester", "--set", "phase=execute")
    values = {"agent": "goop-tester", "phase": "execute"}
    assert (ended.code, ended.out) == (0, render_prompt("goop_report", values))
    assert "<agent>goop-tester</agent>" in ended.out


def test_the_value_of_an_argument_may_hold_an_equals_sign() -> None:
    ended = run("prompt", "repair_report", "--set", "text=<goop_report version='x'>")
    assert ended.code == 0
    assert ended.out == render_prompt("repair_report", {"text": "<goop_report version='x'>"})
