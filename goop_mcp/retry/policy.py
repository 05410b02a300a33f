"""How often, how long, at what cost and in which way an agent is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from goop_mcp.errors import PolicyError
from goop_mcp.protocols import RULES
from goop_mcp.retry.replies import Agent, Way

if TYPE_CHECKING:
    from tenacity.wait import wait_base

__all__ = ["RetryPolicy", "WhenExhausted"]

WhenExhausted = Literal["return", "raise", "fallback"]

_WAYS = ("same_conversation", "minimal", "fresh")
_MOST_ATTEMPTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """What bounds a call.

    `deadline`, `max_calls`, `max_tokens` and `max_cost` bound the calls nested in it as well.

    max_attempts: replies that are judged, 1 to 100, the first included.
    deadline: seconds for everything, waiting included; None for no limit.
    attempt_timeout: seconds for one answer; a late one counts as a failed call.
    max_calls: messages to agents, repeated calls and the fallback included; for agents that do not
        say what they cost.
    max_tokens, max_cost: what may be spent. The next call is made while less than that is spent,
        counting what is reserved for calls under way: the most that the agent's last five answers
        used, all that is left before the first. Where the agent does not say what it used, the
        reservation counts.
    ways: how to ask again. The first is used until nothing changes, then the next; after the last
        one the call ends.
    call_retries: how often a call that fails is repeated, 0 to 100, not counted as attempts; the
        circuit may end that sooner.
    retry_call: which failures of a call are worth repeating; None: time-outs, lost connections,
        rate limits and overload, recognised by type, by a `retryable` attribute or by the status
        code.
    backoff: how long to wait before repeating a failed call, a wait of tenacity; None: random up to
        0.5 s, doubled each time up to 30 s. A time named by the failure itself (`retry_after`) is
        waited for at least.
    when_exhausted: what happens when the agent never sends an acceptable reply: "return" the
        outcome, "raise" a NotAcceptedError that carries it, or ask the `fallback`, whose one reply
        is judged too. Where limits of time or cost are reached, nobody is asked any more.
    fallback: an agent, or several, of which each is asked when the one before sent nothing
        acceptable.
    circuit: whether five failed calls in a row, of all who ask the same agent, end further calls at
        once for 30 s, and after each one more that fails for twice as long, up to 10 min.
    mend_form: False rejects a reply whose form had to be repaired (strict mode).
    unmended: rules whose repairs reject the reply although other forms are repaired.
    """

    max_attempts: int = 3
    deadline: float | None = None
    attempt_timeout: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    ways: tuple[Way, ...] = ("same_conversation", "minimal")
    call_retries: int = 4
    retry_call: Callable[[Exception], bool] | None = None
    backoff: "wait_base | None" = None
    when_exhausted: WhenExhausted = "return"
    fallback: Agent | Sequence[Agent] | None = None
    mend_form: bool = True
    unmended: frozenset[str] = frozenset()
    circuit: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be kept. Raises PolicyError, which names the fields."""
        # A list or a set of the caller's is copied: what is frozen must not change with it.
        if isinstance(ways := cast("object", self.ways), list):
            object.__setattr__(self, "ways", tuple(ways))
        if isinstance(unmended := cast("object", self.unmended), set | list | tuple):
            object.__setattr__(self, "unmended", frozenset(unmended))
        if isinstance(self.fallback, list):
            object.__setattr__(self, "fallback", tuple(self.fallback))

        errors = [*_numbers(self), *(_kinds(self) or _names(self))] or _contradictions(self)
        if errors:
            raise PolicyError("the policy cannot be kept: " + "; ".join(errors))

    @property
    def fallbacks(self) -> "tuple[Agent, ...]":
        """The agents to ask in the end, in their order."""
        if self.fallback is None:
            return ()

        several = isinstance(self.fallback, tuple) and not callable(
            getattr(self.fallback, "ask", None)
        )
        return cast("tuple[Agent, ...]", self.fallback if several else (self.fallback,))


def _numbers(policy: RetryPolicy) -> list[str]:
    errors = [
        f"{name} is {value!r}; expected a whole number from {least} to {_MOST_ATTEMPTS}"
        for name, value, least in (
            ("max_attempts", policy.max_attempts, 1),
            ("call_retries", policy.call_retries, 0),
        )
        if type(value) is not int or not least <= value <= _MOST_ATTEMPTS
    ]
    limits: dict[str, float | None] = {
        "deadline": policy.deadline,
        "attempt_timeout": policy.attempt_timeout,
        "max_calls": policy.max_calls,
        "max_tokens": policy.max_tokens,
        "max_cost": policy.max_cost,
    }
    errors += [
        f"{name} is {value!r}; expected a number above 0, or None for no limit"
        for name, value in limits.items()
        if value is not None and (type(value) not in (int, float) or not value > 0)
    ]

    return errors


def _kinds(policy: RetryPolicy) -> list[str]:
    wanted: list[tuple[str, object, bool, str]] = [
        ("ways", policy.ways, isinstance(policy.ways, tuple), f"one or more of {', '.join(_WAYS)}"),
        (
            "unmended",
            policy.unmended,
            isinstance(policy.unmended, frozenset),
            "a set of names of rules",
        ),
        ("mend_form", policy.mend_form, isinstance(policy.mend_form, bool), "True or False"),
        ("circuit", policy.circuit, isinstance(policy.circuit, bool), "True or False"),
        (
            "retry_call",
            policy.retry_call,
            _is_function(policy.retry_call),
            "a function of one failure, or None",
        ),
        ("backoff", policy.backoff, _is_function(policy.backoff), "a wait of tenacity, or None"),
    ]
    return [
        f"{name} is {value!r}; expected {expected}"
        for name, value, fits, expected in wanted
        if not fits
    ]


def _is_function(value: object) -> bool:
    return value is None or callable(value)


def _names(policy: RetryPolicy) -> list[str]:
    errors: list[str] = []
    if not policy.ways or any(way not in _WAYS for way in policy.ways):
        errors.append(f"ways is {policy.ways!r}; expected one or more of {', '.join(_WAYS)}")
    elif len(set(policy.ways)) < len(policy.ways):
        errors.append(f"ways names one twice: {', '.join(policy.ways)}")

    if policy.when_exhausted not in ("return", "raise", "fallback"):
        errors.append(
            f"when_exhausted is {policy.when_exhausted!r}; expected return, raise or fallback"
        )

    unknown = sorted(name for name in policy.unmended if name not in RULES)
    errors += [f"unmended names {name!r}; there is no such rule" for name in unknown]

    return errors


def _contradictions(policy: RetryPolicy) -> list[str]:
    errors: list[str] = []
    deadline, timeout = policy.deadline, policy.attempt_timeout
    if deadline is not None and timeout is not None and timeout > deadline:
        errors.append(f"attempt_timeout ({timeout}) is longer than deadline ({deadline})")
    if policy.when_exhausted == "fallback" and not policy.fallbacks:
        errors.append(
            f"when_exhausted is fallback and fallback is {policy.fallback}; name an agent"
        )

    if policy.fallback is not None and policy.when_exhausted != "fallback":
        errors.append(
            f"fallback is given and when_exhausted is {policy.when_exhausted}; expected fallback"
        )

    repeating = {"retry_call": policy.retry_call, "backoff": policy.backoff}
    errors += [
        f"{name} is given and call_retries is 0, which repeats no call; leave one of them out"
        for name, value in repeating.items()
        if value is not None and policy.call_retries == 0
    ]
    if policy.unmended and not policy.mend_form:
        errors.append(
            "unmended is given and mend_form is False, which repairs nothing; leave one of them out"
        )

    return errors
