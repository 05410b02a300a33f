"""Names of agents and how they are compared."""

import pytest

from goop_mcp.workflow.agents import (
    KNOWN_AGENTS,
    NEXT_AGENT_ALIASES,
    PHASE_AGENTS,
    SPECIAL_NEXT_AGENTS,
    STAND_INS,
    is_agent_name,
    plain_agent_name,
    same_agent,
)
from tests.requirements import requirement

OLDER = (
    "debugger designer executor explorer librarian orchestrator planner researcher tester verifier"
    " writer"
)
NEWER = "executor-low executor-medium executor-high executor-frontend creative"
V1 = (
    "debugger executor-low executor-medium executor-high executor-frontend-low"
    " executor-frontend-medium executor-frontend-high explorer orchestrator planner researcher"
    " tester verifier wave-verifier writer"
)


@requirement("G-11")
def test_agents_of_all_package_versions_are_known_and_no_others() -> None:
    kinds = {*OLDER.split(), *NEWER.split(), *V1.split()}

    assert {f"goop-{kind}" for kind in kinds} | {"memory-distiller"} == KNOWN_AGENTS


@requirement("G-10")
@pytest.mark.parametrize(
    "name", ["goop-executor", "goop-x", "goop-code-reviewer", "goop-qa2", "memory-distiller"]
)
def test_name_of_the_form_is_an_agent_name(name: str) -> None:
    assert is_agent_name(name)


@requirement("G-10")
@pytest.mark.parametrize(
    "name",
    [
        "",
        "executor",
        "goop",
        "goop-",
        "Goop-x",
        "goop-X",
        "goop_x",
        "goop-x-",
        "goop--x",
        "goop-x y",
        "goop-x\n",
        "memory",
    ],
)
def test_name_of_another_form_is_no_agent_name(name: str) -> None:
    assert not is_agent_name(name)


def test_user_and_orchestrator_may_be_named_next() -> None:
    assert {"orchestrator", "user"} == SPECIAL_NEXT_AGENTS
    assert NEXT_AGENT_ALIASES == {"goop-orchestrator": "orchestrator", "goopspec": "orchestrator"}


@pytest.mark.parametrize("one", ["orchestrator", "goop-orchestrator", "goopspec"])
@pytest.mark.parametrize("other", ["orchestrator", "goop-orchestrator", "goopspec"])
def test_three_names_of_the_orchestrator_mean_the_same(one: str, other: str) -> None:
    assert same_agent(one, other)


@requirement("G-42")
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("goop-executor", "goop-executor", True),
        ("goop-executor", "some-plugin:goop-executor", True),
        ("goop-executor", "Goop-Executor", True),
        ("goop-executor", "goop-executor-high", False),
        ("goop-executor", "goop-planner", False),
        ("goop-executor", "orchestrator", False),
    ],
)
def test_agents_are_compared_without_the_prefix_of_a_host(one: str, other: str, same: bool) -> None:
    assert same_agent(one, other) is same
    assert same_agent(other, one) is same


def test_prefix_of_a_host_is_taken_off() -> None:
    assert plain_agent_name("some-plugin:goop-executor") == "goop-executor"


def test_every_agent_of_a_phase_is_known() -> None:
    listed = {agent for agents in PHASE_AGENTS.values() for agent in agents}
    replacing = {agent for pairs in STAND_INS.values() for pair in pairs.items() for agent in pair}

    assert listed | replacing <= KNOWN_AGENTS
    assert STAND_INS.keys() == PHASE_AGENTS.keys()


@pytest.mark.parametrize(
    ("agent", "phase", "other"),
    [
        ("goop-researcher", "plan", "goop-explorer"),
        ("goop-verifier", "research", "goop-tester"),
        ("goop-debugger", "execute", "goop-executor-high"),
        ("goop-designer", "execute", "goop-executor-frontend"),
        ("goop-tester", "accept", "goop-verifier"),
    ],
)
def test_a_missing_agent_is_replaced_as_published(agent: str, phase: str, other: str) -> None:
    assert STAND_INS[phase][agent] == other
