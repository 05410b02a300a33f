"""From the agents of a graph to agents that can be asked, one for each task."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from goop_mcp.delegation.fields import GraphProblem, suggestion
from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.delegation.parts import GraphAgent, GraphRetry, GraphTask
from goop_mcp.errors import GoopError
from goop_mcp.printing import printed_to_stderr
from goop_mcp.retry.acp import AcpAgent
from goop_mcp.retry.command_line import Answer, CommandLineAgent, claude_code, codex, opencode
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.programs import OnStart
from goop_mcp.retry.replies import Agent, Message, Reply
from goop_mcp.validation.findings import excerpt

__all__ = [
    "AgentMaker",
    "AgentMakers",
    "AgentSession",
    "GraphAgentError",
    "TaskCall",
    "agent_makers",
    "commands_of",
    "policy_of",
]


class GraphAgentError(GoopError, ValueError):
    """Raised for an agent of a graph that cannot be made, such as a function that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskCall:
    """What an agent is made for: one round of one task of one run.

    folder: where its programs run.
    session: the conversation to go on with, None for a new one.
    on_program: is called with the process id of each program that is started.
    """

    run: str
    task: str
    round: int = 0
    folder: Path
    session: str | None = None
    on_program: OnStart | None = None

    @property
    def key(self) -> str:
        """The idempotency key: the same however often the task is asked in this round."""
        return f"{self.run}/{self.task}/{self.round}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSession:
    """A conversation of a host, of which the host keeps a transcript.

    `host` is "claude-code", "codex" or "opencode", whose `program` ran in `folder` with this
    `environment`; `id` is what the host calls the conversation.
    """

    host: str
    id: str
    program: str
    folder: Path
    environment: Mapping[str, str] = field(repr=False)


AgentMaker = Callable[[TaskCall], Agent]
"""Makes the agent for one task: an agent is one conversation, and tasks run at once."""


class AgentMakers(dict[str, AgentMaker]):
    """What makes the agents of a graph, by their names; `digest` is that of the graph."""

    def __init__(self, digest: str) -> None:
        """Begin without any."""
        super().__init__()
        self.digest = digest


class ProgramAgent:
    """A program that is shown in its environment what it is called for.

    One that speaks ACP lives for a whole conversation, and sees the attempt at which that began.
    """

    def __init__(
        self, program: CommandLineAgent | AcpAgent, call: TaskCall, agent: GraphAgent
    ) -> None:
        program.session = call.session
        self._agent = agent
        program.on_start = call.on_program
        self._program, self._call = program, call
        # The retry loop knows by it that two agents fail together.
        self.agent_key, self.name = program.agent_key, program.name

    @property
    def session(self) -> AgentSession | None:
        """The conversation of the last answer; None for a program that keeps no transcript."""
        id = self._program.session
        host: str = self._agent.run
        # An ACP program says its name when it starts, so before its first answer none is known.
        # Of what speaks ACP, the program itself names what it is.
        if isinstance(self._program, AcpAgent):
            host = _HOSTS_OF_ACP.get(self._program.agent_name or "", "")
        if host not in _ADAPTERS or id is None:
            return None

        return AgentSession(
            host=host,
            id=id,
            program=commands_of(self._agent)[0],
            folder=self._call.folder,
            # Copied: a transcript is looked for where the host wrote it, even if the environment
            # changes later.
            environment=os.environ.copy(),
        )

    @property
    def has_session(self) -> bool:
        """Whether there is a conversation to go on with."""
        return self._program.session is not None

    async def ask(self, message: Message) -> Reply:
        """Run the program once, or ask the one that runs."""
        # Set for each message: the attempt changes, and a crash must not leave the old number.
        self._program.environment = {
            **os.environ,
            "GOOP_RUN": self._call.run,
            "GOOP_TASK": self._call.task,
            "GOOP_ATTEMPT": str(message.attempt),
            "GOOP_IDEMPOTENCY_KEY": self._call.key,
        }
        # The first message of a round, or after a crash, goes on in the conversation of the task;
        # to the program it would be the first one ever, which begins another.
        # Not so with ACP, where a first message goes on in a session that can be continued.
        if (
            message.way == "first"
            and self._program.session is not None
            and isinstance(self._program, CommandLineAgent)
        ):
            message = replace(message, way="same_conversation")
        return await self._program.ask(message)

    async def aclose(self) -> None:
        """End the program, where it lives longer than one message."""
        if isinstance(self._program, AcpAgent):
            await self._program.aclose()


def agent_makers(
    graph: Graph, *, project: Path, given: Mapping[str, Agent] | None = None
) -> AgentMakers:
    """Return for each agent that is called what makes it; persons and hosts are not called.

    Nobody is asked whether the graph is trusted: `trusted_makers` of `trusting` does that before.

    `given` replaces agents of the graph; a class is instantiated for each task, any other agent is
    shared by all its tasks. Python functions are imported now, with `project` on the path. Raises
    GraphAgentError for a function that is not there, and GraphError, before anything has run, for
    agents that nobody gave and programs that are not installed.
    """
    given = given or {}
    used = _used_agents(graph)
    makers = AgentMakers(graph.digest)
    problems: list[GraphProblem] = []

    # Before anything is imported: a name that is misspelled must not run code first.
    if unknown := [name for name in given if name not in graph.agent_named]:
        hint = suggestion(unknown[0], graph.agent_named)
        raise GraphAgentError(f"the graph has no agent {excerpt(unknown[0])!r}; {hint}")

    for agent in graph.agents:
        if agent.name in given:
            makers[agent.name] = partial(_shared, given[agent.name])
        elif agent.run == "python" and agent.call is not None:
            makers[agent.name] = partial(_shared, _function(agent, project))
        elif agent.run == "python":
            if agent.name in used:
                hint = "give it in agents=, as who began the run did, or define it in the graph"
                problems.append(GraphProblem(("agents", agent.name), f"nobody gave it; {hint}"))
        elif not agent.by_hand:
            makers[agent.name] = partial(_program, agent)
            words = commands_of(agent)
            # Only those that are used: a graph may name agents of other machines.
            if agent.name in used and shutil.which(words[0]) is None:
                problems.append(
                    GraphProblem(
                        ("agents", agent.name),
                        f"there is no program {excerpt(words[0])!r}; install it or name its place",
                    )
                )

    if problems:
        raise GraphError(problems)
    return makers


