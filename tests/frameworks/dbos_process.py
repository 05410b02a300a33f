"""A program with DBOS, whose agent writes down what it is asked: `FOLDER URL RUN SECONDS`."""

import asyncio
import json
import sys
from pathlib import Path

from dbos import DBOS, SetWorkflowID

from goop_mcp.store.opening import open_store
from tests.delegation.graphs import chain
from tests.delegation.reports import report
from tests.frameworks.recipes import names_of


async def main() -> None:
    """Run the workflow, or let DBOS recover the one that a killed process left."""
    place, url, run, seconds = Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
    log = place / "asked.jsonl"

    async def worker(message: str) -> str:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps("b" if "Do task b" in message else "a") + "\n")
        await asyncio.sleep(seconds)
        return report()

    store = open_store(url, project=place, project_id="shop")
    DBOS(config={"name": "goop", "system_database_url": url, "application_version": "1"})
    goop_run = names_of(
        "DBOS", page="delegation.md", store=store, agents={"worker": worker}, folder=place
    )["goop_run"]
    DBOS.launch()
    with SetWorkflowID(run):
        handle = await DBOS.start_workflow_async(goop_run, run, [list(w) for w in chain().waves])
    sys.stdout.write(await handle.get_result())
    DBOS.destroy()
    store.close()


if __name__ == "__main__":
    asyncio.run(main())
