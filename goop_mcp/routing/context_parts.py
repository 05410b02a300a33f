"""What a context is made of: policy, limits, counters and the state of other sessions (ROUTING, sections 1 and 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

__all__ = ["Adoption", "Counters", "Policy", "RoutingLimits", "SessionState"]

Adoption = Literal["optional", "pilot", "expanded", "mandatory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingLimits:
    """How often something is tried before a person is asked; each from 0 (ROUTING, section 5).

    `feedback_iterations` holds for every edge that `feedback_edges` does not name; its keys are `test`, `review`,
    `analyze`, the agents a feedback comes from. Delays are in seconds.
    """

    max_repair_rounds: int = 2
    response_retries: int = 1
    evidence_repairs: int = 1
    partials_in_a_row: int = 3
    prerequisite_runs: int = 1
    feedback_iterations: int = 2
    feedback_edges: Mapping[str, int] = field(
        default_factory=lambda: MappingProxyType({"analyze": 2, "test": 2, "review": 1})
    )
    backoff_retries: int = 3
    backoff_first_delay: int = 1
    backoff_longest_delay: int = 60
    timeout_retries: int = 1
    fix_retries: int = 2
    technical_retries: int = 1
    critic_rejections: int = 3
    session_retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How the caller wants to work; the defaults are the careful ones."""

    adoption: Adoption = "optional"
    containment: Literal["workspace", "session"] = "workspace"
    markdown: Literal["allow", "forbid"] = "allow"
    checkpoint_before_implement: bool = True
    auto_default: bool = False
    review_on_medium: bool = False
    approve_build: bool = True
    fail_on_warning: bool = False
    limits: RoutingLimits = field(default_factory=RoutingLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """How often something has happened already; the caller keeps them and stores what `state_changes` says.

    One set belongs to one key: an agent, a task, an edge, a session. `prerequisites` counts the runs of each agent
    that was run as a prerequisite of this request.
    """

    repair_rounds: int = 0
    evidence_repairs: int = 0
    partials: int = 0
    backoff_retries: int = 0
    timeout_retries: int = 0
    fix_retries: int = 0
    technical_retries: int = 0
    critic_rejections: int = 0
    session_retries: int = 0
    prerequisites: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """Another session: its `state` in the caller's words, its `result` if there is one, and what it waits for."""

    state: str
    result: Any = None
    depends_on: tuple[str, ...] = ()
