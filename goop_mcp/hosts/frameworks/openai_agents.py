"""openai-agents: its guardrails only end a run, so the runs are asked again here."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Unpack

from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.retry.ask import Terms, ask_until_accepted
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.replies import Message, Reply, Usage

with needing("agents", extra="openai-agents"):
    from agents import Agent, Runner, RunResult, RunResultStreaming

__all__ = ["CheckedRun", "checked_output", "run_checked"]

# With one of these the history is kept elsewhere, and only what is new is sent.
_KEEPERS = ("session", "conversation_id")


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """What became of a run: the outcome with every attempt, and the last result, None when no run came to an end."""

    outcome: Outcome
    result: RunResult | None


async def run_checked(
    agent: Agent[Any], task: str, *, run_options: dict[str, Any] | None = None, **terms: Unpack[Terms]
) -> CheckedRun:
    """Run `agent` until its report is accepted, as `ask_until_accepted` does on the same `terms`.

    `run_options` are the arguments of `Runner.run`, such as context, session, max_turns.
    """
    conversation = _Runs(agent, run_options or {})
    outcome = await ask_until_accepted(conversation, task, **terms)
    return CheckedRun(outcome, conversation.result)


def checked_output(
    agent: Agent[Any],
    *,
    hand_on_unaccepted: bool = False,
    run_options: dict[str, Any] | None = None,
    **terms: Unpack[Terms],
) -> Callable[[RunResult | RunResultStreaming], Awaitable[str]]:
    """Return the extractor for `agent.as_tool(..., custom_output_extractor=...)`.

    The subagent goes on from its first run until its report is accepted. At the end without one the calling agent is
    told so, in one sentence; with `hand_on_unaccepted` it is given the last reply. `terms` are those of
    `ask_until_accepted`; what a policy of "raise" raises, the framework shows as a tool that failed.
    """

    async def extract(result: RunResult | RunResultStreaming) -> str:
        conversation = _Runs(agent, run_options or {}, first=result)
        outcome = await ask_until_accepted(conversation, reply_text(result.input), **terms)
        return outcome.text if outcome.accepted or hand_on_unaccepted else _told(agent, outcome)

    return extract


def _told(agent: Agent[Any], outcome: Outcome) -> str:
    rules = sorted({rule for rule, _ in outcome.attempts[-1].findings_key}) if outcome.attempts else []
    broken = f", which broke {', '.join(rules)}" if rules else ""
    return (
        f"{agent.name} was asked {len(outcome.attempts)} times and sent no report that can be acted upon{broken}. "
        "Do not take its task for done."
    )


class _Runs:
    """The conversation that the runs of one agent make; `first` has been run already."""

    def __init__(
        self, agent: Agent[Any], options: dict[str, Any], *, first: RunResult | RunResultStreaming | None = None
    ) -> None:
        self.result: Any = first
        self._waiting = first is not None
        self._agent, self._options = agent, options

    async def ask(self, message: Message) -> Reply:
        if not self._waiting:
            self.result = await Runner.run(self._agent, self._input(message), **self._options)
        self._waiting = False
        usage = self.result.context_wrapper.usage
        return Reply(text=reply_text(self.result.final_output), usage=Usage(tokens=usage.total_tokens))

    def _input(self, message: Message) -> Any:  # noqa: ANN401 - the framework's own lists
        kept_elsewhere = any(self._options.get(name) is not None for name in _KEEPERS)
        if message.way != "same_conversation" or self.result is None or kept_elsewhere:
            return message.text
        return [*self.result.to_input_list(), {"role": "user", "content": message.text}]
