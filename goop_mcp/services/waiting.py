"""All that waits for a person: confirmations, blockers, questions, and what runs of graphs ask."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from goop_mcp import services
from goop_mcp.services.open_questions import OpenQuestion, counters_row
from goop_mcp.services.project_snapshot import ProjectSnapshot
from goop_mcp.services.project_step import person_command, step_from_json
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.store.records import Confirmation
from goop_mcp.validation.findings import excerpt

__all__ = ["Waiting", "waiting_in", "waiting_on"]

# Of what is asked: the prompt of a task of a person and a blocker may be long.
_SHOWN = 200
_NOTED = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Something that waits for a person.

    `action` is a step of the project: that of a confirmation, `decide` for a blocker, a question or
    a gate, `accept` for the result of a round, `finish` for a task that a person does, and `resume`
    for a run that stands still as its runners are gone. `summary` is the question, `task` what it
    is about (None for a confirmation and a run), `command` what answers it on a terminal. `id` is
    the number of a confirmation, else 0. `is_blocker`: it is the blocker of a report.
    """

    id: int = 0
    action: str
    summary: str = field(repr=False)
    asked_by: str
    asked_at: str
    seconds: int
    command: str
    task: str | None = None
    run: str | None = None
    is_blocker: bool = False

    @property
    def sentence(self) -> str:
        """What waits, for how long, and what a person runs, for people."""
        if self.action == "resume":
            return f"{self.summary}: {self.command}"
        return f"{self._asked}; run: {self.command}"

    @property
    def for_agent(self) -> str:
        """What waits, and what an agent calls so that the person is asked."""
        if self.call is None:
            return self.sentence
        return f"{_as_sentence(self.summary)} Asked by {self.asked_by}; call {self.call}"

    @property
    def _asked(self) -> str:
        asked = f"Asked by {self.asked_by} {_age(self.seconds)} ago"
        return f"{_as_sentence(self.summary)} {asked}"

    @property
    def note(self) -> str:
        """What waits and what answers it, as documents state it: for terminals and for agents."""
        how = f"`{self.command}`" + (f", or `{self.call}`" if self.call else "")
        # Documents list the blockers themselves.
        what = excerpt(self.summary, _NOTED)
        if self.is_blocker:
            what = f"{self.task} waits for a decision on its blocker"
        return f"{_as_sentence(what)} Answer: {how}"

    @property
    def call(self) -> str | None:
        """The call by which an agent has the person asked, None for what only a terminal does."""
        if self.action in ("resume", "finish"):
            return None
        given = {"action": self.action, "run": self.run, "task": self.task}
        if self.action == "accept" and not self.id:
            given["outcome"] = "…"
        if self.action == "decide":
            given["choice"] = "…"
        listed = ", ".join(f'{name}="{value}"' for name, value in given.items() if value)
        return f"update_project({listed})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "id": self.id,
            "action": self.action,
            "summary": self.summary,
            "asked_by": self.asked_by,
            "asked_at": self.asked_at,
            "seconds": self.seconds,
            "command": self.command,
            "call": self.call,
        }


def waiting_in(reading: ReadTransaction, snapshot: ProjectSnapshot) -> tuple[Waiting, ...]:
    """Return all that waits for a person, oldest first; ages are by the database's clock."""
    now, round = datetime.fromisoformat(reading.now()), snapshot.round.number
    # A request of an earlier round can no longer be answered; its round is closed.
    asked = [each for each in reading.open_confirmations() if each.round == round]
    found = [*_confirmations(asked, now), *_undecided(snapshot, asked, now)]
    # Most projects have no open run, and then nothing of graphs is loaded.
    if reading.graphs.runs(limit=1):
        found += _of_runs(reading, now)
    return tuple(sorted(found, key=lambda each: datetime.fromisoformat(each.asked_at)))


def _confirmations(asked: list[Confirmation], now: datetime) -> Iterator[Waiting]:
    for each in asked:
        yield Waiting(
            id=each.id,
            action=each.action,
            summary=each.summary,
            asked_by=each.asked_by,
            asked_at=each.asked_at,
            seconds=_seconds(each.asked_at, now),
            command=person_command(step_from_json(each.action, each.arguments)),
        )


def _undecided(
    snapshot: ProjectSnapshot, asked: list[Confirmation], now: datetime
) -> Iterator[Waiting]:
    """Yield the blockers and questions, without those that a confirmation asks about already."""
    # What is blocked in a closed round is not worked on any more.
    blocked = snapshot.records.blocked if snapshot.round.is_open else {}
    confirmed = {each.subject_key for each in asked if each.action == "decide"}
    accepts = any(each.action == "accept" for each in asked)
    for key, blocker in blocked.items():
        if key not in confirmed:
            by = blocker.agent or "an agent"
            yield replace(_decision(key, blocker.text, by, blocker.at, now), is_blocker=True)
    for each in snapshot.open_questions:
        if not (accepts if each.accepts else counters_row(each.key) in confirmed):
            yield waiting_on(each, round=snapshot.round.number, now=now)


def waiting_on(
    question: OpenQuestion, *, round: int | None = None, now: datetime | None = None
) -> Waiting:
    """Return how `question` of the round waits; without `now` it has been asked just now."""
    at = question.asked_at
    now = now or datetime.fromisoformat(at)
    if not question.accepts:
        return _decision(question.key, question.text, question.asked_by, at, now)
    return Waiting(
        action="accept",
        summary=f"Accept the result of {f'round {round}' if round else 'the round'}?",
        asked_by=question.asked_by,
        asked_at=at,
        seconds=_seconds(at, now),
        command="goop-mcp project accept --outcome accept",
    )


def _decision(key: str, text: str, by: str, at: str | None, now: datetime) -> Waiting:
    at = at or now.isoformat()
    # What a database of the packages holds has no other name than its text.
    about = "" if key == text else f"{key}: "
    return Waiting(
        action="decide",
        summary=f"{about}{excerpt(text, _SHOWN)}",
        asked_by=by,
        asked_at=at,
        seconds=_seconds(at, now),
        command=f"goop-mcp project decide --task {shlex.quote(key)} --choice …",
        task=key,
    )


def _of_runs(reading: ReadTransaction, now: datetime) -> Iterator[Waiting]:
    for step in services.runs.waiting_steps(reading):
        yield Waiting(
            action="finish" if step.is_by_hand else "decide",
            summary=excerpt(step.question or step.task, _SHOWN),
            asked_by=f"run {step.run}",
            asked_at=step.asked_at,
            seconds=_seconds(step.asked_at, now),
            command=step.command,
            task=step.task,
            run=step.run,
        )
    for left in services.runs.left_runs(reading):
        since = left.work.since or now.isoformat()
        yield Waiting(
            action="resume",
            summary=f"Run {left.work.run} of {left.name}: {left.work.words}",
            asked_by=f"run {left.work.run}",
            asked_at=since,
            seconds=_seconds(since, now),
            command=left.work.command,
            run=left.work.run,
        )


def _seconds(asked_at: str, now: datetime) -> int:
    # The clock of the one who asked may be ahead.
    return max(0, int((now - datetime.fromisoformat(asked_at)).total_seconds()))


def _as_sentence(text: str) -> str:
    # Prompts and questions are written by people, often without a period.
    return text if text.endswith((".", "?", "!", ":", "…")) else f"{text}."


def _age(seconds: int) -> str:
    """Return an age in the largest fitting unit: 40 s, 12 min, 5 h, 3 days."""
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size or (unit == "min" and seconds >= size):
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
