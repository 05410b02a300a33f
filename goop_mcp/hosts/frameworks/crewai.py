"""crewai: a guardrail of a task that sends a report back until it is accepted.

Needs crewai only while a crew runs: it cannot be installed next to the MCP server, as it pins an
older `mcp`.
"""

import asyncio
import atexit
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.attempts import NotAcceptedError
from goop_mcp.retry.review import Review, ReviewOptions
from goop_mcp.validation.feedback import OPENING

__all__ = ["envelope_guardrail"]

Guardrail = Callable[[Any], tuple[bool, Any]]


def envelope_guardrail(
    *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewOptions]
) -> Guardrail:
    """Return the function for `Task(guardrail=..., guardrail_max_retries=2)`.

    `terms` are those of `Review`. Allow crewai one retry less than the attempts of the policy: the
    smaller limit counts. At the end without an accepted report NotAcceptedError is raised, whose
    outcome has every attempt; with `hand_on_unaccepted` the last reply is the output of the task.
    `on_stop` also receives the outcome of a task that fails, on a thread of crewai's, and of one
    that is cancelled, when the asyncio task in which the crew ran ends, or the program does. Put it
    last where a task has several guardrails: crewai does not call those before the one that refused
    again. A guardrail does not learn what a reply cost, so usage is unknown, and it cannot bound a
    call of the model: a deadline is checked when a reply comes.
    """
    watch = _Watch(ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted))

    # Crewai's TaskOutput
    def guardrail(output: Any) -> tuple[bool, Any]:  # noqa: ANN401
        run = watch.run_of(output)
        try:
            # Of structured output, the fields that the model sent.
            model = getattr(output, "pydantic", None)
            structured = model is not None and output.raw == model.model_dump_json()
            feedback = run.review.hear(reply_text(model) if structured else str(output.raw))
        finally:
            if run.review.stopped:
                _open.discard(run)

        return (True, output.raw) if feedback is None else (False, feedback)

    _watches[guardrail] = watch
    _watch_crewai()

    return guardrail


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class _Run:
    """One run of a task: its review, and the run in whose midst it was started, such as by a tool.

    `task` is None where crewai did not announce it. `ended_before` is when the task had ended an
    earlier run: crewai sets that time again for each end but a cancellation.
    """

    review: Review
    task: Any = None
    ended_before: Any = None
    outer: "_Run | None" = None

    @property
    def is_over(self) -> bool:
        """Whether the review has ended, or crewai ended the task and is about to report it."""
        return self.review.stopped or self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether crewai ended the task, by an output or an error."""
        return self.task is not None and self.task.end_time != self.ended_before

    def close(self, _running: object = None) -> None:
        """Report the task as cancelled, unless it has ended in another way."""
        _open.discard(self)
        if not self.has_ended:
            self.review.cancel()


class _Watch:
    """The runs of tasks under one guardrail; crews that run at once have separate contexts."""

    def __init__(self, terms: ReviewOptions) -> None:
        self._terms = terms
        self._current: ContextVar[_Run | None] = ContextVar("goop_mcp_crewai_run", default=None)

    def start(self, task: Any) -> None:  # noqa: ANN401 - crewai's
        """Begin the review of `task`, in the context in which it runs."""
        run = _Run(Review(**self._terms), task, task.end_time, self._innermost())
        self._current.set(run)
        _open.add(run)

        try:
            running = asyncio.current_task()
        except RuntimeError:
            return  # without an event loop only an interrupt cancels it; see _close_all
        if running is not None:
            running.add_done_callback(run.close)

    def run_of(self, output: Any) -> _Run:  # noqa: ANN401 - crewai's
        """Return the run that made `output`; a new one where crewai did not announce the task."""
        run = self._innermost()
        if run is None or (
            run.task is None
            and not any(OPENING in str(each.get("content")) for each in output.messages)
        ):
            # Nothing was sent back before this output, so it is the first of a run. An earlier run
            # that broke off must not count for it.
            run = _Run(Review(**self._terms))
            self._current.set(run)

        return run

    def fail(self, failure: Exception) -> None:
        """End the review of the task that failed, in a copy of the context in which it ran."""
        run = self._current.get()
        if run is None or (
            run.review.stopped and str(failure) == str(NotAcceptedError(run.review.outcome))
        ):
            return  # reported when the review ended

        _open.discard(run)
        run.review.fail(failure)

    def _innermost(self) -> _Run | None:
        run = self._current.get()
        while run is not None and run.is_over:
            run = run.outer
        return run


_watches: "WeakKeyDictionary[Guardrail, _Watch]" = WeakKeyDictionary()
_open: set[_Run] = set()


@cache
def _watch_crewai() -> None:
    """Have crewai report tasks that start and fail, once a process.

    It calls a guardrail only with an output.
    """
    try:
        # Slow, and loaded where crews are
        from crewai.events import TaskFailedEvent, crewai_event_bus  # noqa: PLC0415
        from crewai.hooks import InterceptionPoint, register_hook  # noqa: PLC0415
    except ModuleNotFoundError:
        return  # a guardrail may be called without it, by a loop of somebody's own

    crewai_event_bus.on(TaskFailedEvent)(_on_task_failed)
    # An event reaches its handlers on a thread; this hook is called in the context of the task.
    register_hook(InterceptionPoint.PRE_STEP, _before_step)
    atexit.register(_close_all)


def _before_step(step: Any) -> None:  # noqa: ANN401 - as above
    for watch in _watches_of(step.task):
        watch.start(step.task)


def _on_task_failed(task: Any, event: Any) -> None:  # noqa: ANN401 - as above
    for watch in _watches_of(task):
        watch.fail(RuntimeError(event.error))


def _watches_of(task: Any) -> list[_Watch]:  # noqa: ANN401 - as above
    """Return the watches of the guardrails of `task`; steps of flows have no task."""
    several = getattr(task, "guardrails", None)
    guardrails = [
        getattr(task, "guardrail", None),
        *(several if isinstance(several, list) else ()),
    ]

    return [_watches[each] for each in guardrails if callable(each) and each in _watches]


def _close_all() -> None:
    """Report the tasks that the end of the program cuts off."""
    for run in list(_open):
        run.close()
