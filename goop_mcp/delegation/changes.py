"""Changes of one run within one transaction: what follows from what, down to the last row."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, NamedTuple

import msgspec

from goop_mcp.delegation.expand import Edge, Expansion, RunSnapshot, TaskSnapshot
from goop_mcp.delegation.graph import Graph, digest_of
from goop_mcp.delegation.parts import GraphGate, GraphStep, GraphTask, attempts_of
from goop_mcp.delegation.placeholders import INPUT, fill_in, placeholders_in
from goop_mcp.delegation.processes import ThisProcess
from goop_mcp.delegation.states import (
    ENDED,
    MOVING,
    RUN_ENDED,
    WITH_REPORT,
    NeededStep,
    RunState,
    may_move,
    readiness,
    state_of_run,
)
from goop_mcp.errors import GoopError
from goop_mcp.redaction import map_texts, redact
from goop_mcp.retry.attempts import Attempt
from goop_mcp.store.graph_rows import (
    CircuitRow,
    GraphAttemptRow,
    GraphEventRow,
    GraphNeedRow,
    GraphReportRow,
    GraphRunRow,
    GraphTaskRow,
    GraphWriter,
    RunningTask,
)
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.storable import storable_text
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.limits import DEFAULT_LIMITS
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "FAILURES_THAT_OPEN",
    "KnownStep",
    "RunChange",
    "RunError",
    "UnknownRunError",
    "as_json",
    "epoch",
    "find_run",
    "find_task",
    "kept_as_json",
    "kept_result",
    "kept_text",
    "key_of_gate",
    "pause_after",
    "question_mark",
    "step_of",
    "value_of",
    "without_excess",
]

KeepOutput = Literal["none", "failed", "all"]

FAILURES_THAT_OPEN: Final = 5
_FIRST_PAUSE: Final = 30.0
_LONGEST_PAUSE: Final = 600.0
_KNOWN_USAGES: Final = 5
# As much as is read of a reply; of what is longer, people get the beginning.
_LONGEST_REPLY: Final = DEFAULT_LIMITS.text_bytes
_CUT_REPLY: Final = 100_000
# Neither space nor part of a word: what ends one text never begins a secret with the next one. In
# ASCII, which is looked through several times as fast as other texts.
_APART: Final = "\n\x01\n"
# What events hold of our own: numbers, states, names of rules and graphs.
_OWN_DATA: Final = frozenset(
    {"from", "to", "owner", "host", "attempt", "way", "accepted", "seconds", "tokens", "rules"}
    | {"graph", "retry_at", "state", "tasks"}
)
_JSON: Final = msgspec.json.Encoder()
_ASCII_JSON: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


class RunError(GoopError):
    """Raised for what cannot be done with a run, such as an answer to a gate that is answered."""


class UnknownRunError(RunError, LookupError):
    """Raised when no run has the id."""


class KnownStep(NamedTuple):
    """A step that need not be done: the accepted row that it is the same as, its key and prompt.

    `prompt` has its values, and is None for a gate.
    """

    row: GraphTaskRow
    key: str
    prompt: str | None


def pause_after(failures: int) -> float:
    """Return for how many seconds an agent is left alone after so many failed calls in a row."""
    # Bounded before it is raised to a power: the number of failures is not.
    doublings = min(max(0, failures - FAILURES_THAT_OPEN), 10)
    return min(_FIRST_PAUSE * 2.0**doublings, _LONGEST_PAUSE)


class RunChange:
    """Changes of one run within one transaction; `save` writes the run itself.

    `read_graph` returns its graph, and is called only where a change needs that.
    """

    def __init__(
        self, writing: WriteTransaction, run: GraphRunRow, read_graph: Callable[[], Graph]
    ) -> None:
        self.writing, self.run, self._read_graph = writing, run, read_graph
        # One time for the whole change, which everything in it happened at.
        self.at = writing.now()
        self._was, self._has_moved = run, False
        self._last_seq = run.last_seq
        self._moving: set[str] = set()
        self._counts: tuple[dict[str, int], int] | None = None
        self._events: list[GraphEventRow] = []
        self._circuits: dict[str, CircuitRow | None] = {}

    @property
    def now(self) -> float:
        """When this transaction began, by the database's clock, in seconds since 1970."""
        return epoch(self.at)

    @cached_property
    def graph(self) -> Graph:
        """The graph of the run. Raises RunError for one that was changed by other programs."""
        return self._read_graph()

    def step_of(self, row: GraphTaskRow | RunningTask) -> GraphStep:
        """Return the task or gate of a row.

        One of the graph is as the graph has it, which people trusted: each row has a copy of its
        own, which other programs can change.
        """
        return self.graph.steps.get(row.id) or step_of(row)

    @property
    def _rows(self) -> GraphWriter:
        return self.writing.graphs

    def event(self, task: str | None, what: str, data: Mapping[str, JsonValue]) -> None:
        """Append an event; `save` writes it."""
        self._last_seq += 1
        # By value, as nearly all of them are known: the names of graphs, why a task failed.
        others = {name: value for name, value in data.items() if name not in _OWN_DATA}
        if others:
            data = {**data, **map_texts(others, lambda text, _name: redact(text).text)}
        self._events.append(
            GraphEventRow(
                run=self.run.id,
                seq=self._last_seq,
                at=self.at,
                task=task,
                what=what,
                data=as_json(dict(data)),
            )
        )

    def save(self) -> None:
        """Write the run and its events, with the state that follows from those of its tasks."""
        if self.run == self._was and not self._events:
            return

        # An ended run stays ended, until somebody reopens it.
        if self._has_moved and self.run.state not in RUN_ENDED:
            state = self._state()
            if state != self.run.state:
                ended = self.at if state in RUN_ENDED else None
                self.run = self.run._replace(state=state, ended_at=ended)
                self.event(None, "run", {"state": state})

        # In one statement: there are several in each step.
        self._rows.add(*self._events)
        self._events = []
        self.run = self.run._replace(last_seq=self._last_seq)
        self._rows.set(self.run, was=self._was)
        self._was, self._has_moved = self.run, False
        self._moving.clear()
        self._counts = None

    def stands_still(self) -> bool:
        """Whether no task of the run goes on without a person.

        It counts all of them, so it is asked only where that is likely. `save` uses the counts.
        """
        self._counts = self._rows.final_counts(self.run.id)
        return MOVING.isdisjoint(self._counts[0])

    def _state(self) -> RunState:
        # Nearly always a task goes on; only at the end are all of them counted.
        if self._moving or (self._counts is None and self._rows.is_moving(self.run.id)):
            return "running"
        counts, failures = self._counts or self._rows.final_counts(self.run.id)
        return state_of_run(
            counts,
            failures=failures,
            cancelled=bool(json.loads(self.run.options).get("cancelled")),
        )

    def reopen(self) -> None:
        """Let an ended run go on."""
        options = json.loads(self.run.options)
        # Otherwise it would be cancelled again as soon as its tasks have ended.
        options.pop("cancelled", None)
        was = self.run.state
        self.run = self.run._replace(state="running", ended_at=None, options=as_json(options))
        if was != "running":
            self.event(None, "run", {"state": "running"})

    def add_steps(
        self,
        steps: Sequence[GraphStep],
        was: Mapping[str, GraphTaskRow] | None,
        reused: "Mapping[str, KnownStep] | None" = None,
    ) -> None:
        """Add steps of the graph, and let those begin that need nothing else.

        `was` are the rows that were removed for them, None in a new run. `reused` are those that
        other runs have results for; they are accepted at once.
        """
        reused = reused or {}
        rows, later = [], []
        for step in steps:
            row = self._row_of(step, distance=self.graph.distance[step.id])
            if was is not None:
                row = self._begun_again(row, was.get(step.id))
            # Most graphs are long because of their plain tasks; those are added as they will be.
            if step.id in reused:
                row = self._reuse(row, reused[step.id])
            elif step.needs or isinstance(step, GraphGate) or self.is_by_hand(step):
                later += [] if step.needs else [step.id]
            else:
                row = row._replace(state="ready", ready_at=self.now)
                self._note_move(row._replace(state="waiting"), row)
            rows.append(row)

        self._rows.add(*rows)
        self._rows.add(
            *(GraphNeedRow(self.run.id, step.id, need) for step in steps for need in step.needs)
        )
        # Gates and tasks of persons: these become questions, which `begin` writes.
        for id in later:
            self.begin(id)
        for step in steps if reused else ():
            if step.id not in reused and not reused.keys().isdisjoint(step.needs):
                self.look_again(step.id)

    def _reuse(self, row: GraphTaskRow, known: KnownStep) -> GraphTaskRow:
        """Return the row of a new task with the result of an earlier run, and note both."""
        result = json.loads(known.row.result or "{}")
        # Of a result that was reused itself, the run in which the agent was asked.
        origin = result.get("reused_from") or {"run": known.row.run, "task": known.row.id}
        accepted = row._replace(
            state="accepted",
            message=f"the result of {origin['task']} in {origin['run']}",
            prompt=None if known.prompt is None else storable_text(known.prompt),
            task_key=known.key,
            result=kept_result(as_json({**result, "reused_from": origin}), self.run),
            # Recorded as what it was then: the same report is not recorded twice.
            report=known.row.report,
        )
        self._note_move(row, accepted)
        data = {**origin} if known.row.report is None else {**origin, "report": known.row.report}
        self.event(row.id, "reused", data)
        return accepted

    def _row_of(
        self,
        step: GraphStep,
        *,
        distance: int,
        parent: str | None = None,
        depth: int = 0,
    ) -> GraphTaskRow:
        return GraphTaskRow(
            run=self.run.id,
            id=step.id,
            kind="task" if isinstance(step, GraphTask) else "gate",
            round=0,
            parent=parent,
            depth=depth,
            # Not by `asdict`, which copies each value in depth.
            spec=as_json({name: getattr(step, name) for name in step.__slots__}),
            prompt=None,
            notes=None,
            optional=int(isinstance(step, GraphTask) and step.optional),
            priority=step.priority if isinstance(step, GraphTask) else 0,
            distance=distance,
            state="waiting",
            reason=None,
            message=None,
            ready_at=None,
            deadline_at=None,
            fence=0,
            owner=None,
            lease_until=None,
            cancel_requested=0,
            session=None,
            program_pid=None,
            program_started=None,
            task_key=None,
            decision=None,
            result=None,
            report=None,
        )

    def _begun_again(self, row: GraphTaskRow, was: GraphTaskRow | None = None) -> GraphTaskRow:
        """Return the row of a new step after all rounds that a step with its id had in the run.

        `was` is the row of that, None where it was removed earlier or there was none. Attempts and
        reports stay: those of another round are not taken for its own, and with a higher fence
        replies to the step before come too late.
        """
        known = [] if was is None else [(was.round, was.fence)]
        for attempt in self._rows.last_attempts(row.run, row.id, limit=1):
            known.append((attempt.round, attempt.fence))
        for report in self._rows.unrecorded(row.run, row.id):
            known.append((report.round, report.fence))
        if not known:
            return row

        rounds, fences = zip(*known, strict=True)
        return row._replace(round=max(rounds) + 1, fence=max(fences) + 1)

    def is_by_hand(self, step: GraphTask) -> bool:
        """Whether a person or a host works on a task, so that no runner claims it."""
        return self.graph.agent_named[step.agent].by_hand

    def move(self, row: GraphTaskRow, state: str, **values: Any) -> GraphTaskRow:  # noqa: ANN401
        """Move a task to `state` and note that, in the transaction of this change."""
        # A table of moves, and not the caller, decides what may follow: two callers may disagree.
        if state != row.state and not may_move(row.state, state):
            raise RunError(f"{row.id} is {row.state}, which cannot become {state}")

        # Prompts, notes and sessions come from outside. What no database keeps would be refused
        # each time that the task is claimed, and the run would never go on.
        values = {
            name: storable_text(value) if isinstance(value, str) else value
            for name, value in values.items()
        }
        if state not in WITH_REPORT:
            self.keep_report(row)
            # Of one that nobody accepted, nobody else needs the text.
            values = {"result": kept_result(row.result, self.run), **values}
        moved = row._replace(state=state, **values)
        self._rows.move_task(moved, was=row)
        self._note_move(row, moved)
        # Not before: whoever resumes the task goes on from the texts of its attempts.
        if state in ENDED and row.state != state and row.kind == "task":
            self._drop_texts(row.id)
        return moved

    def keep_report(self, row: GraphTaskRow) -> None:
        """Keep the report of a task that goes on, or goes away, before somebody recorded it."""
        # Without an owner, nobody records the reports of this run.
        is_due = row.kind == "task" and row.state in WITH_REPORT and row.owner is not None
        if is_due and row.result is not None and row.report is None:
            self._rows.add(
                GraphReportRow(
                    run=row.run,
                    task=row.id,
                    fence=row.fence,
                    round=row.round,
                    spec=row.spec,
                    owner=row.owner,
                    result=row.result,
                )
            )

    def _note_move(self, row: GraphTaskRow, moved: GraphTaskRow) -> None:
        # A change within a state, such as a lease, is no event.
        if moved.state == row.state:
            return
        self._has_moved, self._counts = True, None
        # A task may begin and fail in one change: the last of its states counts.
        if moved.state in MOVING:
            self._moving.add(row.id)
        else:
            self._moving.discard(row.id)
        data: dict[str, JsonValue] = {"from": row.state, "to": moved.state}
        if moved.reason:
            data["reason"] = moved.reason
        if moved.message:
            data["message"] = moved.message
        self.event(row.id, "state", data)

    def _drop_texts(self, task: str) -> None:
        """Remove the texts of the attempts of a task that the run is not to keep."""
        keep = kept_output(self.run)
        if keep == "all":
            return
        for each in self._rows.attempts(self.run.id, task):
            outcome = None if each.outcome is None else json.loads(each.outcome)
            verdict = (outcome or {}).get("verdict") or {}
            # Failed attempts are worth keeping where accepted ones are not: somebody will look for
            # the reason.
            if keep == "failed" and verdict.get("verdict") != "accepted":
                continue
            changed = each._replace(
                message="", outcome=None if outcome is None else as_json(_without_texts(outcome))
            )
            # Those of earlier rounds are empty already.
            if changed != each:
                self._rows.set(changed, was=each)

    def take(
        self,
        row: GraphTaskRow,
        runner: ThisProcess,
        until: float,
        **filled: str | None,
    ) -> GraphTaskRow:
        """Let `runner` work on a task until `until`; `filled` is what `fill` found for it."""
        taken = self.move(
            row,
            "running",
            fence=row.fence + 1,
            owner=runner.owner,
            lease_until=until,
            reason=None,
            message=None,
            **filled,
        )
        # The program of a dead runner stays in the row until it is ended: whoever claims the task
        # may die before that.
        self.event(row.id, "claimed", {"owner": runner.owner, "host": runner.host})
        return taken

    def begin(self, id: str) -> None:
        """Let a step begin: a task is ready, a gate and a task of a person wait for an answer."""
        row = find_task(self.writing, self.run.id, id)
        step = self.step_of(row)
        if isinstance(step, GraphGate):
            self.move(
                row,
                "input_required",
                reason="gate",
                message=step.question,
                deadline_at=None if step.timeout is None else self.now + step.timeout,
                task_key=key_of_gate(step),
            )
        elif self.is_by_hand(step):
            filled = self.fill(row, step)
            if filled is not None:
                reason = self.graph.agent_named[step.agent].run
                self.move(row, "input_required", reason=reason, message=filled["prompt"], **filled)
        else:
            self.move(row, "ready", ready_at=self.now)

    def fill(self, row: GraphTaskRow, step: GraphTask) -> dict[str, str | None] | None:
        """Return the prompt with its values and the key of a task, to be stored with its next move.

        Without one of the values the task fails, and this is None.
        """
        sources = self._rows.needs(self.run.id, row.id)
        is_in_graph = step.id in self.graph.steps
        # Tasks that agents added have their whole prompt; the others may have the default one.
        prompt = step.prompt or (self.graph.prompt_of(step) if is_in_graph else "")
        named = {each.source for each in placeholders_in(prompt)} | set(sources)
        values: dict[str, JsonValue] = {}
        if INPUT in named:
            # The input can be large, and nearly no prompt but the first names it.
            values[INPUT] = json.loads(self._rows.source(self.run.id).input)
        keys: list[str] = []
        for name in sorted(named - {INPUT}):
            found = self._rows.task(self.run.id, name)
            if found is not None:
                values[name] = value_of(found)
                # Only what it needs decides whether it must be done again, not every value that it
                # reads.
                keys += [found.task_key or ""] if name in sources else []

        try:
            filled = fill_in(prompt, values)
        except ValueError as error:
            # From waiting there is no way to failed: it was about to begin.
            ready = row if row.state == "ready" else self.move(row, "ready")
            self.move(ready, "failed", reason="prompt", message=excerpt(str(error), 500))
            self.after(row.id)
            return None

        key = self.graph.key_of(step, filled, keys) if is_in_graph else None
        return {"prompt": filled, "task_key": key}

    def accept(
        self,
        row: GraphTaskRow,
        result: str,
        decide: Callable[[RunSnapshot], Expansion],
        *,
        session: str | None,
        recorder: str | None = None,
    ) -> Expansion:
        """Accept the report of a task and carry out what it does to the graph.

        `result` is that of `kept_as_json`. `session` is the conversation in which it was asked, to
        be kept with it. `recorder` is the runner that is about to record the report, "" where that
        is no runner, None where nobody does.
        """
        # Before anything is written: it looks at the run as it was when the report came.
        expansion = decide(self._snapshot(row))
        ended = {
            "owner": recorder,
            "lease_until": None,
            "program_pid": None,
            "session": session,
            # A person writes another report than the one with which the task may have waited.
            "fence": row.fence + int(row.state != "running"),
            "report": None,
        }
        if expansion.state == "input_required":
            path = " → ".join(expansion.path)
            # The words of the agent itself, as the report has them.
            questions = map_texts(expansion.questions, lambda text, _name: redact(text).text)
            message = redact(f"{expansion.message} ({path})" if path else expansion.message).text
            self.move(
                row,
                "input_required",
                reason=expansion.reason,
                # Cut after the path was added: the list of runs shows it in one line.
                message=excerpt(message, 500),
                decision=None if not questions else as_json([asdict(each) for each in questions]),
                result=result,
                **ended,
            )
            return expansion

        # Whoever records the report needs its text until then; a person's is always recorded later.
        is_needed = recorder is not None or row.state != "running"
        # A task that waits for what it sent back is done for now as well: it begins again later.
        self.move(
            row,
            "accepted",
            reason=None,
            message=None,
            result=result if is_needed else kept_result(result, self.run),
            **ended,
        )
        step = self.step_of(row)
        agent = step.agent if isinstance(step, GraphTask) else None
        for added in expansion.added:
            # What an agent wrote, which no reply and no report is kept with either.
            task = replace(added.task, prompt=kept_text(added.task.prompt))
            new = self._row_of(task, distance=0, parent=added.parent, depth=added.depth)
            # A changed graph forgets what was added, and its tasks may come again.
            new = self._begun_again(new)
            # What goes on with the same agent goes on in its conversation, unless it is to be a
            # fresh one; a session means nothing to another agent.
            if not added.fresh and added.task.agent == agent:
                new = new._replace(session=session and storable_text(session))
            self._rows.add(new)
            for need in added.task.needs:
                self._rows.add(GraphNeedRow(self.run.id, added.task.id, need))
            most = attempts_of(self.graph.agent_named[added.task.agent], added.task)
            self.event(
                added.task.id,
                "added",
                {
                    "by": row.id,
                    "agent": added.task.agent,
                    "attempts": most,
                    **({"round": new.round} if new.round else {}),
                },
            )
        for need in expansion.needs:
            self._rows.add(GraphNeedRow(self.run.id, row.id, need))
        if expansion.again:
            self._note_edges(row.id, expansion)
            targets = [each.task for each in expansion.again]
            later = self.dependants(targets)
            for each in expansion.again:
                target = find_task(self.writing, self.run.id, each.task)
                self.again(target, notes=kept_text(each.message), fresh=False)
            for name in later:
                # A target that needs another target waits by itself.
                if name not in targets:
                    dependant = find_task(self.writing, self.run.id, name)
                    if dependant.state != "waiting":
                        self.again(dependant, notes=None, fresh=False)
            for each in expansion.again:
                self.proceed(each.task)
        # After all rows are there: one that was added may need another one.
        for added in expansion.added:
            self.look_again(added.task.id)
        self.after(row.id)
        return expansion

    def again(self, row: GraphTaskRow, *, notes: str | None, fresh: bool) -> None:
        """Let a task wait again, in its next round."""
        # Its program may still write: a higher fence makes the store refuse what it sends from now
        # on.
        if row.state == "running":
            # Its runner finds its fence too old and stops.
            self.event(row.id, "taken_back", {"round": row.round})
            step = self.step_of(row)
            # The answer comes too late to end its message, whose reservation would be held for
            # ever.
            if isinstance(step, GraphTask):
                self.settle_unended(row, agent=step.agent)
        self.move(
            row,
            "waiting",
            round=row.round + 1,
            fence=row.fence + 1,
            prompt=None,
            notes=notes,
            reason=None,
            message=None,
            owner=None,
            lease_until=None,
            program_pid=None,
            cancel_requested=0,
            decision=None,
            # Of the round that is over: a person could accept it in the next one.
            result=None,
            report=None,
            session=None if fresh else row.session,
        )

    def dependants(self, names: Sequence[str]) -> list[str]:
        """Return everything that needs one of `names`, directly or not, without these."""
        # Breadth first, with the list as the queue; `found` keeps a cycle of feedback from being
        # followed twice.
        found = dict.fromkeys(names)
        todo = list(names)
        for name in todo:
            for follower in self._rows.followers(self.run.id, name):
                if follower not in found:
                    found[follower] = None
                    todo.append(follower)

        return [name for name in found if name not in names]

    def after(self, id: str) -> None:
        """Look at what needs `id`, which has ended; what is left out because of it ends too."""
        # What is left out is no result, so those who need it are looked at in turn, and so on to
        # the ends.
        todo = [id]
        for name in todo:
            for follower in self._rows.followers(self.run.id, name):
                if self.look_again(follower) == "skipped":
                    todo.append(follower)

    def look_again(self, id: str) -> str | None:
        """Let a waiting step begin, or leave it out; return "ready", "waiting" or "skipped"."""
        row = find_task(self.writing, self.run.id, id)
        if row.state != "waiting":
            return None

        needed = [NeededStep(*each) for each in self._rows.needed_states(self.run.id, id)]
        found = readiness(self.step_of(row).when, needed)
        if found == "ready":
            self.begin(id)
        elif found == "skipped":
            self.move(row, "skipped", reason="needs", message="what it needs did not succeed")
        return found

    def proceed(self, id: str) -> None:
        """Let a step that was asked for again begin, or leave it out with what needs it."""
        # What it needs may have failed meanwhile. Those who need it wait again, and nobody else
        # would ever look at them.
        if self.look_again(id) == "skipped":
            self.after(id)

    def answer(self, row: GraphTaskRow, answer: str, *, by: str, note: str) -> None:
        """Carry out what a person decided about a gate or a task that waits."""
        step = self.step_of(row)
        self.event(row.id, "decided", {"answer": answer, "by": by, "note": note})
        # Of an answer that nobody confirmed, `by` says itself who reported it.
        who = by if by.startswith("reported by ") else f"by {by}"
        if isinstance(step, GraphGate):
            # The event is written already: a refused answer rolls the whole change back, it too.
            if answer not in step.answers:
                raise RunError(
                    f"{row.id} does not take the answer {answer!r}; expected one of"
                    f" {', '.join(step.answers)}"
                )
            result = as_json({"answer": answer, "note": note, "by": by})
            # The first answer is the one that lets the work go on; the writer of the graph decides
            # which it is.
            state = "accepted" if answer == step.answers[0] else "skipped"
            self.move(
                row,
                state,
                decision=answer,
                result=result,
                reason=None,
                message=f"{answer}, {who}",
                deadline_at=None,
            )
        elif answer == "retry":
            # With its conversation: the agent knows what it did, and only learns what the person
            # says.
            notes = note or "A person decided: go on."
            self.again(row, notes=notes, fresh=False)
            self.proceed(row.id)
            return
        elif answer == "accept" and row.result is not None:
            # A person may accept what the judge did not, but not a report that never came.
            self.move(row, "accepted", decision=answer, reason=None, message=f"accepted {who}")
        elif answer == "fail":
            self.move(row, "failed", decision=answer, reason="person", message=note or who)
        else:
            known = "retry, fail" if row.result is None else "retry, accept, fail"
            raise RunError(f"{answer!r} cannot be decided about {row.id}; expected one of {known}")
        self.after(row.id)

    def answer_late_gates(self) -> None:
        """Take the default of each gate that nobody answered in time, unless it is consent."""
        # Nearly no graph has one, and every claim comes here.
        if not any(gate.ends_by_itself for gate in self.graph.gates):
            return
        for row in self._rows.tasks(self.run.id, state="input_required"):
            step = self.step_of(row)
            if (
                isinstance(step, GraphGate)
                and step.default is not None
                and step.ends_by_itself
                and row.deadline_at is not None
                and self.now > row.deadline_at
            ):
                self.answer(row, step.default, by="timeout", note="nobody answered in time")

    def set_deadline(self, seconds: float, *, by: str) -> str:
        """Let the run last for `seconds` from now; return its deadline in ISO 8601."""
        self.run = self.run._replace(deadline_at=self.now + seconds)
        until = _written(self.now + seconds)
        self.event(None, "deadline", {"until": until, "by": by})
        return until

    def refuse_after_deadline(self, command: str) -> None:
        """Raise RunError where whatever begins now would be ended at once.

        `command` of `goop-mcp runs` is the one that gives the run more time.
        """
        until = self.run.deadline_at
        if until is not None and self.now > until:
            raise RunError(
                f"the deadline of {self.run.id} was {_written(until)}; `goop-mcp runs {command}"
                " --deadline 1h` gives it an hour from now"
            )

    def stop_all(self, reason: str) -> None:
        """End what has not begun, and ask what runs to stop."""
        for row in self._rows.tasks(self.run.id):
            # Those that run cannot be ended here: their runner owns the processes, and reads this
            # mark.
            if row.state == "running" and not row.cancel_requested:
                self.move(row, "running", cancel_requested=1, reason=reason)
            elif row.state not in ENDED and row.state != "running":
                self.move(row, "cancelled", reason=reason, message=f"the {reason} passed")

    def settle(
        self,
        row: GraphAttemptRow,
        attempt: Attempt | None,
        *,
        agent: str,
        outcome: str | None = None,
    ) -> None:
        """Give back what was reserved for a message, and count what it used.

        None stands for a message whose end is not known: as many tokens count as the agent used at
        most of late. The first call of an agent reserves all that is left, and a crash in it must
        not take the budget of the whole run with it. `outcome` is the attempt by `kept_as_json`.
        """
        found = self.circuit(agent)
        usages: list[int] = json.loads(found.usages) if found is not None else []
        usage = attempt.usage if attempt is not None else None
        # For a lost message the largest of the newest usages, an estimate of what it cost.
        tokens = row.reserved if attempt is not None else min(row.reserved, max(usages, default=0))
        if usage is not None and usage.tokens is not None:
            tokens = usage.tokens
        cost = usage.cost if usage is not None and usage.cost is not None else 0.0
        self.run = self.run._replace(
            # Never below zero: a reservation may have been given back already by a runner that was
            # thought dead.
            reserved_tokens=max(0, self.run.reserved_tokens - row.reserved),
            spent_tokens=self.run.spent_tokens + tokens,
            spent_cost=self.run.spent_cost + cost,
        )
        self._rows.set(row._replace(outcome=outcome, ended_at=self.at), was=row)
        if attempt is None:
            return

        if usage is not None and usage.tokens is not None and attempt.reply is not None:
            usages = [*usages, usage.tokens][-_KNOWN_USAGES:]
        failures = found.failures if found is not None else 0
        # A reply, also a rejected one, shows that the agent answers: only calls that fail open the
        # circuit. Of those, one that names when to come back is waited for by its own task.
        failed = attempt.repeatable and attempt.retry_at is None
        failures = 0 if attempt.reply is not None else failures + int(failed)
        pause = pause_after(failures) if failures >= FAILURES_THAT_OPEN else 0.0
        known = as_json(usages)
        # Most calls change nothing of it, and a row that is not written costs no transaction log.
        changed = found is None or (found.failures, found.usages) != (failures, known)
        if changed and (failures or usages or found is not None):
            self.set_circuit(
                agent,
                failures=failures,
                open_until=self.now + pause if pause else 0.0,
                usages=known,
            )

    def settle_unended(self, row: GraphTaskRow, *, agent: str) -> None:
        """Settle the messages of a task of which nobody will know what became of them."""
        for each in self._rows.attempts(row.run, row.id, unended=True):
            self.settle(each, None, agent=agent)

    def circuit(self, agent: str) -> CircuitRow | None:
        """Return how the calls of `agent` went, None if nothing is known; read once."""
        if agent not in self._circuits:
            self._circuits[agent] = self._rows.circuit(agent)
        return self._circuits[agent]

    def set_circuit(self, agent: str, **values: Any) -> None:  # noqa: ANN401
        """Change what is known of the calls of an agent."""
        found = self.circuit(agent)
        empty = CircuitRow(agent=agent, failures=0, open_until=0.0, next_call_at=0.0, usages="[]")
        changed = self._circuits[agent] = (found or empty)._replace(**values)
        if found is None:
            self._rows.add(changed)
        else:
            self._rows.set(changed, was=found)

    def _snapshot(self, row: GraphTaskRow) -> RunSnapshot:
        """Return what `expand` has to know to judge the report of `row`."""
        step = self.step_of(row)
        rows = [row]
        if isinstance(step, GraphTask) and (step.expands or step.feedback_to):
            rows = self._rows.tasks(self.run.id)
        else:
            # The report changes nobody else: a thousand plain tasks need not read a thousand rows.
            while rows[-1].parent is not None:
                rows.append(find_task(self.writing, self.run.id, rows[-1].parent))

        tasks = {
            each.id: TaskSnapshot(task=task, parent=each.parent, depth=each.depth)
            for each in rows
            if isinstance(task := self.step_of(each), GraphTask)
        }
        edges: dict[str, list[str]] = json.loads(self.run.edges)
        reports = {Edge(*key.split(" ", 1)): tuple(each) for key, each in edges.items()}
        return RunSnapshot(graph=self.graph, tasks=tasks, reports=reports)

    def _note_edges(self, source: str, expansion: Expansion) -> None:
        edges: dict[str, list[str]] = json.loads(self.run.edges)
        for each in expansion.again:
            edges.setdefault(f"{source} {each.task}", []).append(expansion.digest)
        self.run = self.run._replace(edges=as_json(edges))


