"""A store whose reads and writes are measured for OpenTelemetry: duration and outcome."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import perf_counter
from typing import Final, Literal, TypeVar

from opentelemetry import metrics, trace

from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.older_copies import OlderCopy

__all__ = ["MeasuredStore"]

T = TypeVar("T")
_NAME = "goop_mcp.store"
# The buckets that the conventions of OpenTelemetry specify for database operations, in seconds.
_SECONDS: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)

_tracer = trace.get_tracer(_NAME)
_durations = metrics.get_meter(_NAME).create_histogram(
    "db.client.operation.duration",
    unit="s",
    description="Time of one view or change of the database, the wait for one's turn included.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)


class MeasuredStore:
    """A wrapper around another store that records a span and a metric for each read and write.

    See `goop_mcp.store.interface.Store`.
    """

    def __init__(self, store: Store) -> None:
        """Measure `store`."""
        self._store = store

    @property
    def engine(self) -> Literal["sqlite", "postgresql"]:
        """The kind of database."""
        return self._store.engine

    @property
    def location(self) -> str:
        """Where the rows are."""
        return self._store.location

    @property
    def warnings(self) -> tuple[str, ...]:
        """What people should know about the place."""
        return self._store.warnings

    def exists(self) -> bool:
        """Return whether there is a database."""
        return self._store.exists()

    def read(self, ask: Callable[[ReadTransaction], T]) -> T:
        """Run `ask` on one consistent view and return its answer."""
        with self._measured("read"):
            return self._store.read(ask)

    def write(
        self,
        change: Callable[[WriteTransaction], T],
        *,
        then: Callable[[T], None] | None = None,
        timeout: float = 30.0,
    ) -> T:
        """Run `change` in one transaction and return its answer once it is on disk."""
        with self._measured("write"):
            return self._store.write(change, then=then, timeout=timeout)

    def mark_used(self, revision: int) -> None:
        """Give no revision up to `revision` any more."""
        self._store.mark_used(revision)

    def take_older_copy(self) -> OlderCopy | None:
        """Return what a change has noted about the database, once."""
        return self._store.take_older_copy()

    def check(self) -> list[str]:
        """Return what is wrong with the database."""
        return self._store.check()

    def backup(self, target: Path, *, force: bool = False) -> None:
        """Write all rows to one file."""
        self._store.backup(target, force=force)

    def restore(self, source: Path) -> str | None:
        """Put what a file holds in place of all rows."""
        return self._store.restore(source)

    def close(self) -> None:
        """Release files and connections."""
        self._store.close()

    @contextmanager
    def _measured(self, operation: str) -> Iterator[None]:
        attributes = {"db.system.name": self._store.engine, "db.operation.name": operation}
        span = _tracer.start_span(operation, kind=trace.SpanKind.CLIENT, attributes=attributes)
        started = perf_counter()

        # Without a tracer provider there is no span to activate. Exceptions are not recorded, as
        # their text may name paths and people.
        with (
            nullcontext()
            if span is trace.INVALID_SPAN
            else trace.use_span(
                span, end_on_exit=True, record_exception=False, set_status_on_exception=False
            )
        ):
            try:
                yield
            except BaseException as error:
                attributes["error.type"] = type(error).__name__
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(trace.StatusCode.ERROR)

                raise
            finally:
                _durations.record(perf_counter() - started, attributes)
