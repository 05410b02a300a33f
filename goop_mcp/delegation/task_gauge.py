"""How many tasks are in which state now, as a metric: read when it is exported, never stored."""

from collections import Counter
from collections.abc import Iterable

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from goop_mcp.errors import StoreError
from goop_mcp.store.interface import ReadTransaction, Store

__all__ = ["export_task_states"]


def export_task_states(store: Store) -> None:
    """Export the tasks and gates of the open runs of `store` by state, once for a process.

    Each process that works on a database shows the same numbers.
    """

    def observe(_options: CallbackOptions) -> Iterable[Observation]:
        try:
            counts = store.read(_count)
        except StoreError:
            # No number is better than an old one; the runners warn about the database.
            return []
        return [Observation(count, {"goop.task.state": state}) for state, count in counts.items()]

    metrics.get_meter("goop_mcp.delegation").create_observable_gauge(
        "goop.tasks.open",
        callbacks=[observe],
        unit="{task}",
        description="Tasks and gates of runs that have not ended.",
    )


def _count(reading: ReadTransaction) -> Counter[str]:
    counts: Counter[str] = Counter()
    for run in reading.graphs.runs():
        counts.update(reading.graphs.task_counts(run.id))
    return counts
