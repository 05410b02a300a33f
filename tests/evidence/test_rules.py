"""Every rule about observed work keeps the promises of its page."""

import pytest

from goop_mcp import validate
from goop_mcp.evidence import (
    AgentActivity,
    Evidence,
    ObservedCommand,
    ObservedFile,
    ObservedMemory,
    RecordedRun,
    RunCounts,
    WorkTree,
)
from goop_mcp.evidence.rules import ACTIVITY_RULES, NOTHING_DONE
from goop_mcp.protocols import RULES
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from tests.requirements import load_ledger

MODES: tuple[Mode, Mode] = ("lenient", "strict")
_COMMANDS = (
    ("pytest", 0, "12 passed in 0.1s"),
    ("ruff check .", 1, "Found 3 errors."),
    ("npx jest --passWithNoTests", 0, "No tests found, exiting with code 0"),
    ("black --check .", 0, "All done!"),
    ("mypy --version", 0, "mypy 1.10"),
    ("git commit -m x && git log -1", 0, "a1b2c3d feat(auth): add login endpoint"),
)
# pytest ran after the file was written and black before it; the jest without a test is the last.
EXAMPLE = AgentActivity(
    host="claude-code",
    complete=True,
    commands=tuple(
        ObservedCommand(
            position={"pytest": 20, _COMMANDS[2][0]: 30}.get(line, number),
            line=line,
            status=status,
            output=output,
        )
        for number, (line, status, output) in enumerate(_COMMANDS)
    ),
    files=(
        ObservedFile(position=10, path="/project/src/login.py", action="written"),
        ObservedFile(position=11, path="/project/src/refused.py", action="written", ok=False),
    ),
    memories=(ObservedMemory(position=12, title="Sessions are kept in Redis", ok=True),),
)
TO_TRY = [pytest.param(rule, id=rule.id) for rule in ACTIVITY_RULES]


NOW = WorkTree(digest="a" * 40, head="c" * 40, changes=(("src/login.py", "1" * 40),))
BASE = WorkTree(digest="b" * 40, head="b" * 40)
RUN = RecordedRun(
    "r-abcd00000001",
    "tests",
    ("pytest",),
    outcome="passed",
    kinds=("tests",),
    program="pytest",
    exit_code=0,
    before=NOW,
    after=NOW,
    counts=RunCounts(12, 12, 0, 0, 0, "results.xml"),
    passed_names=("test_a", "test_b"),
    key="abcd",
)
RUNS = (
    RUN._replace(id="r-abcd00000000", before=BASE, after=BASE),
    RUN._replace(id="r-abcd00000002", before=BASE, after=BASE, argv=("pytest", "tests")),
    RUN._replace(id="r-abcd00000003", passed_names=("test_a",), argv=("pytest", "-x")),
    RUN._replace(id="r-abcd00000004", before=BASE, argv=("pytest", "-q")),
    RUN,
)
RECORDED_RULES = {"unknown-run", "other-tree", "tests-removed", "tree-moved"}


def activity_for(rule: Rule) -> AgentActivity | Evidence:
    if rule.id.removeprefix("evidence/") in RECORDED_RULES:
        return Evidence(activity=EXAMPLE, base="b" * 40, runs=RUNS, tree=NOW)
    if rule is NOTHING_DONE:
        return AgentActivity(host="claude-code", complete=True)
    if rule.id == "evidence/write-refused":
        # Builds and formatters may write files, so that nothing is known of the refused one.
        return AgentActivity(
            host="claude-code",
            complete=True,
            commands=EXAMPLE.commands[:1],
            files=EXAMPLE.files,
            memories=EXAMPLE.memories,
        )
    return EXAMPLE


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("rule", TO_TRY)
def test_the_bad_example_breaks_the_rule_and_the_good_one_does_not(rule: Rule, mode: Mode) -> None:
    activity = activity_for(rule)
    good = validate(
        rule.example.reply, mode=mode, expected=rule.example.expected, evidence=activity
    )
    assert rule.id not in {each.rule for each in good.findings}

    bad = validate(
        rule.example.bad_reply, mode=mode, expected=rule.example.expected, evidence=activity
    )
    (finding,) = [each for each in bad.findings if each.rule == rule.id]
    assert finding.severity is rule.severity(mode)
    assert finding.fix
    assert not finding.message[0].isupper() or finding.message.startswith("COMPLETE")


@pytest.mark.parametrize("rule", TO_TRY)
def test_the_rule_is_found_by_its_id_and_names_known_requirements(rule: Rule) -> None:
    assert RULES.find(rule.id) is rule
    assert rule.example.reply.count(rule.example.good) == 1
    assert set(rule.requirements) <= load_ledger().keys()


def test_the_ids_are_the_published_ones() -> None:
    assert [rule.id.removeprefix("evidence/") for rule in ACTIVITY_RULES] == [
        "check-failed",
        "check-not-run",
        "check-stale",
        "counts-differ",
        "nothing-executed",
        "vacuous-command",
        "unknown-run",
        "other-tree",
        "tests-removed",
        "tree-moved",
        "file-not-reported",
        "write-refused",
        "nothing-done",
    ]
