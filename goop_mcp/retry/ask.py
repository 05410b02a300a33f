"""One line around an agent call: what users import."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from typing import TypedDict

import anyio
from anyio.from_thread import start_blocking_portal

from goop_mcp.retry.asking import Asking
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.judging import Task
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits

__all__ = ["EnvelopedAgent", "ask_until_accepted", "ask_until_accepted_sync", "enveloped"]

_DEFAULT = RetryPolicy()


class _Arguments(TypedDict):
    protocol: str
    expected: Expectations | None
    policy: RetryPolicy
    hooks: Sequence[Hooks]
    limits: Limits


async def ask_until_accepted(
    agent: Agent,
    prompt: str,
    *,
    protocol: str = "auto",
    expected: Expectations | None = None,
    policy: RetryPolicy = _DEFAULT,
    hooks: Sequence[Hooks] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Outcome:
    """Send `prompt` to `agent` and send its reply back with what is wrong, until the envelope is accepted.

    `agent` is a function from message to reply that keeps its own conversation (async, or any other, which then runs
    on a thread), or a `Conversation`. `protocol`, `expected` and `limits` are those of `validate`. Stops when a reply
    is accepted, at a limit of `policy`, when the replies bring nothing new, or when the agent fails for good.

    Returns an outcome in every case but a cancellation, which goes through, and with `when_exhausted="raise"`
    NotAcceptedError; `outcome.accepted` says whether the reply may be acted upon (INTERFACES, section 3). Raises
    UnknownNameError for a protocol or phase that does not exist. Works under asyncio and trio.
    """
    task = Task(prompt=prompt, protocol=protocol, expected=expected, limits=limits)
    return await Asking(agent, task, policy=policy, hooks=hooks).run()


def ask_until_accepted_sync(
    agent: Agent,
    prompt: str,
    *,
    protocol: str = "auto",
    expected: Expectations | None = None,
    policy: RetryPolicy = _DEFAULT,
    hooks: Sequence[Hooks] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> Outcome:
    """Do what `ask_until_accepted` does, and wait for it.

    Inside a running event loop the work is done on a thread with a loop of its own, while the loop that called stands
    still: an async agent that belongs to the outer loop would then wait for ever, so use the async twin there.
    """
    ask = partial(
        ask_until_accepted,
        agent,
        prompt,
        protocol=protocol,
        expected=expected,
        policy=policy,
        hooks=hooks,
        limits=limits,
    )
    if not _loop_is_running():
        return anyio.run(ask)
    with start_blocking_portal() as portal:
        return portal.call(ask)


def _loop_is_running() -> bool:
    try:
        anyio.get_current_task()
    except (RuntimeError, anyio.NoEventLoopError):
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class enveloped:  # noqa: N801 - used as a decorator
    """What is expected of a whole class of agents; put it on functions or methods, or call it with an agent.

    The fields are the arguments of `ask_until_accepted`. What it is put on is then asked until its report is accepted,
    and returns the outcome.
    """

    protocol: str = "auto"
    expected: Expectations | None = None
    policy: RetryPolicy = _DEFAULT
    hooks: Sequence[Hooks] = ()
    limits: Limits = DEFAULT_LIMITS

    def __call__(self, agent: Agent) -> "EnvelopedAgent":
        """Return `agent` wrapped."""
        return EnvelopedAgent(agent, self)


class EnvelopedAgent:
    """An agent that answers with outcomes: `await agent(prompt)`, or `agent.sync(prompt)`."""

    def __init__(self, agent: Agent, terms: enveloped) -> None:
        self.agent = agent
        self.terms = terms
        update_wrapper(self, agent)  # type: ignore[arg-type]  # an object without a name has nothing to take over

    async def __call__(self, prompt: str) -> Outcome:
        """Ask until the report is accepted."""
        return await ask_until_accepted(self.agent, prompt, **self._arguments())

    def sync(self, prompt: str) -> Outcome:
        """Ask, and wait for the outcome."""
        return ask_until_accepted_sync(self.agent, prompt, **self._arguments())

    def __get__(self, instance: object, owner: type | None = None) -> "EnvelopedAgent":
        """Return the agent of `instance` where this stands on a method of its class."""
        if instance is None or not callable(self.agent):
            return self
        method: Callable[..., Awaitable[str] | str] = self.agent
        return EnvelopedAgent(partial(method, instance), self.terms)

    def _arguments(self) -> _Arguments:
        terms = self.terms
        return _Arguments(
            protocol=terms.protocol,
            expected=terms.expected,
            policy=terms.policy,
            hooks=terms.hooks,
            limits=terms.limits,
        )
