"""Fixtures for pytest: add `pytest_plugins = ["goop_mcp.testing.plugin"]` to the top conftest.py.

`scripted_agent(...)` makes agents and fails the test when replies of a script were not used. A test
with `corrupted_reply` runs once for each reply of the corpus;
`@pytest.mark.corpus(wanted="refused")` limits that to the replies whose fields have these values.
"""

from collections.abc import Iterator
from typing import Protocol

import pytest

from goop_mcp.testing.agents import ScriptedAgent, ScriptedReply
from goop_mcp.testing.cases import load_corpus
from goop_mcp.validation.findings import counted_noun

__all__ = ["MakeAgent", "scripted_agent"]

_FIELDS = ("id", "kind", "protocol", "wanted", "never")


class MakeAgent(Protocol):
    """What the fixture `scripted_agent` gives: called as `ScriptedAgent` is."""

    def __call__(
        self, *replies: str | BaseException | ScriptedReply, repeat_last: bool = False
    ) -> ScriptedAgent:
        """Return a new agent."""
        ...


@pytest.fixture
def scripted_agent() -> Iterator[MakeAgent]:
    """Make scripted agents; after the test, each must have given every reply it has."""
    agents: list[ScriptedAgent] = []

    def make(
        *replies: str | BaseException | ScriptedReply, repeat_last: bool = False
    ) -> ScriptedAgent:
        agents.append(ScriptedAgent(*replies, repeat_last=repeat_last))
        return agents[-1]

    yield make
    left = [agent.replies_left for agent in agents if agent.replies_left]
    if left:
        number = counted_noun(left[0], "reply", "replies")
        pytest.fail(f"a scripted agent was never asked for {number}", pytrace=False)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers", f"corpus(**fields): only replies of the corpus with these {', '.join(_FIELDS)}"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `corrupted_reply` once for each reply that its marks leave."""
    if "corrupted_reply" not in metafunc.fixturenames:
        return

    wanted = {
        name: value
        for mark in metafunc.definition.iter_markers("corpus")
        for name, value in mark.kwargs.items()
    }
    unknown = sorted(set(wanted) - set(_FIELDS))
    if unknown:
        raise pytest.UsageError(
            f"the mark corpus knows no {unknown[0]!r}; expected one of {', '.join(_FIELDS)}"
        )

    cases = [
        case
        for case in load_corpus()
        if all(getattr(case, name) == value for name, value in wanted.items())
    ]
    metafunc.parametrize("corrupted_reply", cases, ids=[case.id for case in cases])
