"""The examples of docs/middleware.md run."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from goop_mcp import Job
from tests.repository import ROOT
from tests.retry.agents import BAD_STATUS, GOOD, Scripted
from tests.validation.replies import SUMMARY, read_case

PAGE = (ROOT / "docs" / "middleware.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Button:
    def when_pressed(self, action: Callable[[], None]) -> None:
        self.press = action


def names() -> dict[str, Any]:
    """Run every example of the page and return what they define."""
    defined: dict[str, Any] = {
        "agent": Scripted(BAD_STATUS, GOOD),
        "new_agent": lambda: Scripted(BAD_STATUS, GOOD),
        **{
            name: Scripted(read_case(f"speckit/concrete_{name}.json"))
            for name in ("implement", "test", "review")
        },
    }
    for example in EXAMPLES:
        # Our own page
        exec(compile(example, "middleware.md", "exec"), defined)  # noqa: S102

    return defined


def test_every_example_is_found() -> None:
    assert len(EXAMPLES) == 13


def test_the_line_around_an_agent_call_gives_the_summary() -> None:
    assert asyncio.run(names()["work"]()) == SUMMARY


def test_the_decorated_method_and_the_wrapped_agent_are_accepted() -> None:
    assert asyncio.run(names()["team_work"]())


def test_a_wave_of_jobs_is_accepted_within_its_budget() -> None:
    assert asyncio.run(names()["wave"]()) == [True] * 5


def test_a_wave_that_may_be_ended_early_gives_what_was_accepted() -> None:
    page = names()
    jobs = [Job(page["new_agent"](), "Implement it.", protocol="goop_report") for _ in range(2)]
    envelopes = asyncio.run(page["as_many_as_possible"](jobs))
    assert [each.agent for each in envelopes] == ["goop-executor"] * 2


def test_a_wave_that_is_kept_goes_on_without_asking_again(tmp_path: Path) -> None:
    page = names()
    agents = [page["new_agent"]() for _ in range(2)]
    jobs = [Job(each, "Implement it.", protocol="goop_report") for each in agents]
    id, accepted = asyncio.run(page["kept_wave"](jobs, tmp_path))
    assert accepted == [True, True]
    assert asyncio.run(page["kept_wave"](jobs, tmp_path, id)) == (id, accepted)
    assert [len(each.heard) for each in agents] == [2, 2]


def test_the_workflow_runs_to_its_end() -> None:
    assert asyncio.run(names()["run_team"]())[0] == "finish"


def test_a_team_that_is_kept_goes_on_without_asking_again(tmp_path: Path) -> None:
    page = names()
    agents = {"implement": page["implement"], "review": page["review"]}
    id, steps, because = asyncio.run(page["kept_team"](agents, tmp_path))
    assert (steps, because) == (["implement"], "unknown_agent")
    assert asyncio.run(page["kept_team"](agents, tmp_path, id)) == (id, steps, because)
    assert agents["implement"].heard == ["Build the login."]


def test_the_session_forgets_at_a_fresh_start() -> None:
    defined = names()

    async def model(history: list[str]) -> str:
        return f"{len(history)} messages"

    session = defined["Session"](model)
    ask, message = session.ask, defined["Message"]
    assert asyncio.run(ask(message("a"))).text == "1 messages"
    assert asyncio.run(ask(message("b", "same_conversation"))).text == "2 messages"
    assert asyncio.run(ask(message("c", "minimal"))).text == "1 messages"


def test_the_call_with_a_button_is_cancelled_by_it() -> None:
    defined, button = names(), Button()

    async def agent(_message: str) -> str:
        button.press()
        await asyncio.sleep(0)
        return GOOD

    defined["agent"] = agent
    outcome = asyncio.run(defined["run_until_pressed"](button))
    assert outcome.stopped_because == "cancelled"
    assert len(outcome.attempts) == 1


def test_the_call_on_record_is_counted(tmp_path: Path) -> None:
    accepted, by_rule, by_agent, by_week = asyncio.run(names()["work_and_record"](tmp_path))
    assert accepted
    assert by_rule == {"goop_report/unknown-status": 1}
    assert list(by_agent) == ["goop-executor"]
    assert len(by_week) == 1


def test_hooks_of_the_page_are_hooks() -> None:
    assert names()["hooks"].on_stop is not None
    assert names()["policy"].max_attempts == 4
