"""Ask many agents at once, a few at a time."""

from collections.abc import Iterable

import anyio

from goop_mcp.retry.asking import Asking
from goop_mcp.retry.attempts import Outcome
from goop_mcp.retry.jobs import Job, check_count, check_type
from goop_mcp.retry.telemetry import workflow_span

__all__ = ["ask_many"]


async def ask_many(
    jobs: Iterable[Job], *, limit: int = 8, cancel_others: bool = False
) -> list[Outcome]:
    """Run `jobs`, at most `limit` of them at a time, and return their outcomes in the same order.

    A job that fails leaves the others alone. With `cancel_others` the first that is not accepted
    cancels the rest, whose outcomes then say so. Every job gives an outcome, also where its policy
    says "raise". The limits of a job count from its turn; `shared_budget` bounds all together. Give
    each job an agent of its own: jobs that share one share its conversation. Raises ValueError for
    a limit below 1 and TypeError for what is no job. Works under asyncio and trio.
    """
    check_count("limit", limit)
    check_type("jobs", jobs, Iterable, "several of Job(...)")
    askings = [Asking(job) for job in jobs]
    waiting = iter(askings)

    async def work() -> None:
        for asking in waiting:
            outcome = await asking.run()
            if cancel_others and not outcome.accepted:
                for each in askings:
                    each.cancel()

    with workflow_span("ask_many"):
        async with anyio.create_task_group() as group:
            for _ in range(min(limit, len(askings))):
                group.start_soon(work)

    return [each.outcome for each in askings if each.outcome is not None]
