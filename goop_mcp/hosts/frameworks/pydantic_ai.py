"""pydantic-ai: every output is judged, and sent back until it is accepted."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

import anyio

from goop_mcp.hosts.frameworks.open_reviews import OpenReviews
from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.calls import DeadlinePassedError
from goop_mcp.retry.replies import Usage
from goop_mcp.retry.review import Review, ReviewOptions

with needing("pydantic_ai", extra="pydantic-ai"):
    from pydantic_ai import Agent, ModelRetry, RunContext
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelResponse, ToolCallPart

__all__ = ["EnvelopeCheck", "check_output"]

Deps = TypeVar("Deps")
Output = TypeVar("Output")


@dataclass(slots=True)
class _Run:
    """A run under way: its review, and the tokens that earlier reviews of it counted.

    `context` is that of its last request, which knows all messages of the run.
    """

    review: Review
    context: RunContext[Any]
    counted: int = 0

    def usage(self, context: RunContext[Any]) -> Usage | None:
        """Return what the run used since its last attempt, None where that is unknown."""
        return _usage_since(context, self.review, counted=self.counted)


class EnvelopeCheck(AbstractCapability[Any]):
    """For `Agent(..., capabilities=[EnvelopeCheck()], retries={"output": 2})`.

    `terms` are those of `Review`. Allow as many retries as you want, 2 for three attempts: the
    smaller limit counts. Structured output is judged as the JSON that the model sent. The deadline
    of the policy bounds each call of the model. At the end without an accepted report
    NotAcceptedError is raised, whose outcome has every attempt; with `hand_on_unaccepted` the last
    reply is the output. `on_stop` receives the outcome of every run, also of those that fail or are
    cancelled.
    """

    def __init__(self, *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewOptions]) -> None:
        super().__init__()
        self._terms = ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted)
        self._runs: dict[str, _Run] = {}

    async def wrap_run(
        self,
        ctx: RunContext[Any],
        *,
        handler: Callable[[], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401
        """Hold a review as long as the run lasts."""
        run = self._runs[ctx.run_id] = _Run(Review(**self._terms), ctx)
        try:
            return await handler()
        except BaseException as failure:
            used = run.usage(run.context)
            run.review.fail(failure, usage=used if used is not None and used.tokens else None)
            raise
        finally:
            del self._runs[ctx.run_id]

    async def wrap_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: object,
        handler: Callable[[Any], Awaitable[Any]],
    ) -> Any:  # noqa: ANN401 - as above
        """Bound the call of the model by the deadline."""
        run = self._runs[ctx.run_id]
        run.context = ctx
        left = run.review.time_left
        if left is None:
            return await handler(request_context)

        with anyio.move_on_after(max(0.0, left)):
            return await handler(request_context)

        raise DeadlinePassedError("the deadline passed before the model answered")

    async def before_output_process(
        self,
        ctx: RunContext[Any],
        *,
        output_context: object,  # noqa: ARG002
        output: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Judge an output before an output function acts upon it."""
        if not ctx.partial_output:
            run = self._runs[ctx.run_id]
            if run.review.stopped:
                # The run goes on all the same: several outputs in one response, or another check.
                run.counted += run.review.outcome.usage.tokens or 0
                run.review = Review(**self._terms)

            _judge(run.review, ctx, output, usage=run.usage(ctx))

        return output


def check_output(
    agent: Agent[Deps, Output], *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewOptions]
) -> Agent[Deps, Output]:
    """Have every output of an agent that was made already checked; return the agent.

    As `EnvelopeCheck`, which sees the whole run and not only its outputs: here the deadline is
    checked when an output comes, counted from the first one, `on_stop` does not receive a run whose
    model fails before its first output, and an output function has run when its report is judged.
    """
    reviews = OpenReviews(**ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted))

    @agent.output_validator
    def check(run: RunContext[Deps], output: Output) -> Output:
        if not run.partial_output:
            with reviews.of(run.run_id) as review:
                _judge(review, run, output, usage=_usage_since(run, review))
        return output

    return agent


def _judge(review: Review, run: RunContext[Any], output: object, *, usage: Usage | None) -> None:
    """Judge an output.

    Raises ModelRetry with what is wrong, NotAcceptedError at the end of the review.
    """
    response = _last_response(run)
    feedback = review.hear(
        _reply(run, output),
        usage=usage,
        last=run.retry >= run.max_retries,
        stop_reason=None if response is None else response.finish_reason,
    )
    if feedback is not None:
        raise ModelRetry(feedback)


def _reply(run: RunContext[Any], output: object) -> str:
    """Return what the model sent for `output`: its text, or the arguments of the output tool."""
    if isinstance(output, str):
        return output

    response = _last_response(run)
    if response is None:
        return reply_text(output)

    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_call_id == run.tool_call_id:
            return str(part.args_as_json_str())

    return str(response.text or reply_text(output))


def _last_response(run: RunContext[Any]) -> ModelResponse | None:
    return next((each for each in reversed(run.messages) if isinstance(each, ModelResponse)), None)


def _usage_since(run: RunContext[Any], review: Review, *, counted: int = 0) -> Usage | None:
    """Return what the run used since its last attempt; None if a response has no usage."""
    used = [
        each.usage.total_tokens
        for each in run.messages
        if isinstance(each, ModelResponse) and each.run_id == run.run_id
    ]
    if not used or not all(used):
        return None

    counted += sum((each.usage and each.usage.tokens) or 0 for each in review.attempts)

    return Usage(tokens=sum(used) - counted)
