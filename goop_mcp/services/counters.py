"""Decide by the counters that the project's database keeps for each task and round.

The router is pure: its counters come in with the context, and the decision says how they change.
The callers of this module keep them in the database, so that no agent has to carry them.
"""

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from goop_mcp import services
from goop_mcp.errors import StoreError, UnwritableFileError, WorkspaceError
from goop_mcp.redaction import redact, redact_structure
from goop_mcp.redaction.ahead import remembering
from goop_mcp.routing import Decision, RoutingContext, route
from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.counting import apply_changes, of_task, with_stored
from goop_mcp.routing.views import ReportView, RequestView
from goop_mcp.services.judgements import judgement_of, storable
from goop_mcp.services.open_questions import (
    OpenQuestion,
    open_questions,
    question_key,
    questions_after,
    store_questions,
    withdraw_questions,
)
from goop_mcp.services.stop_hooks.judging import AgentTurn, Allow, BlockedStop
from goop_mcp.store.interface import ReadTransaction, Store, WriteTransaction
from goop_mcp.store.records import NewJudgement, StoredReport
from goop_mcp.validation.verdict import Verdict
from goop_mcp.workflow.agents import plain_agent_name
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.layout import CHRONICLE
from goop_mcp.workspace.report_index import work_of

if TYPE_CHECKING:
    from goop_mcp.services.project_context import Change, ProjectContext

__all__ = [
    "PATIENCE",
    "Counted",
    "CountedReply",
    "count_reply",
    "count_turn",
    "counted_reply",
    "decide_again",
    "decide_and_count",
    "uncount_report",
]

PATIENCE: Final = 2.0
"""Seconds that counting may wait for the database; it must not delay an answer."""

