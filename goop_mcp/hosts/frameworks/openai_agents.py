"""openai-agents: its guardrails only end a run, so the runs are asked again here."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Unpack

from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.retry.ask import RetryOptions, ask_until_accepted
from goop_mcp.retry.attempts import NotAcceptedError, Outcome
from goop_mcp.retry.calls import AgentInterruptedError
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.replies import Message, Reply, Usage

with needing("agents", extra="openai-agents"):
    from agents import (
        Agent,
        ItemHelpers,
        ModelBehaviorError,
        ModelResponse,
        RunContextWrapper,
        RunErrorHandlerInput,
        RunHooks,
        Runner,
        RunResult,
        RunResultStreaming,
        RunState,
        ToolApprovalItem,
    )

__all__ = ["CheckedRun", "checked_output", "run_checked"]

# With one of these the provider keeps the history, and only what is new is sent.
_KEPT_BY_PROVIDER: Final = ("conversation_id", "previous_response_id", "auto_previous_response_id")


OnStop = Callable[[Outcome], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """The outcome with every attempt, and the result of the last run that ended, None without.

    `interruptions` are the tool calls that wait for a person's approval; the outcome then stopped
    because it was "interrupted". Approve or reject them on `result.to_state()` and give that state
    to `run_checked` to go on.
    """

    outcome: Outcome
    result: RunResult | None

    @property
    def interruptions(self) -> list[ToolApprovalItem]:
        """The tool calls that wait for a person, empty when none does."""
        return [] if self.result is None else list(self.result.interruptions)


async def run_checked(
    agent: Agent[Any],
    task: "str | RunState[Any]",
    *,
    run_options: dict[str, Any] | None = None,
    on_stop: OnStop | None = None,
    **terms: Unpack[RetryOptions],
) -> CheckedRun:
    """Run `agent` until its report is accepted, as `ask_until_accepted` does on the same `terms`.

    `task` is the user's message, or the state of an interrupted run whose approvals are decided.
    `run_options` are the arguments of `Runner.run`, such as context, session, max_turns. `on_stop`
    receives the outcome. After a handoff the agent that answered is the one that is asked again,
    and a call of the model that failed is repeated where the run stood, so that no tool runs twice.
    """
    state = None if isinstance(task, str) else task
    conversation = _Runs(agent, run_options or {}, state=state)
    message = task if state is None else _text_of_input(state.to_json()["original_input"])
    outcome = await _outcome_of(conversation, message, _reporting(terms, on_stop))

    return CheckedRun(outcome, conversation.result)


def _reporting(terms: RetryOptions, on_stop: OnStop | None) -> RetryOptions:
    """Return `terms` with `on_stop` as one more of their hooks."""
    if on_stop is None:
        return terms

    given = terms.get("hooks", ())
    hooks = (given,) if isinstance(given, Hooks) else given
    return terms | RetryOptions(hooks=(*hooks, Hooks(on_stop=on_stop)))


async def _outcome_of(conversation: "_Runs", task: str, terms: RetryOptions) -> Outcome:
    """Ask until the report is accepted; the session keeps every turn, also where that raises."""
    try:
        outcome = await ask_until_accepted(conversation, task, **terms)
    except NotAcceptedError:
        await conversation.keep_in_session()
        raise

    await conversation.keep_in_session()

    return outcome


def _text_of_input(given: object) -> str:
    """Return what the user asked for: the text itself, or that of the user's messages in a list."""
    if not isinstance(given, list):
        return reply_text(given)

    asked = [
        each.get("content")
        for each in given
        if isinstance(each, dict) and each.get("role") == "user"
    ]

    return "\n\n".join(reply_text(content) for content in asked) or reply_text(given)


def checked_output(
    agent: Agent[Any],
    *,
    hand_on_unaccepted: bool = False,
    run_options: dict[str, Any] | None = None,
    on_stop: OnStop | None = None,
    **terms: Unpack[RetryOptions],
) -> Callable[[RunResult | RunResultStreaming], Awaitable[str]]:
    """Return the extractor for `agent.as_tool(..., custom_output_extractor=...)`.

    The subagent goes on from its first run until its report is accepted. At the end without one the
    calling agent reads so, in one sentence; with `hand_on_unaccepted` it is given the last reply.
    `on_stop` receives the outcome. `terms` are those of `ask_until_accepted`; what a policy of
    "raise" raises, the framework shows as a tool that failed.
    """

    async def extract(result: RunResult | RunResultStreaming) -> str:
        conversation = _Runs(agent, run_options or {}, first=result)
        task = _text_of_input(result.input)
        outcome = await _outcome_of(conversation, task, _reporting(terms, on_stop))

        return (
            outcome.text
            if outcome.accepted or hand_on_unaccepted
            else _not_accepted(agent, outcome)
        )

    return extract


