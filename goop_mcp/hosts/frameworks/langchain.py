"""langchain agents: a middleware that sends a report back until it is accepted."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Unpack

from goop_mcp.hosts.frameworks.langchain_callback import FailedRunCallback
from goop_mcp.hosts.frameworks.langchain_messages import (
    ModelTurn,
    check_terms,
    fail_unless_ended,
    feedback_message,
    outcome_of,
    recalled,
    resumed,
    turn_of,
    turns_since_task,
    usage_of_last,
    usage_since_reply,
)
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.attempts import NotAcceptedError, Outcome
from goop_mcp.retry.review import ReviewOptions, notify

with needing("langchain", extra="langchain"):
    from langchain.agents.middleware import AgentMiddleware, AgentState, hook_config
    from langchain.agents.middleware.types import OmitFromInput
    from langchain_core.messages import AIMessage, AnyMessage
    from langgraph.errors import GraphBubbleUp

__all__ = ["EnvelopeMiddleware"]


class EnvelopeState(AgentState):
    """The state of the agent, and the turns of the model since the task was given.

    It stands next to the messages, since other middleware may summarize those or cut them off. A
    checkpoint holds it like them.
    """

    envelope_replies: Annotated[list[ModelTurn], OmitFromInput]


class EnvelopeMiddleware(AgentMiddleware):
    """For `create_agent(..., middleware=[EnvelopeMiddleware()])`; `terms` are those of `Review`.

    At the end without an accepted report NotAcceptedError is raised, whose outcome has every
    attempt. With `hand_on_unaccepted` the last reply stands, and `outcome` shows why it was not
    accepted. Structured output is judged as the JSON that the model sent. `on_stop` also receives
    the outcome of a run whose model fails or that is cancelled while it is asked; put this
    middleware before those that repeat calls, so that it sees only what they gave up. With
    `agent.with_config(callbacks=[middleware.callback])` it also receives the runs that a tool or
    other middleware ends with an error. Raises PolicyError for a deadline.
    """

    state_schema = EnvelopeState

    def __init__(self, *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewOptions]) -> None:
        super().__init__()
        self._terms = check_terms(ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted))
        # For the failure of a run where neither the model nor this middleware raised it.
        self.callback = FailedRunCallback(
            lambda state, failure: fail_unless_ended(
                state.get("envelope_replies") or [], self._terms, failure
            )
        )

    # Langchain's
    def before_agent(self, state: EnvelopeState, runtime: object) -> dict[str, Any]:  # noqa: ARG002
        """Begin to count for a new task."""
        return {"envelope_replies": []}

    async def abefore_agent(self, state: EnvelopeState, runtime: object) -> dict[str, Any]:
        """Do the same where the agent runs in an event loop."""
        return self.before_agent(state, runtime)

    @hook_config(can_jump_to=["model"])
    # As above
    def after_model(
        self,
        state: EnvelopeState,
        runtime: object,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Judge the reply of the model, and send feedback where it is not accepted."""
        return self._judge(state)

    @hook_config(can_jump_to=["model"])
    # As above
    async def aafter_model(
        self,
        state: EnvelopeState,
        runtime: object,  # noqa: ARG002
    ) -> dict[str, Any] | None:
        """Do the same where the agent runs in an event loop."""
        return self._judge(state)

    def _judge(self, state: EnvelopeState) -> dict[str, Any] | None:
        message = next(
            (each for each in reversed(state["messages"]) if isinstance(each, AIMessage)), None
        )
        if message is None:
            return None

        before, new = (
            state.get("envelope_replies") or [],
            turn_of(message, text=_reply_in(message, state)),
        )
        turns = [*before, new]
        if new["text"] is None:
            return {"envelope_replies": turns}

        review = resumed(before, self._terms)
        try:
            feedback = review.hear(
                new["text"], usage=usage_of_last(turns), stop_reason=new.get("stop_reason")
            )
        except NotAcceptedError:
            self.callback.mark_reported()
            raise

        turns = [*before, ModelTurn(**new, kept=review.keep_last())]
        if feedback is None:
            return {"envelope_replies": turns}
        return {
            "envelope_replies": turns,
            "messages": [feedback_message(feedback, review)],
            "jump_to": "model",
        }

    # Langchain's
    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:  # noqa: ANN401
        """Let `on_stop` receive the outcome of a run whose model fails."""
        try:
            return handler(request)
        except BaseException as failure:
            self._report(request.state, failure)
            raise

    # As above
    async def awrap_model_call(
        self,
        request: Any,  # noqa: ANN401
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401
        """Do the same where the agent runs in an event loop."""
        try:
            return await handler(request)
        except BaseException as failure:
            self._report(request.state, failure)
            raise

    def _report(self, state: EnvelopeState, failure: BaseException) -> None:
        if isinstance(failure, GraphBubbleUp):
            return  # other middleware interrupts the run for a person, and it goes on later
        turns = state.get("envelope_replies") or []
        resumed(turns, self._terms).fail(failure, usage=usage_since_reply(turns))
        self.callback.mark_reported()

    # As above
    def after_agent(self, state: EnvelopeState, runtime: object) -> None:  # noqa: ARG002
        """Let `on_stop` receive the outcome of a run that other middleware ended."""
        turns = state.get("envelope_replies") or []
        review = recalled(turns, self._terms)
        if turns and not review.stopped:
            notify(self._terms.get("on_stop"), review.outcome)

    async def aafter_agent(self, state: EnvelopeState, runtime: object) -> None:
        """Do the same where the agent runs in an event loop."""
        self.after_agent(state, runtime)

    def outcome(self, finished: "Mapping[str, Any] | Sequence[AnyMessage]") -> Outcome:
        """Return the outcome of the last task: from the result of `invoke`, or from its messages.

        Messages alone may be incomplete: other middleware summarizes some.
        """
        if isinstance(finished, Mapping):
            return outcome_of(
                finished.get("envelope_replies") or turns_since_task(finished["messages"]),
                self._terms,
            )

        return outcome_of(turns_since_task(finished), self._terms)


def _reply_in(message: AIMessage, state: EnvelopeState) -> str | None:
    """Return the reply in `message`, None where it only calls tools.

    With a strategy of tools the structured output is the argument of a tool that is never run.
    """
    if not message.tool_calls:
        return str(message.text)
    if state.get("structured_response") is None:
        return None

    last = state["messages"][-1]
    call = next(
        (each for each in message.tool_calls if each["id"] == getattr(last, "tool_call_id", None)),
        None,
    )

    return None if call is None else reply_text(call["args"])
