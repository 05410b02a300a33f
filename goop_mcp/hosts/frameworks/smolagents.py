"""smolagents: a check of the final answer that sends a report back until it is accepted."""

import sys
from dataclasses import dataclass
from typing import Any, Unpack
from weakref import WeakKeyDictionary

from goop_mcp.hosts.frameworks.packages import needing
from goop_mcp.hosts.frameworks.reply_text import reply_text
from goop_mcp.hosts.frameworks.unaccepted import ending_terms
from goop_mcp.retry.attempts import NotAcceptedError
from goop_mcp.retry.replies import Usage
from goop_mcp.retry.review import Review, ReviewOptions, notify

with needing("smolagents", extra="smolagents"):
    from smolagents.memory import ActionStep, FinalAnswerStep, PlanningStep, TaskStep

__all__ = ["EnvelopeCheck", "envelope_check"]


def envelope_check(
    *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewOptions]
) -> "EnvelopeCheck":
    """Return what is both the check and the callbacks of an agent; `terms` are those of `Review`.

    With `check = envelope_check()` the agent is `CodeAgent(..., final_answer_checks=[check],
    step_callbacks=check.step_callbacks)`. Allow the agent a step for each attempt (`max_steps`). At
    the end without an accepted report the run is interrupted, which raises smolagents' AgentError,
    and `on_stop` receives the outcome with every attempt; with `hand_on_unaccepted` the last answer
    is the result. With the callbacks `on_stop` also receives the outcome of a run that is
    interrupted, or that fails before its first answer. A deadline is checked when an answer comes:
    no check bounds a call of the model.
    """
    return EnvelopeCheck(hand_on_unaccepted=hand_on_unaccepted, **terms)


@dataclass(slots=True)
class _Run:
    """One task of an agent: its review, and how many steps of the agent's memory are paid for."""

    task: object
    review: Review
    counted: int
    is_answered: bool = False
    is_reported: bool = False


class EnvelopeCheck:
    """Judges the final answers of agents, each task by itself. See `envelope_check`."""

    __name__ = "envelope_check"  # smolagents names a check that failed

    def __init__(self, *, hand_on_unaccepted: bool = False, **terms: Unpack[ReviewOptions]) -> None:
        ended = ending_terms(terms, hand_on_unaccepted=hand_on_unaccepted)
        # Reported from here, once the step has ended: only then is it known what the answer cost.
        self._on_stop = ended.pop("on_stop", None)
        self._terms = ended
        self._runs: WeakKeyDictionary[Any, _Run] = WeakKeyDictionary()
        self._last_step: WeakKeyDictionary[Any, object] = WeakKeyDictionary()

    @property
    def step_callbacks(self) -> dict[Any, Any]:
        """What to give to the agent as `step_callbacks`."""
        return {ActionStep: self.after_step, FinalAnswerStep: self.after_step}

    # Smolagents' objects
    def __call__(
        self,
        final_answer: object,
        memory: Any,  # noqa: ANN401, ARG002
        agent: Any,  # noqa: ANN401
    ) -> bool:
        """Judge an answer.

        Raises ValueError with what is wrong, which smolagents sends to the model.
        """
        if agent not in self._last_step:
            for kind, callback in self.step_callbacks.items():
                agent.step_callbacks.register(kind, callback)

        run = self._run_of(agent)
        if run.review.stopped:
            # Another check refused an answer that this one accepted, and the agent went on.
            run = self._runs[agent] = _Run(run.task, Review(**self._terms), run.counted)

        run.is_answered = True

        try:
            feedback = run.review.hear(reply_text(final_answer))
        except NotAcceptedError:
            # What a check raises is taken for the agent's error, and the agent would go on.
            agent.interrupt()
            raise

        if feedback is not None:
            raise ValueError(feedback)
        return True

    def after_step(self, step: Any, agent: Any) -> None:  # noqa: ANN401 - as above
        """Count what a step used, and report a review that has ended or a run that fails here."""
        if self._last_step.get(agent) is step:
            return  # registered twice: by the caller and at the first answer

        self._last_step[agent] = step
        run = self._run_of(agent)

        # What the steps since the last answer used, planning included; None if one is unknown.
        steps = [*agent.memory.steps[run.counted :], step]
        used = [each.token_usage for each in steps if isinstance(each, ActionStep | PlanningStep)]
        tokens = [0 if each is None else each.total_tokens for each in used]
        usage = Usage(tokens=sum(tokens)) if tokens and all(tokens) else None

        if run.is_answered:
            if usage is not None:
                run.review.settle(usage)

            # The step itself is added to the memory when its callbacks are done.
            run.counted, run.is_answered, usage = len(agent.memory.steps) + 1, False, None

        failure = sys.exception()
        # One of the caller's code around the agent did not end the step.
        place = None if failure is None else failure.__traceback__
        module = None if place is None else place.tb_frame.f_globals.get("__name__")
        if failure is not None and str(module).startswith("smolagents."):
            run.review.fail(failure, usage=usage)
        elif agent.interrupt_switch and not getattr(step, "is_final_answer", False):
            # The run ends before its next step, where no callback is called.
            run.review.cancel(usage=usage)

        if (run.review.stopped or isinstance(step, FinalAnswerStep)) and not run.is_reported:
            run.is_reported = True
            notify(self._on_stop, run.review.outcome)

    def _run_of(self, agent: Any) -> _Run:  # noqa: ANN401 - as above
        steps = agent.memory.steps
        place = max(index for index, step in enumerate(steps) if isinstance(step, TaskStep))
        run = self._runs.get(agent)
        if run is None or run.task is not steps[place]:
            run = self._runs[agent] = _Run(steps[place], Review(**self._terms), place)
        return run
