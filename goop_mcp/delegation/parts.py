"""The parts of a delegation graph: agents, tasks, gates and limits."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Final, Literal

__all__ = [
    "NO_LIMITS",
    "Gate",
    "GraphAgent",
    "GraphGate",
    "GraphLimits",
    "GraphRetry",
    "GraphStep",
    "GraphTask",
    "Task",
    "attempts_of",
]

AgentKind = Literal[
    "claude-code", "opencode", "codex", "acp", "command", "python", "person", "host"
]
Permissions = Literal["allow", "reject"]
When = Literal["accepted", "ended", "any"]
OnCrash = Literal["resume", "restart", "person"]
Workspace = Literal["project", "worktree"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphLimits:
    """The limits of a whole run; None means no limit.

    parallel: tasks at once, in all runners together, 1 to 1,000.
    deadline: seconds.
    max_tokens, max_cost: reserved before each call; cost in the currency of the agents.
    max_calls: messages to agents.
    max_tasks: those that agents add included, 1 to 10,000.
    max_depth: of tasks that agents add, 0 to 100.
    max_rounds: how often one feedback edge may be followed, 0 to 100.
    """

    parallel: int = 4
    deadline: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    max_tasks: int = 200
    max_depth: int = 3
    max_rounds: int = 3


NO_LIMITS: Final = GraphLimits()
"""The limits of a graph that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRetry:
    """How often an agent is asked for one task; None leaves it to the policy's own default.

    max_attempts: replies that are judged, 1 to 100.
    attempt_timeout: seconds for one answer.
    call_retries: how often a call that failed is repeated, 0 to 100.
    strategies: how the agent is asked again, in this order.
    """

    max_attempts: int | None = None
    attempt_timeout: float | None = None
    call_retries: int | None = None
    strategies: tuple[str, ...] = ()


_USUAL: Final = GraphRetry()


@dataclass(frozen=True, slots=True)
class GraphAgent:
    """An agent by its name, and how it is run.

    run: a program that is known (`claude-code`, `opencode`, `codex`), one that speaks the Agent
        Client Protocol (`acp`), any `command`, a `python` function, a `person`, or `host`: whoever
        finishes the task from outside.
    options, program: for the known programs: words of each command, and another program.
    command, on_stdin: the words of a command; the message is its last word, or standard input.
        `acp` has its words in `command` as well.
    permissions: what an `acp` agent is answered that asks a person for a permission.
    call: `module:function`; None where the caller gives the agent itself.
    parallel: tasks of this agent at once, None for no limit of its own.
    rate: calls per second, None for no limit.
    fallback: the agent that is asked when this one sent nothing acceptable.
    """

    name: str
    _: KW_ONLY
    run: AgentKind = "python"
    options: tuple[str, ...] = ()
    program: str | None = None
    command: tuple[str, ...] = ()
    on_stdin: bool = True
    permissions: Permissions = "reject"
    call: str | None = None
    parallel: int | None = None
    rate: float | None = None
    retry: GraphRetry = _USUAL
    fallback: str | None = None

    @property
    def by_hand(self) -> bool:
        """Whether the tasks of this agent are finished from outside, and by no call of ours."""
        return self.run in ("person", "host")


@dataclass(frozen=True, slots=True)
class GraphTask:
    """One task.

    prompt: with placeholders such as `${plan.summary}`; empty: the reports of what it needs.
    needs: tasks and gates that come before it.
    when: whether it needs all of them accepted (an `optional` one may fail), all ended, or any one
        accepted.
    priority: the higher one first, -1,000 to 1,000.
    timeout: seconds for all attempts together.
    max_attempts: how often it is asked, 1 to 100; None: as often as its agent.
    exclusive: names; two tasks with one in common never run at once.
    workspace: `worktree` is a git worktree of its own.
    on_crash: what happens to a call whose end is not known.
    feedback_to: tasks before it that its rejecting report sends back to.
    expands: whether its report may add tasks.
    protocol: of its report, None for that of the graph.
    """

    id: str
    _: KW_ONLY
    agent: str
    prompt: str = field(default="", repr=False)
    needs: tuple[str, ...] = ()
    when: When = "accepted"
    optional: bool = False
    priority: int = 0
    timeout: float | None = None
    max_attempts: int | None = None
    exclusive: tuple[str, ...] = ()
    workspace: Workspace = "project"
    on_crash: OnCrash = "resume"
    feedback_to: tuple[str, ...] = ()
    expands: bool = False
    protocol: str | None = None


@dataclass(frozen=True, slots=True)
class GraphGate:
    """A question to a person that stands between tasks.

    answers: what may be answered, in the order in which they are shown. The first lets what
        follows begin, each other one skips it.
    timeout, default: after so many seconds `default` is taken; without both it waits for ever.
        The first answer is never taken so: nothing begins because nobody answered.
    """

    id: str
    _: KW_ONLY
    question: str
    needs: tuple[str, ...] = ()
    when: When = "accepted"
    answers: tuple[str, ...] = ("yes", "no")
    timeout: float | None = None
    default: str | None = None

    @property
    def ends_by_itself(self) -> bool:
        """Whether the gate takes its default when nobody answers in time."""
        return self.default is not None and self.default != self.answers[0]


def attempts_of(agent: GraphAgent, task: GraphTask) -> int:
    """Return how many replies of `agent` are judged for `task`."""
    # The last one is the default of RetryPolicy.
    return task.max_attempts or agent.retry.max_attempts or 3


Task, Gate = GraphTask, GraphGate
"""Their names in `goop_mcp.delegation`, where nothing else is called so."""

GraphStep = GraphTask | GraphGate
"""What has an id, needs something and comes before something."""