def _not_accepted(agent: Agent[Any], outcome: Outcome) -> str:
    last = outcome.attempts[-1] if outcome.attempts else None
    if outcome.stopped_because == "interrupted" and last is not None:
        return f"{agent.name} did not finish: {last.failure}. Do not take its task for done."

    rules = sorted({rule for rule, _ in last.findings_key}) if last else []
    broken = f", which broke {', '.join(rules)}" if rules else ""

    return (
        f"{agent.name} was asked {len(outcome.attempts)} times and sent no report that can be acted"
        f" upon{broken}. Do not take its task for done."
    )


class _Progress(RunHooks[Any]):
    """Notes how far a run came: the agent that called its model last, and with which input.

    `invalid_response` is the last response when it is not the structured output that the agent
    declares. Hooks are called for this run alone, not for agents that are its tools. Those that the
    caller gave are called as well.
    """

    def __init__(self, agent: Agent[Any], options: dict[str, Any]) -> None:
        self.agent = agent
        self.items: list[Any] | None = None
        self.invalid_response: ModelResponse | None = None
        self._given = options.get("hooks") or RunHooks[Any]()
        self._given_handlers = options.get("error_handlers") or {}

    @property
    def error_handlers(self) -> dict[str, Any]:
        """The caller's handlers of errors, and ours for output that cannot be parsed."""
        return {**self._given_handlers, "invalid_final_output": self._keep_invalid}

    async def _keep_invalid(self, raised: RunErrorHandlerInput[Any]) -> Any:  # noqa: ANN401
        """Keep the response, unless the caller's own handler makes an output of it.

        The exception itself does not carry the text: the framework redacts it by default.
        """
        given = self._given_handlers.get("invalid_final_output")
        result = None if given is None else given(raised)
        if inspect.isawaitable(result):
            result = await result

        self.invalid_response = raised.run_data.raw_responses[-1] if result is None else None

        return result

    @property
    def invalid_text(self) -> str:
        """The text of the response that could not be parsed."""
        output = [] if self.invalid_response is None else self.invalid_response.output
        return "".join(ItemHelpers.extract_text(each) or "" for each in output)

    @property
    def history(self) -> list[Any]:
        """The input of the last call of the model, and its response when that was not parsed."""
        answered = [] if self.invalid_response is None else self.invalid_response.to_input_items()
        return [*(self.items or ()), *answered]

    async def on_llm_start(
        self,
        context: RunContextWrapper[Any],
        agent: Agent[Any],
        system_prompt: str | None,
        input_items: list[Any],
    ) -> None:
        self.agent, self.items, self.invalid_response = agent, list(input_items), None
        await self._given.on_llm_start(context, agent, system_prompt, input_items)

    # As the framework calls it
    async def on_llm_end(self, *event: Any, **named: Any) -> None:  # noqa: ANN401
        await self._given.on_llm_end(*event, **named)

    # As the framework calls it
    async def on_agent_start(self, *event: Any, **named: Any) -> None:  # noqa: ANN401
        await self._given.on_agent_start(*event, **named)

    # As the framework calls it
    async def on_agent_end(self, *event: Any, **named: Any) -> None:  # noqa: ANN401
        await self._given.on_agent_end(*event, **named)

    # As the framework calls it
    async def on_handoff(self, *event: Any, **named: Any) -> None:  # noqa: ANN401
        await self._given.on_handoff(*event, **named)

    # As the framework calls it
    async def on_tool_start(self, *event: Any, **named: Any) -> None:  # noqa: ANN401
        await self._given.on_tool_start(*event, **named)

    # As the framework calls it
    async def on_tool_end(self, *event: Any, **named: Any) -> None:  # noqa: ANN401
        await self._given.on_tool_end(*event, **named)


