"""crewai: a guardrail of a task that sends a report back until it is accepted.

Needs crewai only while a crew runs: it cannot be installed next to the MCP server, as it pins an
older `mcp`.
"""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cache
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.attempts import NotAcceptedError
from goop_mcp.retry.review import Review, ReviewTerms
from goop_mcp.validation.feedback import OPENING

__all__ = ["envelope_guardrail"]

Guardrail = Callable[[Any], tuple[bool, Any]]

_failed: "WeakKeyDictionary[Guardrail, Callable[[Exception], None]]" = WeakKeyDictionary()


def envelope_guardrail(
    *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewTerms]
) -> Guardrail:
    """Return the function for `Task(guardrail=..., guardrail_max_retries=2)`; `terms` are those of `Review`.

    Allow crewai one retry less than the attempts of the policy: the smaller limit counts. At the end without an
    accepted report NotAcceptedError is raised, whose outcome has every attempt; with `hand_on_unaccepted` the last
    reply is the output of the task. `on_stop` receives the outcome of a task that fails as well, on a thread of
    crewai's. Put it last where a task has several guardrails: crewai calls those before the one that refused no more.
    A guardrail does not learn what a reply cost, so usage is unknown, and it cannot bound a call of the
    model: a deadline is looked at when a reply comes.
    """
    ended = ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted)
    # Crews run at the same time, each in a context of its own.
    current: ContextVar[Review | None] = ContextVar("goop_mcp_crewai_review", default=None)

    # Crewai's TaskOutput
    def guardrail(output: Any) -> tuple[bool, Any]:  # noqa: ANN401
        review = current.get()
        if review is None or review.stopped or _is_first(output):
            review = Review(**ended)
            current.set(review)

        feedback = review.hear(_reply(output))
        return (True, output.raw) if feedback is None else (False, feedback)

    def failed(failure: Exception) -> None:
        review = current.get()
        if (
            review is not None
            and review.stopped
            and str(failure) == str(NotAcceptedError(review.outcome))
        ):
            return  # reported when the review ended

        if review is None or review.stopped:
            # The task before it ended; this one failed before its first output.
            review = Review(**ended)

        review.fail(failure)

    _failed[guardrail] = failed
    _listen_to_crewai()

    return guardrail


def _is_first(output: Any) -> bool:  # noqa: ANN401 - as above
    """Tell whether nothing was sent back before this output: a run that broke off must not count for the next."""
    return not any(OPENING in str(message.get("content")) for message in output.messages)


def _reply(output: Any) -> str:  # noqa: ANN401 - as above
    """Return what the agent said; structured output as the fields that the model sent, without defaults."""
    model = getattr(output, "pydantic", None)
    if model is not None and output.raw == model.model_dump_json():
        return reply_text(model)
    return str(output.raw)


@cache
def _listen_to_crewai() -> None:
    """Have crewai report tasks that fail, once a process: it calls a guardrail only with an output."""
    try:
        # Slow, and loaded where crews are
        from crewai.events import TaskFailedEvent, crewai_event_bus  # noqa: PLC0415
    except ModuleNotFoundError:
        return  # a guardrail may be called without it, by a loop of somebody's own

    crewai_event_bus.on(TaskFailedEvent)(_on_task_failed)


def _on_task_failed(task: Any, event: Any) -> None:  # noqa: ANN401 - as above
    for guardrail in (
        task.guardrail,
        *(task.guardrails if isinstance(task.guardrails, list) else ()),
    ):
        if callable(guardrail) and (failed := _failed.get(guardrail)) is not None:
            failed(RuntimeError(event.error))
