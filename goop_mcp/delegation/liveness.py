"""Whether somebody works on a run: what its runners renew, by the clock of the database."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from goop_mcp.delegation.changes import epoch
from goop_mcp.delegation.processes import boot_id
from goop_mcp.processes import lives
from goop_mcp.store.graph_rows import GraphRunRow, RunnerRow
from goop_mcp.store.interface import ReadTransaction

__all__ = ["GRACE_SECONDS", "LEASE_SECONDS", "RunWork", "is_gone", "work_on"]

LEASE_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 10.0
"""How long after its lease a task of another host is left alone: its programs end meanwhile."""

_MOST_RUNNERS: Final = 200
_WORDS: Final = {
    "under_way": "running",
    "queued": "a worker takes the next task",
    "not_started": "not started",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWork:
    """Who works on a run that has not ended and does not wait for persons alone.

    state: `under_way`: a runner has it, whether or not a task runs just now; `queued`: a worker
        takes the next task that is delivered to it; `not_started`: it never had a runner; `left`:
        its runners are gone.
    since: when the last of them was seen, in ISO 8601; None where none was.
    """

    run: str
    state: Literal["under_way", "queued", "not_started", "left"]
    since: str | None = None
    now: str = ""

    @property
    def is_left(self) -> bool:
        """Whether the run stands still until somebody goes on with it."""
        return self.state == "left"

    @property
    def command(self) -> str:
        """What a person runs on a terminal to go on."""
        return f"goop-mcp runs resume {self.run}"

    @property
    def words(self) -> str:
        """The state in words."""
        if self.state == "left":
            day, _, clock = (self.since or self.now)[:19].partition("T")
            since = clock if self.now.startswith(day) else f"{day} {clock}"
            return f"nobody works on it since {since}"
        return _WORDS[self.state]

    @property
    def sentence(self) -> str:
        """The state in words, with what a person runs where the run stands still."""
        return f"{self.words}: {self.command}" if self.is_left else self.words


def work_on(reading: ReadTransaction, run: GraphRunRow) -> RunWork | None:
    """Return who works on `run`; None for one that has ended or waits for persons.

    A runner is gone when its process is, where that can be seen from here, and when it was not seen
    for as long as a lease and its grace: it renews every ten seconds, also while no task runs.
    """
    if run.state != "running":
        return None
    at = reading.now()
    now, runners = epoch(at), reading.graphs.runners(run.id, limit=_MOST_RUNNERS)
    alive = [each for each in runners if not is_gone(each, now)]
    if any(not each.stands_by for each in alive):
        return RunWork(run=run.id, state="under_way")
    if alive:
        return RunWork(run=run.id, state="queued")

    had = [each.seen_at for each in runners if not each.stands_by]
    since = reading.graphs.newest_work(run.id)
    if had:
        since = datetime.fromtimestamp(max(had), UTC).isoformat(timespec="seconds")
    if since is None:
        return RunWork(run=run.id, state="not_started")
    return RunWork(run=run.id, state="left", since=since, now=at)


def is_gone(runner: RunnerRow, now: float, *, after: float = LEASE_SECONDS + GRACE_SECONDS) -> bool:
    """Whether a runner has ended, or was not seen for longer than `after` seconds."""
    if runner.boot_id == boot_id() != "" and not lives(runner.pid, runner.pid_started):
        return True
    # Also before its time, which a clock that was set back makes of it.
    return abs(now - runner.seen_at) > after
