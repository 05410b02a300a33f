import asyncio
import importlib.util
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

if importlib.util.find_spec("crewai") is None:
    pytest.skip("crewai is not installed here; make frameworks tests it", allow_module_level=True)
# Read when it is imported: nothing of a test goes out.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "OTEL_SDK_DISABLED": "true",
}

from crewai import Agent, BaseLLM, Crew, Task
from crewai.events import crewai_event_bus
from pydantic import PrivateAttr

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.hosts.frameworks.crewai import envelope_guardrail
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import (
    ALWAYS_ANOTHER_ERROR,
    BAD_STATUS,
    GOOD,
    OPENING,
    PROSE,
    names_of,
)
from tests.repository import ROOT


class ScriptedModel(BaseLLM):
    """Sends each of `replies` in turn and repeats the last one; raises exceptions."""

    replies: list[Any]
    heard: list[str] = []  # noqa: RUF012 - a field of the model, copied for each

    # Crewai's
    def call(self, messages: Any, *_: object, **__: object) -> str:  # noqa: ANN401
        self.heard.append(str(messages))
        reply = self.replies[min(len(self.heard), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return str(reply)

    # Crewai's
    async def acall(self, messages: Any, *_: object, **__: object) -> str:  # noqa: ANN401
        return self.call(messages)


# crewai strips what models send.
def scripted(*replies: str | Exception) -> ScriptedModel:
    # In the form in which crewai expects the end.
    texts = [
        reply if isinstance(reply, Exception) else f"Thought: Done.\nFinal Answer: {reply}"
        for reply in replies
    ]
    return ScriptedModel(model="scripted", replies=texts)


def crew(model: ScriptedModel, **options: Any) -> Crew:  # noqa: ANN401 - crewai's
    worker = Agent(role="worker", goal="Do the task.", backstory="Reports.", llm=model)
    task = Task(
        description="Implement it.", expected_output="A goop_report.", agent=worker, **options
    )
    return Crew(agents=[worker], tasks=[task])


def test_the_recipe_sends_a_bad_report_back_and_returns_the_good_one() -> None:
    model = scripted(BAD_STATUS, GOOD)
    assert names_of("crewai", model=model)["work"]() == GOOD.strip()
    assert len(model.heard) == 2
    assert OPENING in model.heard[1]


def test_the_same_holds_in_an_event_loop() -> None:
    model = scripted(BAD_STATUS, GOOD)
    result = asyncio.run(crew(model, guardrail=envelope_guardrail()).akickoff())
    assert result.raw == GOOD.strip()


def test_a_good_report_is_not_asked_for_again() -> None:
    model = scripted(GOOD)
    assert names_of("crewai", model=model)["work"]() == GOOD.strip()
    assert len(model.heard) == 1


def test_the_same_report_again_ends_the_task_with_every_attempt() -> None:
    model = scripted(BAD_STATUS)
    with pytest.raises(NotAcceptedError) as caught:
        names_of("crewai", model=model)["work"]()
    assert caught.value.outcome.stopped_because == "no_progress"
    assert len(caught.value.outcome.attempts) == len(model.heard) == 2


def test_the_task_ends_after_the_attempts_of_the_policy() -> None:
    model = scripted(*ALWAYS_ANOTHER_ERROR)
    with pytest.raises(NotAcceptedError) as caught:
        names_of("crewai", model=model)["work"]()
    assert caught.value.outcome.stopped_because == "attempts"
    assert len(model.heard) == 3


def test_a_run_that_crewai_ended_does_not_count_for_the_next() -> None:
    guardrail = envelope_guardrail()
    with pytest.raises(Exception, match="guardrail"):
        crew(scripted(BAD_STATUS), guardrail=guardrail, guardrail_max_retries=0).kickoff()
    assert crew(scripted(BAD_STATUS, GOOD), guardrail=guardrail).kickoff().raw == GOOD.strip()


def test_the_last_reply_is_handed_on_only_when_asked_for() -> None:
    guardrail = envelope_guardrail(policy=RetryPolicy(max_attempts=1), hand_on_unaccepted=True)
    assert crew(scripted(BAD_STATUS), guardrail=guardrail).kickoff().raw == BAD_STATUS.strip()


@pytest.mark.parametrize("before", [[], [BAD_STATUS]])
@pytest.mark.parametrize("is_async", [False, True])
def test_on_stop_receives_the_outcome_of_a_task_whose_model_fails(
    is_async: bool, before: list[str]
) -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)
    failing = crew(scripted(*before, ConnectionError("the model is gone")), guardrail=guardrail)
    with pytest.raises(Exception, match="gone"):
        asyncio.run(failing.akickoff()) if is_async else failing.kickoff()

    assert crewai_event_bus.flush()
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("agent_error", 1 + len(before))
    ]
    assert "gone" in str(outcomes[0].failure)


def test_usage_is_unknown_as_a_guardrail_does_not_learn_it() -> None:
    outcomes: list[Outcome] = []
    crew(scripted(GOOD), guardrail=envelope_guardrail(on_stop=outcomes.append)).kickoff()
    assert [each.usage for each in outcomes[0].attempts] == [None]


def test_a_hundred_crews_at_once_under_one_guardrail_are_counted_each_by_itself() -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)

    async def together() -> None:
        crews = [crew(scripted(BAD_STATUS, GOOD), guardrail=guardrail) for _ in range(100)]
        await asyncio.gather(*[each.akickoff() for each in crews])

    asyncio.run(together())
    assert [(each.accepted, len(each.attempts)) for each in outcomes] == [(True, 2)] * 100


