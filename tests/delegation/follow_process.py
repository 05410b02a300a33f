"""A program that follows three agents in a run that is kept, as a user writes it.

`python -m tests.delegation.follow_process FOLDER URL RUN SECONDS` begins a run where RUN is empty
and prints its steps and its end; what the agents are asked stands in `asked.txt`.
"""

import json
import sys
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio

from goop_mcp import RoutingContext, follow
from goop_mcp.delegation import KeptRun
from goop_mcp.retry import Agent, WorkflowRun
from goop_mcp.routing import Policy
from goop_mcp.store.opening import open_store
from tests.validation.replies import read_case

PROMPT = "Build it for ${five}."
CONTEXT = RoutingContext(policy=Policy(checkpoint_before_implement=False))


def asked(folder: Path) -> list[list[str]]:
    """Return the name of each agent that was asked, and the message, in order."""
    file = folder / "asked.txt"
    return [*map(json.loads, file.read_text().splitlines())] if file.exists() else []


def team(folder: Path, seconds: float) -> dict[str, Agent]:
    """Return three agents; the first test fails, so that its implementation is asked again."""

    async def answer(name: str, message: str) -> str:
        with (folder / "asked.txt").open("a") as file:
            file.write(json.dumps([name, message]) + "\n")
        await anyio.sleep(seconds)
        is_first = [each for each, _ in asked(folder)].count(name) == 1
        case = "test_failed_but_success" if name == "test" and is_first else name
        return read_case(f"speckit/concrete_{case}.json")

    return {name: partial(answer, name) for name in ("implement", "test", "review")}


def shown(workflow: WorkflowRun) -> list[object]:
    """Return the steps of a workflow and its end, as JSON values."""
    steps = [
        [
            each.agent,
            each.prompt,
            each.outcome.stopped_because,
            each.decision and each.decision.rule,
        ]
        for each in workflow.steps
    ]
    return [steps, workflow.stopped_because, workflow.reason]


async def main(folder: Path, url: str, run: str, seconds: float) -> None:
    """Follow the team."""
    with closing(open_store(url or None, project=folder, project_id="shop")) as store:
        kept = KeptRun(store, "a team", run=run or None)
        agents = team(folder, seconds)
        found = await follow(agents, "implement", PROMPT, context=CONTEXT, store=kept)
        sys.stdout.write(json.dumps(shown(found)))


if __name__ == "__main__":
    folder, url, run, seconds = sys.argv[1:]
    anyio.run(main, Path(folder), url, run, float(seconds))
