"""`--rules`: custom rules on the command line, from a file or module, only if named."""

import json
from pathlib import Path

import pytest

from goop_mcp.protocols import RULES
from tests.cli.running import Ended, run
from tests.validation.shop import FIX, MESSAGE, TICKET, WITH_TICKET, WITHOUT_TICKET

FILE = """\
from dataclasses import replace

from goop_mcp import Hit, Severity
from tests.validation.shop import BROKEN, TICKET

print("these rules are loaded")
RULES = [TICKET]
PRINTING = replace(TICKET, check=lambda *seen: print("this rule judges") or TICKET.check(*seen))
EMPTY = []
FAILING = BROKEN
WARNING = (replace(TICKET, id="shop/warning", lenient=Severity.WARNING),)
OURS = replace(TICKET, id="xml/ticket")
TEXT = "shop/ticket-missing"
"""
"""A file as users write it; docs/writing-rules.md shows the rule itself."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("shop_rules.py", FILE),
        ("with.md", WITH_TICKET),
        ("without.md", WITHOUT_TICKET),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")

    return tmp_path


def checked(folder: Path, *arguments: str) -> Ended:
    return run("check", *arguments, cwd=folder)


def test_a_reply_is_also_judged_by_the_rules_in_a_file(folder: Path) -> None:
    ended = checked(folder, "--rules", "shop_rules.py", "with.md", "without.md")
    assert ended.code == 1
    assert f"error: {MESSAGE} [{TICKET.id}]" in ended.out
    assert f"fix: {FIX}" in ended.out
    assert "2 files: 1 accepted, 1 rejected" in ended.out


@pytest.mark.parametrize("command", [("check", "--format", "json"), ("route", "--format", "json")])
def test_the_output_of_a_rule_is_not_among_the_verdicts(
    folder: Path, command: tuple[str, ...]
) -> None:
    ended = run(*command, "--rules", "shop_rules.py:PRINTING", "without.md", cwd=folder)
    assert TICKET.id in json.dumps(json.loads(ended.out))
    assert "this rule judges" in ended.err


def test_the_output_of_the_file_is_not_among_the_verdicts(folder: Path) -> None:
    ended = checked(folder, "--rules", "shop_rules.py", "--format", "json", "without.md")
    (verdict,) = json.loads(ended.out)
    assert [
        finding["rule"] for finding in verdict["findings"] if finding["severity"] == "error"
    ] == [TICKET.id]
    assert ended.err == "these rules are loaded\n"


def test_nothing_is_loaded_that_was_not_named(folder: Path) -> None:
    for name in ("goop_rules.py", "conftest.py", "sitecustomize.py"):
        (folder / name).write_text(FILE, encoding="utf-8")
    ended = checked(folder, "--workspace", "without.md")
    assert TICKET.id not in ended.out
    assert "loaded" not in ended.err


def test_rules_of_a_module_are_found_where_python_looks_for_modules(folder: Path) -> None:
    package = folder / "installed" / "shop"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "rules.py").write_text(FILE, encoding="utf-8")
    path = f"{package.parent}:{Path(__file__).parents[2]}"

    for named, code in (("shop.rules", 1), ("shop.rules:WARNING", 0)):
        assert (
            run("check", "--rules", named, "without.md", cwd=folder, env={"PYTHONPATH": path}).code
            == code
        )


def test_several_sources_are_combined_and_a_single_rule_needs_no_list(folder: Path) -> None:
    named = ["--rules", "shop_rules.py:TICKET", "--rules", "shop_rules.py:WARNING"]
    assert checked(folder, *named, "without.md").out.endswith(": 1 error, 1 warning\n")
    assert ": 2 errors" in checked(folder, *named, "--strict", "without.md").out


def test_every_format_knows_the_rule(folder: Path) -> None:
    sarif = json.loads(
        checked(folder, "--rules", "shop_rules.py", "--format", "sarif", "without.md").out
    )
    assert TICKET.why in [
        rule["fullDescription"]["text"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]
    ]
    assert (
        TICKET.id
        in checked(folder, "--rules", "shop_rules.py", "--format", "github", "without.md").out
    )


def test_a_rule_that_fails_leaves_the_file_unjudged_and_the_others_too_and_exits_2(
    folder: Path,
) -> None:
    (folder / "none.md").write_text("No envelope.", encoding="utf-8")
    ended = checked(folder, "--rules", "shop_rules.py:FAILING", "with.md", "none.md")
    assert ended.code == 2
    assert (
        "'with.md' was not judged: rule shop/ticket-missing failed: LookupError: no tracker"
        in ended.err
    )
    assert "none.md: error: no <goop_report> envelope" in ended.out
    assert "2 files: 1 rejected, 1 not read; 1 error" in ended.out
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("nothere.py", "'nothere.py' does not exist"),
        ("nothere.rules", "No module named 'nothere'"),
        ("no such place", "expected FILE.py or package.module"),
        ("shop_rules.py:NOTHING", "'shop_rules.py' has no NOTHING"),
        ("shop_rules.py:EMPTY", "EMPTY in 'shop_rules.py' is empty"),
        ("shop_rules.py:TEXT", "TEXT in 'shop_rules.py' is str"),
        ("shop_rules.py:OURS", "ids that begin with xml/ are those of goop-mcp"),
        ("slip.py", "cannot be loaded from 'slip.py': SyntaxError"),
        ("ends.py", "cannot be loaded from 'ends.py': SystemExit: 0"),
    ],
)
@pytest.mark.parametrize("command", ["check", "serve"])
def test_invalid_rules_are_reported_in_one_sentence(
    folder: Path, command: str, named: str, expected: str
) -> None:
    (folder / "slip.py").write_text("RULES = [", encoding="utf-8")
    (folder / "ends.py").write_text("raise SystemExit(0)", encoding="utf-8")
    ended = run(
        command, "--rules", named, *(["without.md"] if command == "check" else []), cwd=folder
    )
    assert ended.code == 2
    assert expected in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_a_rejected_reply_is_routed_back_to_its_agent(folder: Path) -> None:
    ended = run("route", "--rules", "shop_rules.py", "--format", "json", "without.md", cwd=folder)
    decision = json.loads(ended.out)
    assert (ended.code, decision["actions"]) == (1, ["request_repair"])
    assert FIX in decision["instruction"]


def test_custom_rules_are_listed_and_explained(folder: Path) -> None:
    listed = run("rules", "--rules", "shop_rules.py", "--format", "json", cwd=folder)
    assert [page["id"] for page in json.loads(listed.out)] == [*RULES, TICKET.id]
    page = run("rules", "ticket-missing", "--rules", "shop_rules.py", cwd=folder).out
    assert page.startswith(f"# {TICKET.id}\n")
    assert page.endswith(f"```\n{TICKET.example.good}\n```\n")
