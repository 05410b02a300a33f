"""The agents of the packages: how names are compared, who works in which phase (G-11)."""

import re
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType

__all__ = [
    "KNOWN_AGENTS",
    "NEXT_AGENT_ALIASES",
    "PHASE_AGENTS",
    "PLANNER",
    "RESEARCHER",
    "SPECIAL_NEXT_AGENTS",
    "STAND_INS",
    "VERIFIERS",
    "fits_agent",
    "is_agent_name",
    "may_report_as",
    "plain_agent_name",
    "same_agent",
]

_TYPES = (
    "creative debugger designer executor executor-frontend executor-frontend-high"
    " executor-frontend-low executor-frontend-medium executor-high executor-low executor-medium"
    " explorer librarian orchestrator planner researcher tester verifier wave-verifier writer"
)

KNOWN_AGENTS = frozenset({f"goop-{kind}" for kind in _TYPES.split()} | {"memory-distiller"})
"""The union over all package versions, 0.1.0 to 1.x."""

VERIFIERS = frozenset({"goop-verifier", "verifier", "wave-verifier", "goop-wave-verifier"})
"""The agents whose report is a verification."""

PLANNER = "goop-planner"
"""The agent that writes the contract and the plan, which all others only read (P-17)."""

RESEARCHER = "goop-researcher"
"""The agent whose findings go to RESEARCH.md (P-17)."""

SPECIAL_NEXT_AGENTS = frozenset({"orchestrator", "user"})
"""Names besides agents that `next_action` may carry (D-27)."""

NEXT_AGENT_ALIASES = {"goop-orchestrator": "orchestrator", "goopspec": "orchestrator"}
"""Other names of the orchestrator and what each is read as."""

PHASE_AGENTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "plan": ("goop-planner", "goop-explorer", "goop-creative"),
        "research": ("goop-researcher", "goop-explorer", "goop-librarian"),
        "execute": (
            "goop-executor",
            "goop-debugger",
            "goop-designer",
            "goop-tester",
            "goop-writer",
        ),
        "accept": ("goop-verifier", "goop-tester"),
    }
)
"""Agents of a phase, the usual one first. `goop-executor` stands for the tier the task names."""

STAND_INS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "plan": MappingProxyType({"goop-researcher": "goop-explorer"}),
        "research": MappingProxyType({"goop-verifier": "goop-tester"}),
        "execute": MappingProxyType(
            {"goop-debugger": "goop-executor-high", "goop-designer": "goop-executor-frontend"}
        ),
        "accept": MappingProxyType({"goop-tester": "goop-verifier"}),
    }
)
"""Whom to take in a phase when an agent is missing."""

_FORM = re.compile(r"goop-[a-z0-9]+(?:-[a-z0-9]+)*")
# A pattern such as `*` must not make template text or a sentence a name.
_SIGNED = re.compile(r"\w[\w.@:-]*")
_LONGEST_NAME = 200


def is_agent_name(name: str) -> bool:
    """Return whether `name` has the form `goop-[type]` or is `memory-distiller` (G-10, G-11)."""
    return name in KNOWN_AGENTS or _FORM.fullmatch(name) is not None


def fits_agent(name: str, patterns: Collection[str]) -> bool:
    """Return whether `name`, without a host's prefix, matches one of the `patterns` (`*`, `?`)."""
    plain = plain_agent_name(name)
    if not plain or len(plain) > _LONGEST_NAME:
        return False
    return any(fnmatchcase(plain, pattern.lower()) for pattern in patterns)


def may_report_as(name: str, patterns: Collection[str]) -> bool:
    """Return whether a report may name the agent `name` where agents match `patterns` (D-97).

    A pattern such as `goop-*` selects whose reports are judged; it does not make a misspelled name
    of GoopSpec a valid one.
    """
    if is_agent_name(name):
        return True

    plain = plain_agent_name(name)
    if plain.startswith("goop-"):
        return plain in patterns
    return _SIGNED.fullmatch(name) is not None and fits_agent(name, patterns)


def plain_agent_name(name: str) -> str:
    """Return `name` in lower case, without a host's prefix (`goop-mcp:goop-executor`)."""
    return name.rpartition(":")[2].strip().lower()


def same_agent(one: str, other: str) -> bool:
    """Return whether two names mean the same agent, with or without `goop-`, or by an alias."""
    first, second = (plain_agent_name(name) for name in (one, other))
    first, second = (
        NEXT_AGENT_ALIASES.get(name, name).removeprefix("goop-") for name in (first, second)
    )
    return first == second