class _Runs:
    """The conversation that the runs of one agent make.

    `first` has been run already; `state` is that of an interrupted run, to be resumed.
    """

    def __init__(
        self,
        agent: Agent[Any],
        options: dict[str, Any],
        *,
        first: RunResult | RunResultStreaming | None = None,
        state: "RunState[Any] | None" = None,
    ) -> None:
        self.result: Any = first
        self._is_first_answered = first is None
        self._agent, self._options, self._state = agent, options, state
        self._session = options.get("session")
        # All runs of one agent share what is known of its usage, and the circuit.
        self.agent_key, self.name = agent, agent.name
        self._before_task: list[Any] | None = None
        self._is_outside_session = False
        self._failed: tuple[Message, _Progress] | None = None
        # The last run when its structured output could not be parsed: such a run has no result.
        self._invalid_run: _Progress | None = None

    async def ask(self, message: Message) -> Reply:
        if self._is_first_answered:
            usage = await self._run(message)
        else:
            # The context is shared with the calling agent; only the responses are this run's own.
            self._is_first_answered = True
            usage = _tokens(sum(_total(response.usage) for response in self.result.raw_responses))

        if self._invalid_run is not None:
            # Judged like any other reply: the feedback shows what is expected.
            text = self._invalid_run.invalid_text
            return Reply(text=text, usage=usage, conversation_id=self._conversation_id())

        if self.result.interruptions:
            tools = ", ".join(sorted({each.name or "a tool" for each in self.result.interruptions}))
            waiting = AgentInterruptedError(f"the run waits for a person to approve {tools}")
            waiting.usage = usage

            raise waiting

        text = reply_text(self.result.final_output)

        return Reply(text=text, usage=usage, conversation_id=self._conversation_id())

    def _conversation_id(self) -> str | None:
        return self._options.get("conversation_id") or getattr(self._session, "session_id", None)

    async def _run(self, message: Message) -> Usage | None:
        if self._session is not None and self._before_task is None:
            self._before_task = _before_task(
                await self._session.get_items(), is_under_way=self._state is not None
            )

        agent, given, changed = self._next_run(message)
        options = {**self._options, **changed}
        progress = _Progress(agent, self._options)
        options["hooks"], options["error_handlers"] = progress, progress.error_handlers

        # A context of our own holds what a run used that failed.
        before = 0
        if isinstance(given, RunState):
            before = given.to_json()["context"]["usage"]["total_tokens"]
        elif isinstance(options.get("context"), RunContextWrapper):
            before = _total(options["context"].usage)
        else:
            options["context"] = RunContextWrapper(context=options.get("context"))

        try:
            self.result = await Runner.run(agent, given, **options)
        except BaseException as failure:
            context = options.get("context")
            usage = None if context is None else _tokens(_total(context.usage) - before)
            if isinstance(failure, ModelBehaviorError) and progress.invalid_response is not None:
                # The run has ended, with a response that the framework could not parse.
                self._failed, self._state, self._invalid_run = None, None, progress
                if self._session is not None and not self._is_outside_session:
                    # The framework saves a turn only when it is complete.
                    await self._session.add_items(progress.invalid_response.to_input_items())

                return usage

            self._failed = message, progress
            # Where the attempt looks for what a failed call used; set each time, as one may be
            # raised twice.
            vars(failure)["usage"] = usage

            raise

        self._failed = self._state = self._invalid_run = None

        return _tokens(_total(self.result.context_wrapper.usage) - before)

    def _next_run(self, message: Message) -> tuple[Agent[Any], Any, dict[str, Any]]:
        """Return the agent to run, its input, and the options that differ from the caller's."""
        if self._state is not None:
            return self._agent, self._state, {}

        if (
            self._failed is not None
            and self._failed[0].way == message.way
            and self._failed[0].text == message.text
        ):
            # The call of the model is repeated, not the run: tools that ran have had their effect.
            progress = self._failed[1]
            if progress.items is not None:
                in_session = self._session is not None and not self._is_outside_session
                return progress.agent, [] if in_session else progress.items, self._outside_session()

        if message.way == "same_conversation" and (self.result or self._invalid_run):
            failed = self._invalid_run
            agent = self.result.last_agent if failed is None else failed.agent
            if self._session is not None and not self._is_outside_session:
                return agent, message.text, {}

            # What the provider keeps is not sent to it a second time.
            if self._options.get("conversation_id"):
                return agent, message.text, {}
            if any(self._options.get(name) for name in _KEPT_BY_PROVIDER):
                invalid = None if failed is None else failed.invalid_response
                last = self.result.last_response_id if invalid is None else invalid.response_id
                return agent, message.text, {"previous_response_id": last}

            return agent, [*self._history(), _user(message)], self._outside_session()

        if message.way != "first" and self._session is not None:
            # What the session got from the rejected runs is left out; it stays in the session.
            self._is_outside_session = True
            return (
                self._agent,
                [*(self._before_task or ()), _user(message)],
                self._outside_session(),
            )

        return self._agent, message.text, {}

    def _history(self) -> list[Any]:
        """Return the whole conversation of the last run."""
        if self._invalid_run is not None:
            return self._invalid_run.history
        return list(self.result.to_input_list())

    def _outside_session(self) -> dict[str, Any]:
        return {"session": None} if self._is_outside_session else {}

    async def keep_in_session(self) -> None:
        """Add the turns outside of the session to it, for the next task of the user."""
        if self._session is None or not self._is_outside_session:
            return
        if self.result is not None or self._invalid_run is not None:
            await self._session.add_items(self._history()[len(self._before_task or ()) :])


def _before_task(items: Sequence[Any], *, is_under_way: bool) -> list[Any]:
    """Return what a session held before the task.

    A run under way has added the user's message and all after it, which ends with calls of tools
    that wait for an answer; no model accepts those without one.
    """
    asked = [place for place, each in enumerate(items) if each.get("role") == "user"]
    return list(items[: asked[-1]] if is_under_way and asked else items)


def _user(message: Message) -> dict[str, str]:
    return {"role": "user", "content": message.text}


def _total(usage: Any) -> int:  # noqa: ANN401 - the framework's
    return int(usage.total_tokens or usage.input_tokens + usage.output_tokens)


def _tokens(total: int) -> Usage | None:
    """Return the usage of `total` tokens, None for 0: the provider did not report any."""
    return Usage(tokens=total) if total > 0 else None