def step_of(row: GraphTaskRow | RunningTask | GraphReportRow) -> GraphStep:
    """Return the task or gate of a row."""
    return _read_step(row.kind, row.spec)


# A row is read several times in each step of its task, and what it was made of never changes.
@lru_cache(maxsize=2_000)
def _read_step(kind: str, spec: str) -> GraphStep:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(spec).items()
    }
    return GraphTask(**values) if kind == "task" else GraphGate(**values)


def find_run(reading: ReadTransaction, id: str) -> GraphRunRow:
    """Return a run. Raises UnknownRunError, which names the runs that there are."""
    found = reading.graphs.run(id)
    if found is None:
        known = ", ".join(each.id for each in reading.graphs.runs(include_ended=True)[:5])
        raise UnknownRunError(
            f"there is no run {id!r}; "
            + (f"known are {known}" if known else "goop-mcp delegate GRAPH starts one")
        )
    return found


def find_task(reading: ReadTransaction, run: str, id: str) -> GraphTaskRow:
    """Return a task or gate of a run. Raises RunError, which names those that there are."""
    found = reading.graphs.task(run, id)
    if found is None:
        known = ", ".join(each.id for each in reading.graphs.tasks(run)[:12])
        raise RunError(f"{run} has no task {id!r}; it has {known}")
    return found


