"""A program that asks many agents in a run that is kept, as a user writes it.

`python -m tests.delegation.job_process FOLDER URL RUN SECONDS` begins a run where RUN is empty and
prints the outcomes; what the agents are asked stands in `asked.txt`.
"""

import json
import sys
from contextlib import closing
from pathlib import Path

import anyio

from goop_mcp import Job, ask_many
from goop_mcp.delegation import KeptRun
from goop_mcp.store.opening import open_store
from tests.delegation.reports import report

COUNT = 8


def prompt(number: int) -> str:
    """Return what an agent is asked; what looks like a placeholder is none."""
    return f"Do number {number} for ${{five}}."


async def main(folder: Path, url: str, run: str, seconds: float) -> None:
    """Ask eight agents, two at a time; the third sends a wrong report first."""

    async def agent(text: str) -> str:
        with (folder / "asked.txt").open("a") as asked:
            asked.write(json.dumps(text) + "\n")
        await anyio.sleep(seconds)
        return "I am done." if text == prompt(3) else report()

    with closing(open_store(url or None, project=folder, project_id="shop")) as store:
        jobs = [
            Job(agent, prompt(number), protocol="goop_report") for number in range(1, COUNT + 1)
        ]
        kept = KeptRun(store, "eight jobs", run=run or None)
        outcomes = await ask_many(jobs, limit=2, store=kept)
        ends = [[each.stopped_because, len(each.attempts)] for each in outcomes]
        sys.stdout.write(json.dumps(ends))


if __name__ == "__main__":
    folder, url, run, seconds = sys.argv[1:]
    anyio.run(main, Path(folder), url, run, float(seconds))