_LONGEST_KEY: Final = 200
_LAST: Final = "last"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedReply:
    """A reply as it is counted, without secrets: the rows of its `task` and of its `agent`.

    Both are the same where no task is known. `digest` is that of the whole text, `given` the
    context of the caller, `context` that for the task.
    """

    task: str
    agent: str
    digest: str
    given: RoutingContext
    context: RoutingContext


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The decision on a reply that is not recorded, and the questions that are open after it.

    `files` are the documents written to show a question, `resources` their URIs where no files are
    written, `remarks` messages about the files.
    """

    decision: Decision
    questions: tuple[OpenQuestion, ...] = ()
    files: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def counted_reply(
    verdict: Verdict,
    context: RoutingContext,
    text: str,
    *,
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> CountedReply:
    """Return the whole reply `text` as it is counted; call it before the transaction.

    `changes` are those of a decision by `context` alone, which are nearly always the ones that the
    transaction stores.
    """
    adapter = ADAPTERS.get(verdict.protocol or "")
    view = adapter.read(verdict) if adapter is not None else None
    name = context.expected_agent or (view.agent if isinstance(view, ReportView) else None)
    by_agent = f"agent {plain_agent_name(name)}" if name else "agent"
    about = view.task_id if isinstance(view, ReportView) else None
    if isinstance(view, RequestView) and view.session_id:
        about = f"session {view.session_id}"
    with remembering():
        redact_structure(dict(changes))

    return CountedReply(
        task=_storable_key(normal_task_id(about or context.task_id or "") or by_agent),
        agent=_storable_key(by_agent),
        digest=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        given=context,
        context=of_task(context, view.task_id) if isinstance(view, ReportView) else context,
    )


def decide_and_count(
    writing: WriteTransaction,
    reply: CountedReply,
    decide: Callable[[RoutingContext], Decision],
    *,
    surface: str,
    work: str | None = None,
    goes_on: bool = False,
) -> Decision:
    """Return the decision by the stored counters of the reply's task, and store their changes.

    `decide` gets the context with the larger of its own numbers and the stored ones. A reply that
    another `surface` has counted last, such as a hook, is not counted twice. `work` is what the
    report is about, None if it is not recorded. With `goes_on` nobody is asked how the work goes
    on. Raises StoreError.
    """
    row = _row(writing, reply)
    counted_by = row.counted_by
    same = row.counted_elsewhere(surface)
    before = row.before(surface)
    decision = decide(with_stored(reply.context, before))
    changes = redact_structure(dict(decision.state_changes))[0]
    after = apply_changes(before, changes)

    # A repeated reply is a new event also if it changes nothing: another surface may see it next.
    if after != before or surface in counted_by:
        last: dict[str, Any] = {
            "reply": reply.digest,
            "by": [*counted_by, surface] if same else [surface],
            "before": dict(before),
        }
        values = {**after, _LAST: last}
        writing.set_counters(round=row.round, task=reply.task, values=values)

    if not same:
        after_it = questions_after(
            writing, reply.task, decision, agent=reply.agent, work=work, goes_on=goes_on
        )
        store_questions(writing, after_it)

    # Replies that named no task were counted for the agent. An accepted one ends that row, too.
    progressed = changes.get("previous_rules") == []
    if (
        progressed
        and reply.agent != reply.task
        and writing.counters(round=row.round, task=reply.agent)
    ):
        writing.set_counters(round=row.round, task=reply.agent, values={})

    return decision


def decide_again(
    reading: ReadTransaction, reply: CountedReply, decide: Callable[[RoutingContext], Decision]
) -> Decision:
    """Return the decision on a reply that was recorded before, and count nothing.

    For the last counted reply of a task it is the same decision as then. Raises StoreError.
    """
    row = _row(reading, reply)
    return decide(with_stored(reply.context, row.before_last) if row.counted_by else reply.given)


def count_reply(
    store: Store,
    verdict: Verdict,
    context: RoutingContext,
    decide: Callable[[RoutingContext], Decision],
    *,
    text: str,
    surface: str,
    judgement: Callable[[Decision], NewJudgement | None] = lambda _decision: None,
    shown_in: "Callable[[], ProjectContext]",
    now: str,
) -> Counted:
    """Return the decision on a reply that is not recorded by the stored counters, and count it.

    `judgement` returns the row for statistics, which is added in the same transaction, as is the
    text that shows a question to a person. Only for that `shown_in` is asked for the project with
    its files; in a folder without a project nothing is shown. If the database cannot be used, the
    decision is that of `context` alone, and the reason is only logged. `now` is ISO 8601 in UTC.
    """
    reply = counted_reply(verdict, context, text)

    def count(writing: WriteTransaction) -> Counted:
        decision = decide_and_count(writing, reply, decide, surface=surface)
        if (row := judgement(decision)) is not None:
            writing.add_judgement(row)

        return Counted(decision=decision, questions=open_questions(writing))

    def count_alone(writing: WriteTransaction) -> Counted | None:
        # Nearly always nothing changes that a document shows, and then no file is read.
        is_shown = _changes_questions(writing, reply, decide, surface=surface)
        return None if is_shown else count(writing)

    try:
        if (counted := store.write(count_alone, timeout=PATIENCE)) is not None:
            return counted
        try:
            return _count_and_show(shown_in(), count, now=now)
        except (WorkspaceError, UnwritableFileError) as error:
            _log.warning("the files cannot show what a person has to decide: %s", error)
            return store.write(count, timeout=PATIENCE)
    except StoreError as error:
        _log.warning("a reply could not be counted: %s", error)
        return Counted(decision=decide(context))


def _changes_questions(
    reading: ReadTransaction,
    reply: CountedReply,
    decide: Callable[[RoutingContext], Decision],
    *,
    surface: str,
) -> bool:
    """Return whether counting `reply` asks a person something, or withdraws what was asked."""
    row = _row(reading, reply)
    if row.counted_elsewhere(surface):
        return False
    decision = decide(with_stored(reply.context, row.before(surface)))
    after = questions_after(reading, reply.task, decision, agent=reply.agent, work=None)
    return after != open_questions(reading)


def _count_and_show(
    project_context: "ProjectContext", count: Callable[[WriteTransaction], Counted], *, now: str
) -> Counted:
    """Run `count` in one transaction with the block of state that shows its questions.

    A kill leaves neither or both. Raises StoreError, WorkspaceError and UnwritableFileError; then
    nothing is counted.
    """
    # Loaded on use: they render documents, which most hooks never do.
    project = services.project_context

    def change(writing: WriteTransaction) -> "Change[Counted]":
        counted = count(writing)
        snapshot = services.project_snapshot.snapshot_in(project_context, writing)
        if not snapshot.project.exists:
            return project.Change(answer=counted, shows=False)

        block = services.state_block.state_block_of(snapshot, writing)
        resources = project_context.addresses(CHRONICLE)
        return project.Change(answer=replace(counted, resources=resources), state_block=block)

    counted, shown = project_context.write(change, now=now, timeout=PATIENCE)
    return replace(counted, files=shown.files, remarks=shown.remarks)


def count_turn(
    store: Store,
    turn: AgentTurn,
    outcome: BlockedStop | Allow,
    *,
    session: str | None,
    keeps_judgement: bool,
    shown_in: "Callable[[], ProjectContext]",
    now: str,
) -> None:
    """Count the reply of a turn that a hook has refused, so that repeats of it reach their rows.

    Creates no database. `keeps_judgement` adds the verdict to the statistics as well. `shown_in` is
    that of `count_reply`.
    """
    verdict = outcome.verdict
    if verdict is None or verdict.accepted or not store.exists():
        return

    judgement = judgement_of(
        verdict,
        surface="hook",
        now=now,
        agent=turn.agent and plain_agent_name(turn.agent),
        session_id=session,
        number=outcome.number,
        ended=getattr(outcome, "ended", None),
    )
    count_reply(
        store,
        verdict,
        RoutingContext(expected_agent=turn.expected.agent, session_id=session),
        partial(route, verdict),
        text=turn.text,
        surface=judgement.surface,
        judgement=lambda _decision: judgement if keeps_judgement else None,
        shown_in=shown_in,
        now=now,
    )


def uncount_report(
    writing: WriteTransaction, report: StoredReport, changes: Mapping[str, Any]
) -> None:
    """Restore the counters before `report`, if it was the last reply counted for its task.

    `changes` are the state changes of its decision. Raises StoreError.
    """
    agent = f"agent {plain_agent_name(report.agent)}" if report.agent else "agent"
    task = _storable_key(normal_task_id(report.task_id or "") or agent)
    withdraw_questions(writing, [question_key(task), work_of(report)])
    stored = dict(writing.counters(round=report.round, task=task))
    match stored.pop(_LAST, None):
        # Counters that the report did not leave like this were changed by a later reply.
        case {"before": Mapping() as before} if apply_changes(before, changes) == stored:
            writing.set_counters(round=report.round, task=task, values=dict(before))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """The counters of the task of one reply.

    `values` are those to go on from, `before_last` those before the last counted reply.
    `counted_by` are the surfaces that have counted this reply as the last one, () if it was
    another.
    """

    round: int
    values: Mapping[str, Any]
    before_last: Mapping[str, Any]
    counted_by: tuple[str, ...]

    def counted_elsewhere(self, surface: str) -> bool:
        """Return whether only other surfaces have counted this reply: it is the same event."""
        return bool(self.counted_by) and surface not in self.counted_by

    def before(self, surface: str) -> Mapping[str, Any]:
        """Return the counters by which `surface` decides; the same event is decided as there."""
        return self.before_last if self.counted_elsewhere(surface) else self.values


def _row(reading: ReadTransaction, reply: CountedReply) -> _Row:
    round = reading.round().number
    stored = reading.counters(round=round, task=reply.task)
    before_last: Mapping[str, Any] = {}
    counted_by: tuple[str, ...] = ()
    match stored.get(_LAST):
        case {"reply": str(last), "by": [*surfaces], "before": Mapping() as before} if (
            last == reply.digest
        ):
            before_last, counted_by = before, tuple(map(str, surfaces))

    return _Row(
        round=round,
        values={name: value for name, value in stored.items() if name != _LAST},
        before_last=before_last,
        counted_by=counted_by,
    )


def _storable_key(key: str) -> str:
    return redact(storable(key) or "").text[:_LONGEST_KEY]
