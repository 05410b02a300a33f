"""Whether a person trusts a graph: it runs programs, and a stored one can be changed by others.

`trusted_makers` is the one way from a graph to its agents: whoever runs something of a graph has
the makers from it, made of exactly the graph that was asked about.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from goop_mcp.delegation.agents import AgentMakers, agent_makers, commands_of
from goop_mcp.delegation.graph import Graph
from goop_mcp.errors import GoopError
from goop_mcp.recording.trust import is_trusted, trust, whole_digest
from goop_mcp.retry.replies import Agent
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.layout import FOLDER

__all__ = [
    "SHOWS_DIGEST",
    "MayRun",
    "UntrustedGraphError",
    "is_trusted_graph",
    "may_run_here",
    "pass_graph",
    "trust_graph",
    "trusted_makers",
]

SHOWS_DIGEST: Final = "`goop-mcp delegate GRAPH --check` or, of a run, `goop-mcp runs resume RUN`"
"""What shows the whole digest of a graph."""

# Digests, the newest last: a program may begin runs of graphs that it makes for each.
_passed: Final[dict[str, None]] = {}
_MOST_PASSED: Final = 1_000

MayRun = Callable[[Graph], bool]
"""Says whether exactly this graph may run programs here."""


class UntrustedGraphError(GoopError):
    """Raised for a graph that runs programs and that nobody has trusted here; nothing was run."""

    def __init__(self, graph: Graph) -> None:
        """Create the error for `graph`; the text has its whole digest."""
        self.graph = graph
        super().__init__(
            f"the graph {excerpt(graph.name)!r} runs programs and is not trusted here; a person"
            f" trusts it at a terminal, with goop-mcp delegate or goop-mcp runs resume; elsewhere"
            f" it takes --trust {graph.digest} (in Python: trust=[...])"
        )


def trusted_makers(
    graph: Graph,
    *,
    project: Path,
    may_run: MayRun,
    given: Mapping[str, Agent] | None = None,
) -> AgentMakers:
    """Return what makes the agents of `graph`, which runs nothing before `may_run` says so.

    `given` replaces agents of the graph, and what they would run is not asked about. Raises
    UntrustedGraphError, and what `agent_makers` raises.
    """
    if _runs_programs(graph, given or {}) and not may_run(graph):
        raise UntrustedGraphError(graph)
    return agent_makers(graph, project=project, given=given)


def may_run_here(project: Path, digests: Collection[str] = ()) -> MayRun:
    """Return what says whether a graph may run in `project`.

    That is one that a person trusted there, one that this process began a run of itself, and one of
    the whole `digests`, which the caller allows. Raises TrustError for a part of a digest.
    """
    allowed = frozenset(whole_digest(each, shown_by=SHOWS_DIGEST) for each in digests)

    def may_run(graph: Graph) -> bool:
        known = graph.digest in allowed or graph.digest in _passed
        return known or is_trusted_graph(graph, project)

    return may_run


def pass_graph(graph: Graph) -> None:
    """Let `graph` run in this process, which made it and begins a run of it.

    Another process that goes on with the run has the graph from the database, and asks.
    """
    if _runs_programs(graph, ()):
        _passed[graph.digest] = None
        if len(_passed) > _MOST_PASSED:
            del _passed[next(iter(_passed))]


def is_trusted_graph(graph: Graph, project: Path) -> bool:
    """Return whether `graph` may run in `project`; one that runs no program always may.

    Raises TrustError.
    """
    if not _runs_programs(graph, ()):
        return True
    return is_trusted(_place(graph, project), graph.digest)


def trust_graph(graph: Graph, project: Path) -> None:
    """Let `graph`, exactly as it is, run in `project`. Raises TrustError."""
    trust(_place(graph, project), graph.digest)


def _runs_programs(graph: Graph, given: Collection[str]) -> bool:
    return any(commands_of(agent) for agent in graph.agents if agent.name not in given)


def _place(graph: Graph, project: Path) -> Path:
    # By content and not by file: a run is resumed from the database, where there is no file.
    return project.resolve() / FOLDER / "graphs" / graph.digest