def value_of(row: GraphTaskRow) -> JsonValue:
    """Return what prompts may take from a step: its envelope, or its answer; None without one."""
    if row.state != "accepted" or row.result is None:
        return None
    result: dict[str, JsonValue] = json.loads(row.result)
    return result.get("envelope") if row.kind == "task" else result


def question_mark(row: GraphTaskRow, since: GraphEventRow | None) -> str:
    """Return what identifies the question of a row that waits since the event `since`.

    The same question about work that was done again has another mark: an answer to the one does not
    count for the other.
    """
    return digest_of([None if since is None else since.seq, row.message])


def key_of_gate(gate: GraphGate) -> str:
    """Return what is the same for a gate that asks the same again."""
    # In ASCII, as runs of older versions have it.
    return _ASCII_JSON.encode([gate.question, list(gate.answers)])


def kept_text(text: str) -> str:
    """Return a text as it is stored: redacted."""
    return storable_text(redact(text).text)


def kept_output(run: GraphRunRow) -> KeepOutput:
    """Return of which attempts a run keeps the texts once their task has ended."""
    keep: KeepOutput = json.loads(run.options).get("keep_output", "all")
    return keep


def kept_result(result: str | None, run: GraphRunRow) -> str | None:
    """Return the result of an accepted task as the run keeps it: without the reply, if so asked.

    Its envelope stays, which the prompts of other tasks take values from.
    """
    if result is None or kept_output(run) == "all":
        return result
    return as_json({**json.loads(result), "text": ""})


