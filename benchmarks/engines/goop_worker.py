"""A process of goop-mcp that works on the job."""

import asyncio
import time

from benchmarks.engines.worker import Order
from benchmarks.replies import REPLY
from goop_mcp.delegation import resume
from goop_mcp.store.opening import open_store


async def main(order: Order) -> None:
    """Go on with the run until it has ended."""
    order.note("start")
    began = time.process_time()

    async def worker(message: str) -> str:
        # A message after a crash has a sentence before the task.
        await order.work(int(message.partition("Do task ")[2].split()[0]))
        return REPLY

    store = open_store(order.url, project=order.folder, project_id="bench")
    done = await resume(store, order.run, agents={"worker": worker}, project=order.folder)
    order.note("done", cpu=time.process_time() - began, whole=bool(done))
    store.close()


if __name__ == "__main__":
    asyncio.run(main(Order.read()))
