"""The rules of memory keep the promises of every rule; their examples are saved for real."""

import json

import pytest

from goop_mcp.memory.drafts import MemoryDraft, MemoryRefusedError
from goop_mcp.memory.importance import ImportanceScale
from goop_mcp.memory.saving import save_memory
from goop_mcp.protocols import RULES
from goop_mcp.store.interface import Store
from goop_mcp.validation.findings import Finding, Severity
from goop_mcp.validation.rules import Rule
from goop_mcp.workflow.memory_rules import MEMORY_RULES
from tests.requirements import load_ledger

every_rule = pytest.mark.parametrize("rule", MEMORY_RULES, ids=lambda rule: rule.id)

WARNINGS = {"memory/title-too-long", "memory/importance-ambiguous"}
REMARKS = {"memory/redacted", "memory/duplicate"}


def call(store: Store, line: str) -> tuple[Finding, ...]:
    arguments = json.loads(line)
    scale: ImportanceScale = "either" if arguments.pop("tool", "") == "memory_save" else "ours"
    try:
        return save_memory(store, MemoryDraft(**arguments), scale=scale).findings
    except MemoryRefusedError as error:
        return error.findings


def findings(store: Store, example: str) -> list[Finding]:
    return [finding for line in example.splitlines() for finding in call(store, line)]


@every_rule
def test_bad_example_breaks_this_rule_and_no_other(rule: Rule, store: Store) -> None:
    (finding,) = findings(store, rule.example.bad_reply)

    assert finding.rule == rule.id
    assert finding.severity is rule.lenient
    assert not finding.message[0].isupper()
    assert not finding.message.endswith(".")
    assert finding.fix == rule.fix


@every_rule
def test_good_example_breaks_no_rule(rule: Rule, store: Store) -> None:
    assert findings(store, rule.example.reply) == []
    assert rule.example.reply.count(rule.example.good) == 1


@every_rule
def test_severities_are_the_published_ones(rule: Rule) -> None:
    expected = (
        Severity.WARNING
        if rule.id in WARNINGS
        else Severity.INFO
        if rule.id in REMARKS
        else Severity.ERROR
    )

    assert (rule.lenient, rule.strict) == (expected, expected)
    assert set(rule.requirements) <= load_ledger().keys()
    assert RULES.find(rule.id) is rule