def commands_of(agent: GraphAgent) -> tuple[str, ...]:
    """Return the words that a program agent begins with, as shown to a person who trusts it.

    Empty for an agent that runs no program.
    """
    if agent.run in ("command", "acp"):
        return agent.command
    if agent.run == "python" and agent.call is not None:
        return ("python", agent.call)
    if agent.run in ("claude-code", "opencode", "codex"):
        return (agent.program or _DEFAULT_PROGRAMS[agent.run], *agent.options)
    return ()


def policy_of(agent: GraphAgent, task: GraphTask, *, fallback: Agent | None = None) -> RetryPolicy:
    """Return how often and how long `agent` is asked for `task`.

    `fallback` is asked when it sent nothing acceptable.
    """
    policy = _policy_of(agent.retry, task.max_attempts, task.timeout)
    if fallback is None:
        return policy
    return replace(policy, fallback=fallback, when_exhausted="fallback")


# Nearly all tasks of a graph have the same, and a policy is checked when it is made.
@lru_cache(maxsize=64)
def _policy_of(retry: GraphRetry, max_attempts: int | None, deadline: float | None) -> RetryPolicy:
    # None means the default of the policy, which is named in one place only.
    values: dict[str, Any] = {
        "max_attempts": retry.max_attempts if max_attempts is None else max_attempts,
        "attempt_timeout": retry.attempt_timeout,
        "call_retries": retry.call_retries,
        "strategies": retry.strategies or None,
        "deadline": deadline,
        # Circuits and budgets are those of the whole run, in the store.
        "circuit": False,
    }
    return RetryPolicy(**{name: value for name, value in values.items() if value is not None})


_DEFAULT_PROGRAMS: Mapping[str, str] = {
    "claude-code": "claude",
    "opencode": "opencode",
    "codex": "codex",
}
# Those whose sessions over ACP are the same as without it, by the names that they give themselves.
_HOSTS_OF_ACP: Mapping[str, str] = {"OpenCode": "opencode"}
_ADAPTERS: Mapping[str, Callable[..., CommandLineAgent]] = {
    "claude-code": claude_code,
    "opencode": opencode,
    "codex": codex,
}


def _used_agents(graph: Graph) -> set[str]:
    """Return the agents that tasks name, and their fallbacks; the others need not be there."""
    used = {task.agent for task in graph.tasks}
    # The list grows while it is read: a fallback may have a fallback.
    names = list(used)
    for name in names:
        following = graph.agent_named[name].fallback
        if following is not None and following not in used:
            used.add(following)
            names.append(following)

    # Whoever may add tasks may name any agent of the graph.
    return used if not any(task.expands for task in graph.tasks) else set(graph.agent_named)


def _shared(agent: Agent, _call: TaskCall) -> Agent:
    # A class is a new agent for each task: conversations of two tasks must not meet.
    return cast("Agent", agent()) if isinstance(agent, type) else agent


def _program(agent: GraphAgent, call: TaskCall) -> Agent:
    if agent.run == "acp":
        spoken_to = AcpAgent(
            words=agent.command,
            folder=call.folder,
            permissions=agent.permissions,
            # Agents with the same command are the same agent to the circuit and to fallbacks.
            agent_key="\0".join(agent.command),
            name=agent.name,
        )
        return ProgramAgent(spoken_to, call, agent)
    if agent.run != "command":
        words = commands_of(agent)
        adapter = _ADAPTERS[agent.run]
        made = adapter(*words[1:], program=words[0], folder=call.folder)
        return ProgramAgent(made, call, agent)

    # A plain command has no conversation: it gets the whole task each time. The message is guarded
    # where it becomes a word.
    def command(text: str, _session: str | None) -> list[str]:
        return [*agent.command, *(() if agent.on_stdin else (text,))]

    plain = CommandLineAgent(
        command=command,
        read=Answer,
        on_stdin=agent.on_stdin,
        folder=call.folder,
        agent_key="\0".join(agent.command),
        name=agent.name,
    )

    return ProgramAgent(plain, call, agent)


def _function(agent: GraphAgent, project: Path) -> Agent:
    """Import `module:function`; what the module prints goes to standard error."""
    place, _, name = (agent.call or "").partition(":")
    # A console script does not have the current folder on its path.
    # At the end of the path: a module of the project must not replace one that is installed.
    if str(project) not in sys.path:
        sys.path.append(str(project))

    try:
        with printed_to_stderr():
            module = import_module(place)
    except (Exception, SystemExit) as error:  # the code of a module may raise anything
        raise GraphAgentError(
            f"agent {agent.name!r}: {place} cannot be imported"
            f" ({type(error).__name__}: {excerpt(str(error), 200)}); fix that first"
        ) from error

    found = getattr(module, name, None)
    if not callable(found) and not hasattr(found, "ask"):
        raise GraphAgentError(
            f"agent {agent.name!r}: {place} has no function {name!r}; expected one from a message"
            " to a reply, or an object with ask"
        )

    return cast("Agent", found)
