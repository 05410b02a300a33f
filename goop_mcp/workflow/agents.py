"""The agents of the packages and how their names are compared (WORKFLOW, section 3; G-11)."""

import re

__all__ = [
    "KNOWN_AGENTS",
    "NEXT_AGENT_ALIASES",
    "SPECIAL_NEXT_AGENTS",
    "is_agent_name",
    "plain_agent_name",
    "same_agent",
]

_TYPES = (
    "creative debugger designer executor executor-frontend executor-frontend-high executor-frontend-low "
    "executor-frontend-medium executor-high executor-low executor-medium explorer librarian orchestrator planner "
    "researcher tester verifier wave-verifier writer"
)

KNOWN_AGENTS = frozenset({f"goop-{kind}" for kind in _TYPES.split()} | {"memory-distiller"})
"""The union over all package versions, 0.1.0 to 1.x."""

SPECIAL_NEXT_AGENTS = frozenset({"orchestrator", "user"})
"""Names besides agents that `next_action` may carry (D-27)."""

NEXT_AGENT_ALIASES = {"goop-orchestrator": "orchestrator", "goopspec": "orchestrator"}
"""Other names of the orchestrator and what each is read as."""

_FORM = re.compile(r"goop-[a-z0-9]+(?:-[a-z0-9]+)*")


def is_agent_name(name: str) -> bool:
    """Return whether `name` has the form `goop-[type]` or is `memory-distiller` (G-10, G-11)."""
    return name in KNOWN_AGENTS or _FORM.fullmatch(name) is not None


def plain_agent_name(name: str) -> str:
    """Return `name` without the prefix a host puts before it (`goop-mcp:goop-executor`), in lower case."""
    return name.rpartition(":")[2].strip().lower()


def same_agent(one: str, other: str) -> bool:
    """Return whether two names mean the same agent; all names of the orchestrator do."""
    first, second = plain_agent_name(one), plain_agent_name(other)
    return NEXT_AGENT_ALIASES.get(first, first) == NEXT_AGENT_ALIASES.get(second, second)
