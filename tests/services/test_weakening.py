"""In which direction each setting weakens, and that the stricter of two holds for each key."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp.protocols import RULES, validate
from goop_mcp.services.options_file import CHECK_KEYS, PROTOCOLS, TABLES, severities_of
from goop_mcp.services.stop_hooks.policy import KEYS, ProjectSettings, StopPolicy, Tables, policy_of
from goop_mcp.services.weakening import DIRECTIONS, describe, stricter, weakened
from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.findings import Severity
from tests.documentation.pages import read_page
from tests.hosts.hooks.hooks import GOOD
from tests.repository import ROOT

Change = tuple[Mapping[str, Any], Mapping[str, Any]]

WEAKENS: Mapping[str, Mapping[str, Sequence[Change]]] = {
    "hooks": {
        "agents": [
            ({}, {"agents": []}),
            ({}, {"agents": ["goop-*"]}),
            ({"agents": ["*"]}, {"agents": ["goop-*", "memory-distiller"]}),
            ({"agents": ["qa-*", "builder"]}, {"agents": ["qa-?", "builder"]}),
            ({"agents": ["Builder"]}, {}),
        ],
        "exempt": [
            ({}, {"exempt": ["goop-executor"]}),
            ({}, {"exempt": ["*-executor"]}),
            ({"exempt": ["goop-a"]}, {"exempt": ["goop-a*"]}),
        ],
        "main": [
            ({}, {"main": "ignored"}),
            ({"main": "required"}, {}),
            ({"main": "required"}, {"main": "ignored"}),
        ],
        "protocol": [({}, {"protocol": "auto"}), ({"protocol": "auto"}, {"protocol": "speckit"})],
        "mode": [({"mode": "strict"}, {}), ({"mode": "strict"}, {"mode": "lenient"})],
        "ask_again": [
            ({}, {"ask_again": 3}),
            ({}, {"ask_again": 0}),
            ({"ask_again": 1}, {}),
        ],
        "check_workspace": [({}, {"check_workspace": False})],
        "record": [({"record": True}, {})],
        "confirm_decisions": [({"confirm_decisions": True}, {"confirm_decisions": False})],
        "evidence": [({}, {"evidence": "off"})],
        "unreadable": [({"unreadable": "reject"}, {"unreadable": "pass"})],
        "require_evidence": [
            ({"require_evidence": "recorded"}, {"require_evidence": "observed"}),
            ({"require_evidence": "observed"}, {"require_evidence": "claimed"}),
        ],
        "tasks": [({"tasks": True}, {})],
    },
    "check": {
        "protocol": [
            ({"protocol": "speckit"}, {}),
            ({"protocol": "speckit"}, {"protocol": "auto"}),
        ],
        "mode": [({"mode": "strict"}, {})],
        "profile": [({}, {"profile": "v1"})],
        "workspace": [({"workspace": True}, {"workspace": False})],
        "require_evidence": [({"require_evidence": "observed"}, {})],
        "select": [
            ({}, {"select": ["speckit"]}),
            ({"select": ["goop_report", "speckit"]}, {"select": ["goop_report"]}),
        ],
        "ignore": [
            ({}, {"ignore": ["goop_report"]}),
            ({}, {"ignore": ["my_rules/no-todo"]}),
            ({"ignore": ["goop_report"]}, {"ignore": ["goop_report", "speckit"]}),
        ],
        "severity": [
            ({}, {"severity": {"goop_report/unknown-phase": "warning"}}),
            ({}, {"severity": {"speckit": "off"}}),
            ({"severity": {"goop_report/task-id-missing": "error"}}, {}),
        ],
    },
}
TIGHTENS: Mapping[str, Mapping[str, Sequence[Change]]] = {
    "hooks": {
        "agents": [
            ({}, {"agents": ["*"]}),
            ({}, {"agents": ["memory-distiller", "goop-*", "qa-*"]}),
            ({"agents": ["goop-a", "goop-b-*"]}, {"agents": ["GOOP-*"]}),
        ],
        "exempt": [
            ({"exempt": ["goop-a"]}, {}),
            ({"exempt": ["goop-*"]}, {"exempt": ["goop-a"]}),
            ({}, {"exempt": ["notes-*"]}),
        ],
        "main": [({}, {"main": "required"}), ({"main": "ignored"}, {})],
        "mode": [({}, {"mode": "strict"})],
        "ask_again": [({}, {"ask_again": 1}), ({"ask_again": 0}, {"ask_again": 2})],
        "check_workspace": [({"check_workspace": False}, {})],
        "record": [({}, {"record": True})],
        "confirm_decisions": [({"confirm_decisions": False}, {"confirm_decisions": True})],
        "evidence": [({"evidence": "off"}, {})],
        "require_evidence": [({}, {"require_evidence": "recorded"})],
        "unreadable": [({}, {"unreadable": "reject"})],
        "tasks": [({}, {"tasks": True})],
    },
    "check": {
        "protocol": [({}, {"protocol": "goop_report"})],
        "mode": [({}, {"mode": "strict"})],
        "workspace": [({}, {"workspace": True})],
        "require_evidence": [({}, {"require_evidence": "observed"})],
        "select": [({"select": ["speckit"]}, {}), ({"select": ["speckit"]}, {"select": ["xml"]})][
            :1
        ],
        "ignore": [({"ignore": ["goop_report"]}, {"ignore": ["goop_report/unknown-phase"]})],
        "severity": [
            ({}, {"severity": {"goop_report/task-id-missing": "error"}}),
            ({"severity": {"goop_report": "off"}}, {"severity": {"goop_report": "warning"}}),
            # What is untrue or unsafe cannot be lowered, whatever a file says.
            ({}, {"severity": {"xml/doctype": "off"}}),
        ],
    },
}
NEVER: Mapping[str, Sequence[Change]] = {
    "inform": [({}, {"inform": False})],
    "keep_replies": [({}, {"keep_replies": False})],
}


def changes(table: Mapping[str, Mapping[str, Sequence[Change]]]) -> list[Any]:
    return [
        pytest.param(name, key, {name: before}, {name: now}, id=f"{name}.{key}-{number}")
        for name, keys in table.items()
        for key, each in keys.items()
        for number, (before, now) in enumerate(each)
    ]


def names(before: Tables, now: Tables) -> set[tuple[str, str]]:
    return {(each.table, each.key) for each in weakened([before], now)}


def test_every_key_has_a_direction_and_the_page_says_which() -> None:
    assert DIRECTIONS.keys() == {*TABLES, PROTOCOLS} - {"checks"}
    assert DIRECTIONS["check"].keys() == CHECK_KEYS.keys()
    assert DIRECTIONS["hooks"].keys() == KEYS.keys()
    # A version that reads them gives each a direction.
    assert (PROTOCOLS in TABLES) is bool(DIRECTIONS[PROTOCOLS])

    sections = read_page("docs/settings.md").split("| key")
    for heading, name in ((1, "check"), (2, "hooks")):
        rows = [row.strip("|").split("|") for row in sections[heading].splitlines()]
        column = next(at for at, cell in enumerate(rows[0]) if cell.strip() == "weakens when")
        shown = {
            key.strip("` "): cells[column].strip()
            for cells in rows[2:]
            if len(cells) > column
            for key in cells[0].split(",")
        }
        assert shown == {key: each.weakens_when for key, each in DIRECTIONS[name].items()}


def test_the_page_and_the_schema_have_the_defaults_of_the_hooks() -> None:
    section = read_page("docs/settings.md").split("| key")[2]
    rows = [row.strip("|").split("|") for row in section.splitlines()[2:]]
    shown = {row[0].strip("` "): row[1].strip("` ") for row in rows if len(row) > 1}
    schema = json.loads((ROOT / "schemas" / "hooks" / "1.json").read_text(encoding="utf-8"))
    for key in KEYS:
        default = StopPolicy._field_defaults[key]
        default = list(default) if isinstance(default, tuple) else default
        assert json.loads(shown[key]) == default, key
        assert schema["properties"][key].get("default", default) == default, key


def test_every_key_is_tried_in_each_direction() -> None:
    for name, directions in DIRECTIONS.items():
        for key, direction in directions.items():
            if direction.weakens_when == "never":
                assert key in NEVER
            else:
                assert WEAKENS[name][key]
                # A change is always one, for these in either direction.
                assert TIGHTENS[name].get(key) or direction.weakens_when.startswith("another one")


@pytest.mark.parametrize(("table", "key", "before", "now"), changes(WEAKENS))
def test_what_weakens_is_named(table: str, key: str, before: Tables, now: Tables) -> None:
    assert names(before, now) == {(table, key)}


@pytest.mark.parametrize(
    ("table", "key", "before", "now"), changes(TIGHTENS) + changes({"hooks": NEVER})
)
def test_what_tightens_is_not(table: str, key: str, before: Tables, now: Tables) -> None:
    assert names(before, now) == set(), (table, key)


@pytest.mark.parametrize(("table", "key", "before", "now"), changes(WEAKENS))
def test_the_stricter_value_holds_whatever_else_changes(
    table: str, key: str, before: Tables, now: Tables
) -> None:
    settings = ProjectSettings({"hooks": {"inform": False}, **now})
    if table == "hooks":
        settings = ProjectSettings({table: {"inform": False, **now[table]}})
    held, old = stricter(settings, [before]), policy_of(before, source="")
    new = settings.policy
    # What is not about the key counts at once.
    assert not held.inform
    if key in ("agents", "exempt"):
        asked = ("goop-executor", "goop-a", "goop-abc", "qa-1", "qa-12", "builder", "notes-1")
        for agent in asked:
            must = old.requires_report(agent) or new.requires_report(agent)
            assert held.requires_report(agent) == must, agent
    elif table == "hooks":
        assert getattr(held, key) == getattr(old, key)
    else:
        for rule in RULES.values():
            one, other = (each.severities.of(rule.id, rule.lenient) for each in (old, new))
            assert held.severities.of(rule.id, rule.lenient) in (one, other)
            assert not held.severities.is_below(old.severities, rule.id, rule.lenient)
            assert not held.severities.is_below(new.severities, rule.id, rule.lenient)


PATTERNS = st.lists(st.text("ab*?-", min_size=1, max_size=5), max_size=3)


@given(PATTERNS, PATTERNS, PATTERNS, PATTERNS, st.lists(st.text("ab-", min_size=1, max_size=5)))
def test_no_agent_is_lost_by_patterns(
    agents: list[str], exempt: list[str], others: list[str], free: list[str], tried: list[str]
) -> None:
    before = {"hooks": {"agents": agents, "exempt": exempt}}
    settings = ProjectSettings({"hooks": {"agents": others, "exempt": free}})
    old, new = policy_of(before, source=""), settings.policy
    held = stricter(settings, [before])
    lost = [each for each in tried if old.requires_report(each) and not new.requires_report(each)]
    assert bool(lost) <= bool(weakened([before], settings.tables))
    for each in tried:
        if old.requires_report(each) or new.requires_report(each):
            assert held.requires_report(each)


LEVELS = st.sampled_from(["error", "warning", "info", "off"])
NAMES = st.sampled_from(
    ["goop_report", "goop_report/unknown-phase", "speckit", "xml", "my_rules", "my_rules/todo"]
)
CHOSEN = st.fixed_dictionaries(
    {},
    optional={
        "select": st.lists(NAMES, min_size=1, max_size=3),
        "ignore": st.lists(NAMES, max_size=2),
        "severity": st.dictionaries(NAMES, LEVELS, max_size=3),
    },
)
SAMPLES = ["goop_report/unknown-phase", "goop_report/x", "speckit/x", "my_rules/todo", "your/x"]


@given(CHOSEN, CHOSEN)
def test_no_rule_counts_less(before: dict[str, Any], now: dict[str, Any]) -> None:
    settings = ProjectSettings({"check": now})
    held = stricter(settings, [{"check": before}]).severities
    old, new = severities_of(before, source=""), severities_of(now, source="")
    lowered = False
    for rule in SAMPLES:
        # Of a rule of ours its own severity is known.
        known = [RULES[rule].lenient] if rule in RULES else [*Severity]
        for usual in known:
            lowered |= new.is_below(old, rule, usual)
            assert not held.is_below(old, rule, usual)
            assert not held.is_below(new, rule, usual)
    assert lowered <= bool(weakened([{"check": before}], settings.tables))


def test_the_verdict_names_the_severities_that_hold() -> None:
    before = {"check": {"ignore": ["speckit"], "severity": {"goop_report/unknown-phase": "error"}}}
    now = {
        "check": {
            "ignore": ["speckit", "goop_report"],
            "severity": {"goop_report/task-id-missing": "error"},
        }
    }
    policy = stricter(ProjectSettings(now), [before])
    reply = GOOD.replace(">execute<", ">coding<")
    verdict = validate(reply, expected=replace(NOTHING_EXPECTED, severities=policy.severities))
    assert [each.rule for each in verdict.of_severity(Severity.ERROR)] == [
        "goop_report/unknown-phase"
    ]
    assert verdict.changed_severities == (
        "speckit: off ()",
        "goop_report/unknown-phase: error ()",
        "goop_report/task-id-missing: error ()",
    )


def test_a_line_about_many_settings_is_short_and_plain() -> None:
    hooks = {
        "agents": ["\x1b[31m\u202e" * 40],
        "main": "ignored",
        "protocol": "auto",
        "ask_again": 7,
        "evidence": "off",
        "check_workspace": False,
    }
    settings = ProjectSettings({"hooks": hooks}, in_file=frozenset(hooks))
    found = weakened([{}], settings.tables)
    line = describe(settings, found)
    assert line.isascii() or "…" in line
    assert line.isprintable()
    assert len(line) < 800
    assert line.endswith(f", {len(found) - 4} more")


def test_several_references_hold_together() -> None:
    settings = ProjectSettings({"hooks": {"agents": ["qa"]}})
    held = stricter(
        settings, [{"hooks": {"agents": ["a"]}}, {"hooks": {"agents": ["b"], "mode": "strict"}}]
    )
    assert isinstance(held, StopPolicy)
    assert all(held.requires_report(each) for each in ("a", "b", "qa"))
    assert held.mode == "strict"
