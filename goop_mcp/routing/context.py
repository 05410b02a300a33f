"""What the caller knows: context, policy, limits and counters of a decision (ROUTING, sections 1 and 5)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self

from goop_mcp.validation.expectations import Profile
from goop_mcp.validation.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Adoption", "Counters", "Policy", "RoutingContext", "RoutingLimits", "SessionState"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingContext:
    """What the caller knows beside the verdict. None means that it does not know; nothing is guessed.

    `expected_agent` is the one that was asked, `phase`, `task_id` and `session_id` are where the work stands.
    `attempt` counts the same request from 1, `iteration` the feedbacks given on this edge from 0, `max_iterations` is
    the number in the message, if one was sent. `previous_rules` are the ids that the last failed verdict named.
    `responded` is False when no answer came in time. `evidence` are findings of the workspace check that the verdict
    does not hold. `workflow` is what the caller knows of the work when no request says it. `dependencies` and `batch`
    map session ids to their state, the batch in its order; `session_state` is that of the request's own session.
    `known_agents` are those the caller can start beside the ones of the packages. `execution_gate` is the result of
    that gate (WORKFLOW, section 2). `profile` and `package_version` choose the usual commands.
    """

    expected_agent: str | None = None
    phase: str | None = None
    task_id: str | None = None
    session_id: str | None = None
    attempt: int = 1
    iteration: int = 0
    max_iterations: int | None = None
    counters: Counters = field(default_factory=Counters)
    previous_rules: tuple[str, ...] = ()
    responded: bool = True
    evidence: tuple[Finding, ...] = ()
    workflow: str | None = None
    dependencies: Mapping[str, SessionState] = field(default_factory=lambda: MappingProxyType({}))
    batch: Mapping[str, SessionState] = field(default_factory=lambda: MappingProxyType({}))
    session_state: str | None = None
    known_agents: "Sequence[str]" = ()
    execution_gate: bool | None = None
    profile: Profile = "0.x"
    package_version: str | None = None
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        """Raise ContextError, which names the field, for a value of the wrong kind: a row would trip over it."""
        from goop_mcp.routing.context_reading import check_context  # noqa: PLC0415 - the reader knows this class

        check_context(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the context written as JSON values, keys as the fields are named; absent ones keep the default.

        Raises ContextError, which names the field (`counters.repair_rounds`), for an unknown key or a wrong value.
        """
        from goop_mcp.routing.context_reading import read_context  # noqa: PLC0415 - the reader builds this class

        return cls(**read_context(values))
