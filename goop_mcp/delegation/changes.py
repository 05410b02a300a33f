"""Changes of one run within one transaction: what follows from what, down to the last row."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any, Final, Literal

from goop_mcp.delegation.expand import Edge, Expansion, RunSnapshot, TaskSnapshot
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphGate, GraphStep, GraphTask
from goop_mcp.delegation.placeholders import INPUT, fill_in, placeholders_in
from goop_mcp.delegation.processes import ThisProcess
from goop_mcp.delegation.states import (
    ENDED,
    RUN_ENDED,
    NeededStep,
    may_move,
    readiness,
    state_of_run,
)
from goop_mcp.errors import GoopError
from goop_mcp.redaction import redact
from goop_mcp.retry.attempts import Attempt
from goop_mcp.store.graph_rows import (
    CircuitRow,
    GraphAttemptRow,
    GraphEventRow,
    GraphNeedRow,
    GraphRunRow,
    GraphTaskRow,
    GraphWriter,
)
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.safe_json import JsonValue

__all__ = [
    "FAILURES_THAT_OPEN",
    "RunChange",
    "RunError",
    "as_json",
    "epoch",
    "find_run",
    "find_task",
    "kept_text",
    "key_of_gate",
    "pause_after",
    "step_of",
    "value_of",
]

KeepOutput = Literal["none", "failed", "all"]

FAILURES_THAT_OPEN: Final = 5
_FIRST_PAUSE: Final = 30.0
_LONGEST_PAUSE: Final = 600.0
_KNOWN_USAGES: Final = 5


class RunError(GoopError):
    """Raised for what cannot be done with a run, such as an answer to a gate that is answered."""


def pause_after(failures: int) -> float:
    """Return for how many seconds an agent is left alone after so many failed calls in a row."""
    # Bounded before it is raised to a power: the number of failures is not.
    doublings = min(max(0, failures - FAILURES_THAT_OPEN), 10)
    return min(_FIRST_PAUSE * 2.0**doublings, _LONGEST_PAUSE)


class RunChange:
    """Changes of one run within one transaction; `save` writes the run itself."""

    def __init__(self, writing: WriteTransaction, run: GraphRunRow, graph: Graph) -> None:
        self.writing, self.run, self.graph = writing, run, graph
        self._was, self._has_moved = run, False

    @property
    def _rows(self) -> GraphWriter:
        return self.writing.graphs

    def event(self, task: str | None, what: str, data: Mapping[str, JsonValue]) -> None:
        """Append an event."""
        self.run = replace(self.run, last_seq=self.run.last_seq + 1)
        self._rows.add(
            GraphEventRow(
                run=self.run.id,
                seq=self.run.last_seq,
                at=self.writing.now(),
                task=task,
                what=what,
                data=redact(as_json(dict(data))).text,
            )
        )

    def save(self) -> None:
        """Write the run, with the state that follows from those of its tasks."""
        if self.run == self._was:
            return

        if self._has_moved and self.run.state not in RUN_ENDED:
            state = state_of_run(
                self._rows.task_counts(self.run.id),
                failures=lambda: self._rows.failures(self.run.id),
                cancelled=bool(json.loads(self.run.options).get("cancelled")),
            )
            if state != self.run.state:
                ended = self.writing.now() if state in RUN_ENDED else None
                self.run = replace(self.run, state=state, ended_at=ended)
                self.event(None, "run", {"state": state})
        self._rows.set(self.run, was=self._was)
        self._was = self.run

    def reopen(self) -> None:
        """Let an ended run go on."""
        options = json.loads(self.run.options)
        options.pop("cancelled", None)
        self.run = replace(self.run, state="running", ended_at=None, options=as_json(options))

    def add_step(
        self,
        step: GraphStep,
        *,
        distance: int,
        parent: str | None = None,
        depth: int = 0,
        again: GraphTaskRow | None = None,
    ) -> None:
        """Add a step that waits; `again` is the row that it replaces, whose fence goes on."""
        self._rows.add(
            GraphTaskRow(
                run=self.run.id,
                id=step.id,
                kind="task" if isinstance(step, GraphTask) else "gate",
                round=0 if again is None else again.round + 1,
                parent=parent,
                depth=depth,
                spec=as_json(asdict(step)),
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
                fence=0 if again is None else again.fence + 1,
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
        )
        for need in step.needs:
            self._rows.add(GraphNeedRow(run=self.run.id, task=step.id, need=need))

    def move(self, row: GraphTaskRow, state: str, **values: Any) -> GraphTaskRow:  # noqa: ANN401
        """Move a task to `state` and note that, in the transaction of this change."""
        if state != row.state and not may_move(row.state, state):
            raise RunError(f"{row.id} is {row.state}, which cannot become {state}")

        moved = replace(row, state=state, **values)
        self._rows.move_task(moved, was=row)
        if state != row.state:
            self._has_moved = True
            why = {"reason": moved.reason, "message": moved.message}
            data = {"from": row.state, "to": state, **{k: v for k, v in why.items() if v}}
            self.event(row.id, "state", data)
        return moved

    def take(self, row: GraphTaskRow, runner: ThisProcess, until: float) -> GraphTaskRow:
        """Let `runner` work on a task until `until`."""
        taken = self.move(
            row,
            "running",
            fence=row.fence + 1,
            owner=runner.owner,
            lease_until=until,
            reason=None,
            message=None,
        )
        # The program of a dead runner stays in the row until it is ended: whoever claims the task
        # may die before that.
        self.event(row.id, "claimed", {"owner": runner.owner, "host": runner.host})
        return taken

    def begin(self, id: str) -> None:
        """Let a step begin: a task is ready, a gate and a task of a person wait for an answer."""
        row = find_task(self.writing, self.run.id, id)
        step = step_of(row)
        if isinstance(step, GraphGate):
            now = epoch(self.writing.now())
            self.move(
                row,
                "input_required",
                reason="gate",
                message=step.question,
                deadline_at=None if step.timeout is None else now + step.timeout,
                task_key=key_of_gate(step),
            )
        elif self.graph.agent_named[step.agent].by_hand:
            filled = self.fill(row, step)
            if filled is not None:
                agent = self.graph.agent_named[step.agent]
                self.move(filled, "input_required", reason=agent.run, message=filled.prompt)
        else:
            self.move(row, "ready")

    def fill(self, row: GraphTaskRow, step: GraphTask) -> GraphTaskRow | None:
        """Put the values into the prompt of a task; without one of them it fails, and is None."""
        sources = self._rows.needs(self.run.id, row.id)
        prompt = step.prompt or (self.graph.prompt_of(step) if step.id in self.graph.steps else "")
        named = {each.source for each in placeholders_in(prompt)} | set(sources)
        values: dict[str, JsonValue] = {INPUT: json.loads(self.run.input)}
        keys: list[str] = []
        for name in sorted(named - {INPUT}):
            found = self._rows.task(self.run.id, name)
            if found is not None:
                values[name] = value_of(found)
                keys += [found.task_key or ""] if name in sources else []

        try:
            filled = fill_in(prompt, values)
        except ValueError as error:
            # From waiting there is no way to failed: it was about to begin.
            ready = row if row.state == "ready" else self.move(row, "ready")
            self.move(ready, "failed", reason="prompt", message=excerpt(str(error), 500))
            self.after(row.id)
            return None

        key = self.graph.key_of(step, filled, keys) if step.id in self.graph.steps else None
        return self.move(row, row.state, prompt=filled, task_key=key)

    def accept(
        self,
        row: GraphTaskRow,
        result: Mapping[str, JsonValue],
        decide: Callable[[RunSnapshot], Expansion],
    ) -> Expansion:
        """Accept the report of a task and carry out what it does to the graph."""
        expansion = decide(self._snapshot(row))
        kept = as_json(_redacted(result))
        ended = {"owner": None, "lease_until": None, "program_pid": None, "result": kept}
        if expansion.state == "input_required":
            path = " → ".join(expansion.path)
            self.move(
                row,
                "input_required",
                reason=expansion.reason,
                message=excerpt(
                    f"{expansion.message} ({path})" if path else expansion.message, 500
                ),
                decision=None
                if not expansion.questions
                else as_json([asdict(each) for each in expansion.questions]),
                **ended,
            )
            return expansion

        # A task that waits for what it sent back is done for now as well: it begins again later.
        self.move(row, "accepted", reason=None, message=None, **ended)
        for added in expansion.added:
            self.add_step(added.task, distance=0, parent=added.parent, depth=added.depth)
            self.event(added.task.id, "added", {"by": row.id, "agent": added.task.agent})
        for need in expansion.needs:
            self._rows.add(GraphNeedRow(run=self.run.id, task=row.id, need=need))
        if expansion.again:
            self._note_edges(row.id, expansion)
            targets = [each.task for each in expansion.again]
            later = self.dependants(targets)
            for each in expansion.again:
                target = find_task(self.writing, self.run.id, each.task)
                self.again(target, notes=each.message, fresh=False)
            for name in later:
                if name not in targets:
                    dependant = find_task(self.writing, self.run.id, name)
                    if dependant.state != "waiting":
                        self.again(dependant, notes=None, fresh=False)
            for each in expansion.again:
                self.look_again(each.task)
        for added in expansion.added:
            self.look_again(added.task.id)
        self.after(row.id)
        return expansion

    def again(self, row: GraphTaskRow, *, notes: str | None, fresh: bool) -> None:
        """Let a task wait again, in its next round."""
        if row.state == "running":
            # Its runner finds its fence too old and stops.
            self.event(row.id, "taken_back", {"round": row.round})
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
            session=None if fresh else row.session,
        )

    def dependants(self, names: Sequence[str]) -> list[str]:
        """Return everything that needs one of `names`, directly or not, without these."""
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
        found = readiness(step_of(row).when, needed)
        if found == "ready":
            self.begin(id)
        elif found == "skipped":
            self.move(row, "skipped", reason="needs", message="what it needs did not succeed")
        return found

    def answer(self, row: GraphTaskRow, answer: str, *, by: str, note: str) -> None:
        """Carry out what a person decided about a gate or a task that waits."""
        step = step_of(row)
        self.event(row.id, "decided", {"answer": answer, "by": by, "note": note})
        if isinstance(step, GraphGate):
            if answer not in step.answers:
                raise RunError(
                    f"{answer!r} is no answer of {row.id}; expected one of"
                    f" {', '.join(step.answers)}"
                )
            result = as_json({"answer": answer, "note": note, "by": by})
            state = "accepted" if answer == step.answers[0] else "skipped"
            self.move(
                row,
                state,
                decision=answer,
                result=result,
                reason=None,
                message=f"{answer}, by {by}",
                deadline_at=None,
            )
        elif answer == "retry":
            notes = note or "A person decided: go on."
            self.again(row, notes=notes, fresh=False)
            self.look_again(row.id)
            return
        elif answer == "accept" and row.result is not None:
            self.move(row, "accepted", decision=answer, reason=None, message=f"accepted by {by}")
        elif answer == "fail":
            self.move(row, "failed", decision=answer, reason="person", message=note or f"by {by}")
        else:
            known = "retry, fail" if row.result is None else "retry, accept, fail"
            raise RunError(f"{answer!r} cannot be decided about {row.id}; expected one of {known}")
        self.after(row.id)

    def answer_late_gates(self, now: float) -> None:
        """Take the default of each gate that nobody answered in time."""
        for row in self._rows.tasks(self.run.id, state="input_required"):
            step = step_of(row)
            if (
                isinstance(step, GraphGate)
                and step.default is not None
                and row.deadline_at is not None
                and now > row.deadline_at
            ):
                self.answer(row, step.default, by="timeout", note="nobody answered in time")

    def stop_all(self, reason: str) -> None:
        """End what has not begun, and ask what runs to stop."""
        for row in self._rows.tasks(self.run.id):
            if row.state == "running" and not row.cancel_requested:
                self.move(row, "running", cancel_requested=1, reason=reason)
            elif row.state not in ENDED and row.state != "running":
                self.move(row, "cancelled", reason=reason, message=f"the {reason} passed")

    def settle(
        self, row: GraphAttemptRow, attempt: Attempt | None, *, agent: str, now: float
    ) -> None:
        """Give back what was reserved for a message, and count what it used.

        None stands for a message whose end is not known: as many tokens count as the agent used at
        most of late. The first call of an agent reserves all that is left, and a crash in it must
        not take the budget of the whole run with it.
        """
        found = self._rows.circuit(agent)
        usages: list[int] = json.loads(found.usages) if found is not None else []
        usage = attempt.usage if attempt is not None else None
        tokens = row.reserved if attempt is not None else min(row.reserved, max(usages, default=0))
        if usage is not None and usage.tokens is not None:
            tokens = usage.tokens
        cost = usage.cost if usage is not None and usage.cost is not None else 0.0
        self.run = replace(
            self.run,
            reserved_tokens=max(0, self.run.reserved_tokens - row.reserved),
            spent_tokens=self.run.spent_tokens + tokens,
            spent_cost=self.run.spent_cost + cost,
        )
        outcome = None if attempt is None else as_json(_written(attempt, self.run))
        ended = replace(row, outcome=outcome, ended_at=self.writing.now())
        self._rows.set(ended, was=row)
        if attempt is None:
            return

        if usage is not None and usage.tokens is not None and attempt.reply is not None:
            usages = [*usages, usage.tokens][-_KNOWN_USAGES:]
        failures = found.failures if found is not None else 0
        failures = 0 if attempt.reply is not None else failures + int(attempt.repeatable)
        pause = pause_after(failures) if failures >= FAILURES_THAT_OPEN else 0.0
        known = as_json(usages)
        changed = found is None or (found.failures, found.usages) != (failures, known)
        if changed and (failures or usages or found is not None):
            self.set_circuit(
                agent,
                failures=failures,
                open_until=now + pause if pause else 0.0,
                usages=known,
            )

    def settle_unended(self, row: GraphTaskRow, *, agent: str) -> None:
        """Settle the messages of a task of which nobody will know what became of them."""
        now = epoch(self.writing.now())
        for each in self._rows.attempts(row.run, row.id, unended=True):
            self.settle(each, None, agent=agent, now=now)

    def set_circuit(self, agent: str, **values: Any) -> None:  # noqa: ANN401
        """Change what is known of the calls of an agent."""
        found = self._rows.circuit(agent)
        if found is None:
            empty = CircuitRow(
                agent=agent, failures=0, open_until=0.0, next_call_at=0.0, usages="[]"
            )
            self._rows.add(replace(empty, **values))
        else:
            self._rows.set(replace(found, **values), was=found)

    def _snapshot(self, row: GraphTaskRow) -> RunSnapshot:
        """Return what `expand` has to know to judge the report of `row`."""
        step = step_of(row)
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
            if isinstance(task := step_of(each), GraphTask)
        }
        edges: dict[str, list[str]] = json.loads(self.run.edges)
        reports = {Edge(*key.split(" ", 1)): tuple(each) for key, each in edges.items()}
        return RunSnapshot(graph=self.graph, tasks=tasks, reports=reports)

    def _note_edges(self, source: str, expansion: Expansion) -> None:
        edges: dict[str, list[str]] = json.loads(self.run.edges)
        for each in expansion.again:
            edges.setdefault(f"{source} {each.task}", []).append(expansion.digest)
        self.run = replace(self.run, edges=as_json(edges))


def step_of(row: GraphTaskRow) -> GraphStep:
    """Return the task or gate of a row."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(row.spec).items()
    }
    return GraphTask(**values) if row.kind == "task" else GraphGate(**values)


