"""Whether a person trusts a graph: it runs programs, and a stored one can be changed by others."""

from pathlib import Path

from goop_mcp.delegation.agents import commands_of
from goop_mcp.delegation.graph import Graph
from goop_mcp.recording.trust import is_trusted, trust
from goop_mcp.workspace.layout import FOLDER

__all__ = ["is_trusted_graph", "trust_graph"]


def is_trusted_graph(graph: Graph, project: Path) -> bool:
    """Return whether `graph` may run in `project`; one that runs no program always may.

    Raises TrustError.
    """
    if not any(commands_of(agent) for agent in graph.agents):
        return True
    return is_trusted(_place(graph, project), graph.digest)


def trust_graph(graph: Graph, project: Path) -> None:
    """Let `graph`, exactly as it is, run in `project`. Raises TrustError."""
    trust(_place(graph, project), graph.digest)


def _place(graph: Graph, project: Path) -> Path:
    # By content and not by file: a run is resumed from the database, where there is no file.
    return project.resolve() / FOLDER / "graphs" / graph.digest
