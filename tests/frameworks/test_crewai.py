import asyncio
import importlib.util
import os
from typing import Any

import pytest

if importlib.util.find_spec("crewai") is None:
    pytest.skip("crewai is not installed here; make frameworks tests it", allow_module_level=True)
# Read when it is imported: nothing of a test goes out.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}

from crewai import Agent, BaseLLM, Crew, Task

from goop_mcp import NotAcceptedError, RetryPolicy
from goop_mcp.hosts.frameworks.crewai import envelope_guardrail
from tests.frameworks.recipes import ALWAYS_ANOTHER_FAULT, BAD_STATUS, GOOD, OPENING, names_of


class ScriptedModel(BaseLLM):
    """Sends each of `replies` in turn, then the last one for ever."""

    replies: list[str]
    heard: list[str] = []  # noqa: RUF012 - a field of the model, copied for each

    def call(self, messages: Any, *_: object, **__: object) -> str:  # noqa: ANN401 - crewai's
        self.heard.append(str(messages))
        return self.replies[min(len(self.heard), len(self.replies)) - 1]

    async def acall(self, messages: Any, *_: object, **__: object) -> str:  # noqa: ANN401 - crewai's
        return self.call(messages)


# crewai strips what models send.
def scripted(*replies: str) -> ScriptedModel:
    # In the words in which crewai expects the end.
    return ScriptedModel(model="scripted", replies=[f"Thought: I am done.\nFinal Answer: {reply}" for reply in replies])


def crew(model: ScriptedModel, **options: Any) -> Crew:  # noqa: ANN401 - crewai's
    worker = Agent(role="worker", goal="Do the task.", backstory="Reports.", llm=model)
    task = Task(description="Implement it.", expected_output="A goop_report.", agent=worker, **options)
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
    model = scripted(*ALWAYS_ANOTHER_FAULT)
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
