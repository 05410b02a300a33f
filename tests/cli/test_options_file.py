"""`goop-mcp.toml` and `[tool.goop-mcp]`: one file for how a project judges its reports."""

import json
import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from goop_mcp.protocols import RULES, validate
from goop_mcp.routing import route
from goop_mcp.services.options_file import CHECK_KEYS, TABLES, read_options
from goop_mcp.services.schemas import find_schema
from goop_mcp.services.stop_hooks.policy import StopPolicy
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.severities import Severities
from goop_mcp.validation.verdict import Verdict
from tests.cli.running import REJECTED, REPAIRABLE, run
from tests.documentation.pages import read_page
from tests.hosts.hooks.hooks import GOOD, Host

LOWERED = """\
[check]
ignore = ["goop_report/task-id-missing"]

[check.severity]
"goop_report/unknown-status" = "warning"
"""
NOTES = [
    "goop_report/task-id-missing: off (goop-mcp.toml)",
    "goop_report/unknown-status: warning (goop-mcp.toml)",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reply.xml").write_bytes(REJECTED.read_bytes())
    return tmp_path


def test_a_project_lowers_a_rule_and_every_verdict_says_so(folder: Path) -> None:
    assert run("check", "reply.xml", cwd=folder).code == 1

    (folder / "goop-mcp.toml").write_text(LOWERED)
    text = run("check", "reply.xml", cwd=folder)
    assert text.code == 0
    assert "warning: status is 'FAILED'" in text.out
    assert f"Severities changed here: {'; '.join(NOTES)}\n" in text.out

    [verdict] = json.loads(run("check", "reply.xml", "--format", "json", cwd=folder).out)
    assert verdict["changed_severities"] == NOTES
    restored = Verdict.from_dict({k: v for k, v in verdict.items() if k != "file"})
    assert restored.changed_severities == tuple(NOTES)

    sarif = json.loads(run("check", "reply.xml", "--format", "sarif", cwd=folder).out)
    assert sarif["runs"][0]["properties"]["changedSeverities"] == NOTES
    assert NOTES[1] in run("check", "reply.xml", "--format", "junit", cwd=folder).out
    assert (
        "::notice title=severities"
        in run("check", "reply.xml", "--format", "github", cwd=folder).out
    )


def test_a_reply_without_findings_says_it_as_well(folder: Path) -> None:
    (folder / "goop-mcp.toml").write_text(LOWERED)
    (folder / "good.md").write_text(GOOD)
    [verdict] = json.loads(run("check", "good.md", "--format", "json", cwd=folder).out)
    assert (verdict["verdict"], verdict["changed_severities"]) == ("accepted", NOTES)


def test_pyproject_toml_has_the_same_tables(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[tool.goop-mcp.check]\nmode = "strict"\n'
        '[tool.goop-mcp.check.severity]\ngoop_report = "warning"\n'
    )
    ended = run("check", "reply.xml", cwd=folder)
    assert ended.code == 0
    assert "strict mode" in ended.out
    assert "goop_report: warning (pyproject.toml)" in ended.out

    # The command line goes before the file.
    assert "strict mode" not in run("check", "--lenient", "reply.xml", cwd=folder).out
    # A file of our own counts alone.
    (folder / "goop-mcp.toml").touch()
    assert run("check", "reply.xml", cwd=folder).code == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ('[check]\n\nmood = "x"\n', "goop-mcp.toml, line 3: there is no key of [check] 'mood'"),
        ('[check]\nmood = "x"\n', "did you mean 'mode'?"),
        ("\n[hoks]\n", "goop-mcp.toml, line 2: there is no table 'hoks'; did you mean 'hooks'?"),
        ('[check]\nmode = "hard"\n', "line 2: mode is 'hard'; expected lenient or strict"),
        ("[check]\nworkspace = 1\n", "line 2: workspace is '1'; expected true or false"),
        ("check = 3\n", "line 1: check is not a table; write [check]"),
        ("[check\n", "goop-mcp.toml is not valid TOML: "),
        (
            '[check.severity]\n"goop_report/unknown-stats" = "off"\n',
            "line 2: there is no rule or family 'goop_report/unknown-stats'; did you mean"
            " 'goop_report/unknown-status'?",
        ),
        (
            '[check.severity]\n"xml/doctype" = "warning"\n',
            "line 2: xml/doctype: it decides whether a reply can be read, is safe or is true",
        ),
        ('[check]\nselect = ["fctory"]\n', "did you mean 'factory'?"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(folder: Path, file: str, message: str) -> None:
    (folder / "goop-mcp.toml").write_text(file)
    ended = run("check", "reply.xml", cwd=folder)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err
    assert message in run("doctor", cwd=folder).out


def test_rules_are_selected_and_ignored_on_the_command_line(folder: Path) -> None:
    ended = run("check", "--ignore", "speckit,goop_report/unknown-status", "reply.xml", cwd=folder)
    assert ended.code == 0
    assert "goop_report/unknown-status: off (--ignore)" in ended.out
    assert run("check", "--select", "speckit", "reply.xml", cwd=folder).code == 0
    assert run("check", "--select", "goop_report", "reply.xml", cwd=folder).code == 1
    refused = run("check", "--ignore", "goop_report/unknown-stat", "reply.xml", cwd=folder)
    assert (refused.code, refused.out) == (2, "")
    assert "did you mean 'goop_report/unknown-status'?" in refused.err
    assert run("check", "--ignore", "evidence/file-not-found", "reply.xml", cwd=folder).code == 2


def test_a_repair_is_never_silent(folder: Path) -> None:
    (folder / "reply.xml").write_text(REPAIRABLE)
    ended = run("check", "-v", "--ignore", "xml", "reply.xml", cwd=folder)
    assert ended.code == 0
    assert "2 repaired" in ended.out
    assert "info: " in ended.out


def test_hooks_follow_the_options_of_the_project(tmp_path: Path) -> None:
    host = Host(tmp_path, tmp_path / "data")
    bad = GOOD.replace("<status>COMPLETE<", "<status>FAILED<")
    (host.project / "goop-mcp.toml").write_text(f'{LOWERED}\n[hooks]\nagents = ["builder"]\n')

    def passes(agent: str, text: str) -> bool:
        answer = host.send("SubagentStop", agent_type=agent, last_assistant_message=text)
        return answer.passed

    assert not passes("builder", "no report")
    assert passes("goop-executor", "no report")
    assert passes("builder", bad.replace("<agent>goop-executor<", "<agent>builder<"))

    # Both files name the agents: the options count, and the start of a session names it.
    host.configure(agents=["reviewer"])
    assert passes("reviewer", "no report")
    assert "agents is also in goop-mcp.toml, line 8" in host.send("SessionStart").ended.err


def ignored(rule: Rule) -> Verdict:
    """Judge the bad example of `rule` with the rule turned off."""
    reply = rule.example.bad_reply
    off = Severities(changes=((rule.id, "off"),), notes=(f"{rule.id}: off",))
    return validate(reply, expected=replace(rule.example.expected, severities=off))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_what_is_accepted_without_a_rule_can_be_routed(rule: Rule) -> None:
    verdict = ignored(rule)
    found = {finding.rule for finding in verdict.findings if finding.severity != "info"}
    if Severities.is_fixed(rule.id, rule.lenient):
        return

    assert rule.id not in found
    if verdict.accepted:
        assert verdict.envelope is not None
        assert not verdict.envelope.partial
        assert Verdict.from_dict(verdict.to_dict()).envelope == verdict.envelope
        assert route(verdict).actions


def test_the_schemas_and_the_page_have_every_key(tmp_path: Path) -> None:
    hooks = json.loads(find_schema("hooks").text)
    options = json.loads(find_schema("options").text)
    defaults = {k: v for k, v in StopPolicy._field_defaults.items() if k != "severities"}
    page = read_page("docs/settings.md")

    assert hooks["properties"].keys() - {"$schema"} == defaults.keys()
    assert options["properties"].keys() == set(TABLES)
    assert options["properties"]["check"]["properties"].keys() == CHECK_KEYS.keys()
    for key, value in defaults.items():
        shown = json.dumps(list(value) if isinstance(value, tuple) else value)
        assert f"| `{key}` | `{shown}` |" in page
        assert hooks["properties"][key].get("default", ...) == json.loads(shown)

    [example] = [part for part in page.split("```") if part.startswith("toml\n")]
    import_module("jsonschema").Draft202012Validator(options).validate(
        tomllib.loads(example.removeprefix("toml\n"))
    )
    (tmp_path / "goop-mcp.toml").write_text(example.removeprefix("toml\n"))
    assert read_options(str(tmp_path)).remarks == ()


def test_the_digest_of_a_table_is_that_of_its_values(tmp_path: Path) -> None:
    def digest(text: str) -> str:
        (tmp_path / "goop-mcp.toml").write_text(text)
        return read_options(str(tmp_path)).digest("checks")

    first = digest('[checks.tests]\ncommand = ["pytest"]\n')
    assert first == digest('[check]\nmode = "strict"\n[checks]\ntests = {command = ["pytest"]}\n')
    assert first != digest('[checks.tests]\ncommand = ["true"]\n')


def test_a_server_parses_the_file_again_only_when_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[tool.goop-mcp.check]\nmode = "strict"\n')
    first = read_options(str(tmp_path))
    assert read_options(str(tmp_path)) is first

    file.write_text('[tool.goop-mcp.check]\nmode = "lenient"\n')
    assert read_options(str(tmp_path)).table("check") == {"mode": "lenient"}