def _without_texts(outcome: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return an attempt as JSON without its texts; the reason of a rejection stays."""
    kept = {**outcome, "message": "", "read_text": None, "span": None}
    if outcome.get("reply") is not None:
        kept["reply"] = ""
    verdict = outcome.get("verdict")
    if isinstance(verdict, dict):
        # Repairs and evidence quote the reply, as findings do.
        findings = [{**each, "found": None} for each in verdict["findings"]]
        verdict |= {"envelope": None, "repaired_text": None, "repairs": [], "findings": findings}
        verdict.pop("evidence", None)
        if verdict["feedback"] is not None:
            verdict["feedback"] = ""
        kept["verdict"] = verdict

    return kept


def kept_as_json(*values: object) -> list[str]:
    """Return structures of JSON values as they are stored: without the secrets in their texts.

    A report has dozens of texts, nearly never with a secret. Those of all `values` are looked at
    together first, those that several of them have once, and one by one only if something is found.
    """
    texts: dict[str, None] = {}
    _gather(values, texts)
    if redact(_APART.join(texts)).count:
        values = tuple(map_texts(each, lambda text, _name: redact(text).text) for each in values)
    return [as_json(each) for each in values]


def without_excess(attempt: Attempt) -> Attempt:
    """Return the attempt without what a reply has beyond all that is read of one.

    To look through 30 MiB for secrets takes seconds.
    """
    reply = attempt.reply or ""
    if len(reply) <= _LONGEST_REPLY:
        return attempt

    cut = f"{reply[:_CUT_REPLY]}… (cut: {len(reply):,} characters)"
    verdict = attempt.verdict
    # It holds the reply once more.
    if verdict is not None and len(verdict.read_text) > _LONGEST_REPLY:
        verdict = replace(verdict, read_text=cut, span=None)
    return replace(attempt, reply=cut, verdict=verdict)


def _gather(value: object, texts: dict[str, None]) -> None:
    if isinstance(value, str):
        texts[value] = None
    elif isinstance(value, dict):
        for each in value.values():
            _gather(each, texts)
    elif isinstance(value, list | tuple):
        for each in value:
            _gather(each, texts)


def as_json(values: object) -> str:
    """Return `values` as JSON that every database stores: halves of characters are escaped."""
    try:
        return _JSON.encode(values).decode()
    except UnicodeEncodeError:
        return _ASCII_JSON.encode(values)


def _written(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def epoch(written: str) -> float:
    """Return a time in ISO 8601 in seconds since 1970."""
    return datetime.fromisoformat(written).timestamp()
