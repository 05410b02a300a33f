"""Parts of a context: policy, limits, counters and the state of other sessions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar

__all__ = ["Adoption", "Counters", "Policy", "Portable", "RoutingLimits", "SessionState"]

Parts = TypeVar("Parts", bound="Portable")

Adoption = Literal["optional", "pilot", "expanded", "mandatory"]


class Portable:
    """A dataclass that can be pickled and copied although it holds read-only mappings."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def __reduce__(self) -> tuple[Callable[..., "Portable"], tuple[object, ...]]:
        """Return plain dicts in place of the read-only mappings, and the names to restore."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        # MappingProxyType supports neither pickle nor deepcopy: plain dicts are stored instead, and
        # the constructor is called with mappings made from them.
        read_only = [name for name, value in values.items() if isinstance(value, MappingProxyType)]

        return _rebuilt, (
            type(self),
            values | {name: dict(values[name]) for name in read_only},
            read_only,
        )


def _rebuilt(kind: type[Parts], values: dict[str, Any], read_only: Iterable[str]) -> Parts:
    return kind(**values | {name: MappingProxyType(values[name]) for name in read_only})


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingLimits(Portable):
    """How often something is tried before a person is asked; each from 0.

    `feedback_iterations` holds for every edge that `feedback_edges` does not name; its keys are
    `test`, `review`, `analyze`, the agents a feedback comes from. Delays are in seconds.
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
class Counters(Portable):
    """How often something has happened already; the caller stores what `state_changes` contains.

    One set belongs to one key: an agent, a task, an edge, a session. `prerequisites` counts the
    runs of each agent that was run as a prerequisite of this request.
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
    """Another session: its `state` as the caller names it, its `result`, and what it waits for."""

    state: str
    result: Any = None
    depends_on: tuple[str, ...] = ()