def find_run(reading: ReadTransaction, id: str) -> GraphRunRow:
    """Return a run. Raises RunError, which names the runs that there are."""
    found = reading.graphs.run(id)
    if found is None:
        known = ", ".join(each.id for each in reading.graphs.runs(include_ended=True)[:5])
        raise RunError(
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


def key_of_gate(gate: GraphGate) -> str:
    """Return what is the same for a gate that asks the same again."""
    return as_json([gate.question, list(gate.answers)])


def _written(attempt: Attempt, run: GraphRunRow) -> dict[str, Any]:
    """Return an attempt as it is stored: redacted, and without texts that are not to be kept."""
    values: dict[str, Any] = _redacted(attempt.to_dict())
    values["message"] = kept_text(str(values["message"]), run, failed=not attempt.accepted)
    return values


def kept_text(text: str, run: GraphRunRow, *, failed: bool) -> str:
    """Return a text as it is stored: redacted, and empty where the run is to keep none."""
    keep: KeepOutput = json.loads(run.options).get("keep_output", "all")
    return redact(text).text if keep == "all" or (keep == "failed" and failed) else ""


def _redacted(values: Any) -> Any:  # noqa: ANN401 - JSON values, of the same shape as given
    if isinstance(values, str):
        return redact(values).text
    if isinstance(values, Mapping):
        return {key: _redacted(each) for key, each in values.items()}
    if isinstance(values, list | tuple):
        return [_redacted(each) for each in values]
    return values


def as_json(values: object) -> str:
    """Return `values` as JSON in ASCII: every database stores it, halves of characters included."""
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))


def epoch(written: str) -> float:
    """Return a time in ISO 8601 in seconds since 1970."""
    return datetime.fromisoformat(written).timestamp()
