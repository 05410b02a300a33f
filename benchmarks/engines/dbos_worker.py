"""A process of DBOS that works on the job: a workflow that puts each task into a queue."""

import asyncio
import time

from dbos import DBOS, SetWorkflowID

from benchmarks.engines.worker import PARALLEL, Order


async def main(order: Order) -> None:
    """Run the workflow, or go on with the one that a killed process left."""
    order.note("start")
    began = time.process_time()
    DBOS(
        config={
            "name": "bench",
            "system_database_url": order.url,
            "application_version": "1",
            "log_level": "ERROR",
        }
    )

    @DBOS.step()
    async def do(task: int) -> int:
        await order.work(task)
        return task

    @DBOS.workflow()
    async def one(task: int) -> int:
        done: int = await do(task)
        return done

    @DBOS.workflow()
    async def whole(tasks: int) -> int:
        handles = [await DBOS.enqueue_workflow_async("tasks", one, task) for task in range(tasks)]
        found: set[int] = {await handle.get_result() for handle in handles}
        return len(found)

    DBOS.launch()
    # The default looks once a second, which would be most of the time until the first task.
    await DBOS.register_queue_async("tasks", global_concurrency=PARALLEL, polling_interval_sec=0.05)
    with SetWorkflowID(order.run):
        handle = await DBOS.start_workflow_async(whole, order.tasks)
    found = await handle.get_result()
    order.note("done", cpu=time.process_time() - began, whole=found == order.tasks)
    DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(Order.read()))
