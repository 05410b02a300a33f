"""How a run looks to a person: folded from its events, the same while it runs and afterwards."""

import json
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import anyio.to_thread

from goop_mcp.delegation.changes import find_run
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.liveness import RunWork
from goop_mcp.delegation.parts import GraphGate, attempts_of
from goop_mcp.store.graph_rows import MOST_EVENTS, GraphEventRow
from goop_mcp.store.interface import ReadTransaction, Store

__all__ = ["RunView", "TaskView", "answer_command", "events", "rejection_of"]

_PAGE: Final = 1_000
"""Events that are returned at once, if the caller does not say otherwise."""


def answer_command(run: str, task: str, answers: Iterable[str]) -> str:
    """Return the command of a terminal that gives one of `answers` to what waits in a run.

    Which one is for a person: as it is, it gives none of them, and its error lists them.
    """
    # In quotes: a shell takes a bar for a pipe, and the command would give the first answer.
    return f"goop-mcp runs answer {run} {task} {shlex.quote('|'.join(answers))}"


def rejection_of(answered: Mapping[str, Any]) -> str:
    """Return why an answer was not accepted, as its event says; "" for one that was."""
    why: str = answered.get("error") or ", ".join(answered.get("rules", ()))
    # The time comes first: displays cut what is long.
    again = answered.get("retry_at")
    return f"not asked again before {again}: {why}" if again else why


@dataclass(slots=True, kw_only=True)
class TaskView:
    """A task or gate as it stands.

    attempt: how often the agent was asked in this round, of `most` that are judged.
    since: when it was last claimed, None while nobody works on it. seconds: of all answers so far.
    rejected: why the last reply was not accepted. kept: what stands in a worktree.
    reports: the numbers of its reports that are recorded, of all rounds, in their order.
    """

    id: str
    agent: str | None
    most: int = 3
    state: str = "waiting"
    reason: str = ""
    message: str = ""
    round: int = 0
    attempt: int = 0
    since: datetime | None = None
    seconds: float = 0.0
    tokens: int | None = None
    rejected: str = ""
    decision: str = ""
    kept: str = ""
    added_by: str | None = None
    reports: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(slots=True)
class RunView:
    """A run as it stands after the events that it was shown."""

    id: str
    graph: Graph
    state: str = "running"
    seq: int = 0
    tasks: dict[str, TaskView] = field(default_factory=dict)
    # Of the moment in which it was read: no event says that a runner is gone.
    work: RunWork | None = None

    def __post_init__(self) -> None:
        """Begin with the steps of the graph."""
        self._begin({}, kept=())

    def _begin(self, was: Mapping[str, TaskView], *, kept: Collection[str]) -> None:
        """Begin with the steps of the graph, but for those that are `kept` as they were."""
        self.tasks = {}
        for step in self.graph.steps.values():
            old = was.get(step.id)
            if old is not None and step.id in kept:
                self.tasks[step.id] = old
                continue

            view = TaskView(id=step.id, agent=None)
            if isinstance(step, GraphGate):
                view.answers = step.answers
            else:
                view.agent = step.agent
                view.most = attempts_of(self.graph.agent_named[step.agent], step)
            # A step that begins again does so in its next round.
            if old is not None:
                view.round, view.reports = old.round + 1, old.reports
            self.tasks[step.id] = view

    @property
    def words(self) -> str:
        """The state of the run in words; of one whose runners are gone, what goes on with it."""
        return self.state.replace("_", " ") if self.work is None else self.work.sentence

    @property
    def is_left(self) -> bool:
        """Whether its runners are gone, so that it stands still."""
        return self.work is not None and self.work.is_left

    @property
    def waiting_for(self) -> tuple[TaskView, ...]:
        """The tasks and gates that wait for a person."""
        return tuple(each for each in self.tasks.values() if each.state == "input_required")

    @property
    def states(self) -> dict[str, str]:
        """Each task's state by its id."""
        return {each.id: each.state for each in self.tasks.values()}

    def follow(self, events: Iterable[GraphEventRow]) -> None:
        """Take further events into account, the oldest first."""
        for event in events:
            self.seq = event.seq
            data: dict[str, Any] = json.loads(event.data)
            if event.task is None:
                if event.what == "run":
                    self.state = data["state"]
                elif event.what == "changed":
                    self.state = "running"
                    self._begin(self.tasks, kept=data["kept"])
            else:
                self._follow_task(event, data)

    def _follow_task(self, event: GraphEventRow, data: dict[str, Any]) -> None:
        task = self.tasks.setdefault(
            event.task or "", TaskView(id=event.task or "", agent=data.get("agent"))
        )
        if event.what == "added":
            task.agent, task.added_by = data.get("agent"), data.get("by")
            task.most = data.get("attempts", task.most)
            task.round = data.get("round", 0)
        elif event.what == "claimed":
            task.since = datetime.fromisoformat(event.at)
        elif event.what == "asked":
            task.attempt = data["attempt"]
        elif event.what == "answered":
            task.seconds += data.get("seconds", 0.0)
            task.rejected = rejection_of(data)
            if "tokens" in data:
                task.tokens = (task.tokens or 0) + data["tokens"]
        elif event.what == "decided":
            task.decision = data["answer"]
        elif event.what == "kept":
            task.kept = data["message"]
        elif event.what == "not_recorded":
            of_round = f" of round {data['round'] + 1}" if "round" in data else ""
            task.kept = f"the report{of_round} is not recorded: {data['message']}"
        elif event.what in ("recorded", "reused"):
            task.kept = ""
            # The same report of two rounds is recorded once, and one that is reused may not be.
            numbers = [*task.reports, *([data["report"]] if "report" in data else [])]
            task.reports = tuple(dict.fromkeys(numbers))
        elif event.what == "state":
            if data["to"] == "waiting" and data["from"] != "waiting":
                task.round, task.attempt, task.rejected = task.round + 1, 0, ""
            task.state = data["to"]
            task.reason, task.message = data.get("reason", ""), data.get("message", "")
            if task.state != "running":
                task.since = None


async def events(
    store: Store, run: str, *, after: int = 0, limit: int = _PAGE
) -> list[GraphEventRow]:
    """Return the events of `run` whose numbers are above `after`, in order, at most `limit`.

    They are those that `on_event` is called with, whoever works on the run: `seq` counts from 1
    without gaps, `at` is the time of the database, `task` is None for the run itself, `what` says
    what happened, `data` is JSON. An empty list: nothing more has happened yet. Raises RunError if
    there is no such run, ValueError for a `limit` that is not from 1 to 10,000.
    """
    if type(limit) is not int or not 1 <= limit <= MOST_EVENTS:
        raise ValueError(f"limit is {limit!r}; expected a whole number from 1 to {MOST_EVENTS:,}")

    def read(reading: ReadTransaction) -> list[GraphEventRow]:
        find_run(reading, run)
        return reading.graphs.events(run, after=after, limit=limit)

    return await anyio.to_thread.run_sync(store.read, read)
