"""What the caller knows when a decision is made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from goop_mcp.routing.context_parts import Counters, Policy, Portable, SessionState
from goop_mcp.routing.context_reading import check_context, read_context
from goop_mcp.validation.expectations import Profile
from goop_mcp.validation.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RoutingContext"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingContext(Portable):
    """What the caller knows in addition to the verdict.

    None means unknown; nothing is guessed.

    `expected_agent` is the one that was asked, `phase`, `task_id` and `session_id` are where the
    work stands. `attempt` counts the same request from 1, `iteration` the feedbacks given on this
    edge from 0, `max_iterations` is the number in the message, if one was sent. `previous_rules`
    are those that failed last, as the decision's `state_changes` say: ids, followed by `#` and a
    digest of the values where there were any. `responded` is False when no answer came in time.
    `evidence` are findings of the workspace check that the verdict does not hold. `workflow` is
    what the caller knows of the work when no request says it. `dependencies` and `batch` map
    session ids to their state, the batch in its order; `session_state` is that of the request's own
    session. `known_agents` are those the caller can start in addition to those of the packages.
    `execution_gate` is the result of that gate. `next_command` is the one that the state of the
    project asks for next, with the reply in it; it goes before what the reply names. Without it,
    `profile` and `package_version` choose the usual commands.
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
    next_command: str | None = None
    profile: Profile = "0.x"
    package_version: str | None = None
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        """Raise ContextError, naming the field, for a value of the wrong type: a row would fail."""
        check_context(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the context written as JSON values, keyed by field name.

        Absent fields keep their default. Raises ContextError, which names the field
        (`counters.repair_rounds`), for an unknown key or a wrong value.
        """
        return cls(**read_context(values))