# Crewai's
def several(guardrail: Any, *models: ScriptedModel, is_async: bool = False) -> Crew:  # noqa: ANN401
    workers = [
        Agent(role=f"worker {each}", goal="Do it.", backstory="-", llm=llm)
        for each, llm in enumerate(models)
    ]
    tasks = [
        Task(
            description="Implement it.",
            expected_output="A goop_report.",
            agent=worker,
            guardrail=guardrail,
            async_execution=is_async and worker is not workers[-1],
        )
        for worker in workers
    ]
    return Crew(agents=workers, tasks=tasks)


@pytest.mark.parametrize("is_async", [False, True])
def test_several_tasks_under_one_guardrail_are_counted_each_by_itself(is_async: bool) -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)
    several(guardrail, *[scripted(BAD_STATUS, GOOD) for _ in range(3)], is_async=is_async).kickoff()
    assert [(each.accepted, len(each.attempts)) for each in outcomes] == [(True, 2)] * 3


def test_on_stop_receives_the_outcome_of_a_task_that_fails_after_another_one_was_accepted() -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)
    with pytest.raises(Exception, match="gone"):
        several(guardrail, scripted(GOOD), scripted(ConnectionError("the model is gone"))).kickoff()

    assert crewai_event_bus.flush()
    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("accepted", 1),
        ("agent_error", 1),
    ]


def test_on_stop_receives_a_report_that_was_never_accepted_once() -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)
    with pytest.raises(NotAcceptedError):
        crew(scripted(BAD_STATUS), guardrail=guardrail).kickoff()

    assert crewai_event_bus.flush()
    assert [each.stopped_because for each in outcomes] == ["no_progress"]


class HangingModel(ScriptedModel):
    """Sends the replies, and does not answer after them until it is released."""

    _asked: threading.Event = PrivateAttr(default_factory=threading.Event)
    _released: threading.Event = PrivateAttr(default_factory=threading.Event)

    @property
    def asked(self) -> threading.Event:
        return self._asked

    # crewai calls it on a thread, also where the crew runs in an event loop.
    def call(self, messages: Any, *given: object, **named: object) -> str:  # noqa: ANN401
        if len(self.heard) == len(self.replies):
            self.heard.append(str(messages))
            self._asked.set()
            self._released.wait(60)
            return ""
        return super().call(messages, *given, **named)

    def release(self) -> None:
        self._released.set()


def hanging(*replies: str) -> HangingModel:
    return HangingModel(model="scripted", replies=scripted(*replies).replies)


@pytest.mark.parametrize("before", [[], [BAD_STATUS]])
def test_on_stop_receives_the_outcome_of_a_crew_that_is_cancelled(before: list[str]) -> None:
    outcomes: list[Outcome] = []
    model = hanging(*before)

    async def cancelled() -> None:
        run = asyncio.create_task(
            crew(model, guardrail=envelope_guardrail(on_stop=outcomes.append)).akickoff()
        )
        await asyncio.to_thread(model.asked.wait, 20)
        run.cancel()
        try:
            await run
        finally:
            model.release()

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("cancelled", 1 + len(before))
    ]


def test_on_stop_receives_a_crew_that_runs_out_of_time_when_its_asyncio_task_ends() -> None:
    outcomes: list[Outcome] = []
    model = hanging()

    async def served() -> None:
        guardrail = envelope_guardrail(on_stop=outcomes.append)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await crew(model, guardrail=guardrail).akickoff()
        model.release()

    asyncio.run(served())
    assert [each.stopped_because for each in outcomes] == ["cancelled"]


def test_a_crew_that_has_ended_is_not_reported_again_when_its_asyncio_task_is_cancelled() -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)

    async def goes_on() -> None:
        await crew(scripted(GOOD), guardrail=guardrail).akickoff()
        with pytest.raises(Exception, match="gone"):
            await crew(scripted(ConnectionError("gone")), guardrail=guardrail).akickoff()
        current = asyncio.current_task()
        assert current is not None
        current.cancel()
        await asyncio.sleep(60)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(goes_on())

    assert crewai_event_bus.flush()
    assert [each.stopped_because for each in outcomes] == ["accepted", "agent_error"]


def test_on_stop_receives_a_crew_that_an_interrupt_ends_with_the_program() -> None:
    program = """
from tests.frameworks.test_crewai import crew, scripted, envelope_guardrail, BAD_STATUS
def show(outcome):
    print("stopped:", outcome.stopped_because, len(outcome.attempts))
class Interrupted(type(scripted())):
    def call(self, *given, **named):
        if self.heard:
            raise KeyboardInterrupt
        return super().call(*given, **named)
model = Interrupted(model="scripted", replies=scripted(BAD_STATUS).replies)
crew(model, guardrail=envelope_guardrail(on_stop=show)).kickoff()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "KeyboardInterrupt" in done.stderr
    assert "stopped: cancelled 2" in done.stdout


def test_a_crew_within_a_task_of_another_one_is_counted_by_itself() -> None:
    outcomes: list[Outcome] = []
    guardrail = envelope_guardrail(on_stop=outcomes.append)

    class Delegating(ScriptedModel):
        def call(self, messages: Any, *given: object, **named: object) -> str:  # noqa: ANN401
            if len(self.heard) == 1:
                crew(scripted(PROSE, GOOD), guardrail=guardrail).kickoff()
            return super().call(messages, *given, **named)

    outer = Delegating(model="scripted", replies=scripted(BAD_STATUS, GOOD).replies)
    crew(outer, guardrail=guardrail).kickoff()
    assert [[each.reply for each in outcome.attempts] for outcome in outcomes] == [
        [PROSE.strip(), GOOD.strip()],
        [BAD_STATUS.strip(), GOOD.strip()],
    ]
