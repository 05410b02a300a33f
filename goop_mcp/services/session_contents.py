"""Compose a session handoff from the caller's fields and the records since the last session."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from goop_mcp.redaction import map_texts, redact_structure
from goop_mcp.services.project_snapshot import envelope_of
from goop_mcp.services.session_sources import SessionSources
from goop_mcp.services.state_block import gate_ahead, next_command
from goop_mcp.store.records import StoredReport
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.commands import usual_next_of_phase
from goop_mcp.workflow.task_ids import is_report_key, normal_task_id
from goop_mcp.workspace.documents.blueprint import BlueprintTask
from goop_mcp.workspace.documents.handoff import (
    DoneTask,
    HandoffCommit,
    NextTask,
    SessionHandoff,
    command_in,
)
from goop_mcp.workspace.documents.status_markers import task_ids_in
from goop_mcp.workspace.layout import ADL, READING_ORDER
from goop_mcp.workspace.report_effects import leads_to
from goop_mcp.workspace.report_index import blocker_of, claimed_checks, finishes_task, work_of

__all__ = ["NOTHING_GIVEN", "SessionFields", "compose_handoff", "fields_to_json"]

_LATEST = 3
_ENDS = ".!?…:;。"
_MOST_GOTCHAS = 10
# How many earlier calls count; each has at most some lists of texts.
_MOST_GIVEN = 50
_MOST_NOTES = 50
_LONGEST_NOTE = 8_000
_HEADING = re.compile(r"^( {0,3})#", re.MULTILINE)
_UNKNOWN_PHASE = "unknown"
# What a reader of replies might accept as an envelope: a tag, also an escaped one, or JSON.
_ENVELOPE = re.compile(r"(?:<|&lt;)(?=[A-Za-z/!?])|\{(?=\s*[\"'])")
_HARMLESS = {"{": "❴"}

_WORD = re.compile(r"[^\W_]+")

_Values = Mapping[str, JsonValue]
_Done = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFields:
    """The caller's fields; None and empty lists are completed from the records."""

    summary: str | None = None
    next_action: str | None = None
    next_agent: str | None = None
    next_command: str | None = None
    files_to_read: tuple[str, ...] = ()
    blockers: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


NOTHING_GIVEN = SessionFields()


def compose_handoff(
    fields: SessionFields, sources: SessionSources, *, decided_command: str | None = None, now: str
) -> SessionHandoff:
    """Return the handoff of `fields`, completed from `sources`, without secrets and envelopes.

    `decided_command` is that of the newest decision if it is not recorded yet. `now` is ISO 8601 in
    UTC.
    """
    snapshot, reports = sources.snapshot, sources.reports
    project, state = snapshot.project, snapshot.project.state
    given = _Given.of(sources)
    envelopes = [envelope_of(report) for report in reports]
    done = _done(sources)
    blueprint = project.blueprint
    tasks = blueprint.tasks if blueprint is not None else ()
    task = next((each for each in tasks if str(each.id) not in done), None)
    if not (fields.next_action or fields.next_agent or fields.next_command):
        fields = given.with_next_step(fields, done)
    reported = _after_decision(sources, task) or _continued(
        reports, envelopes, done, phase=snapshot.phase
    )
    next_task = _next_task(fields, task, reported, done)

    # A caller who names a completed task as the next action knows that work is left, so that the
    # task is not listed as completed.
    named_again = None
    if _is_to_be_done_again(fields.next_action, fields.next_agent, done):
        named_again = _named_task(fields.next_action)

    waves = (len(blueprint.waves) if blueprint is not None else 0) or (
        state.total_waves if state is not None else 0
    )
    handoff = SessionHandoff(
        generated=now,
        phase=_phase(sources),
        completed=tuple(_completed(reports, envelopes, tasks, without=named_again)),
        outcomes=_unique(_outcomes(sources, envelopes)),
        decisions=_unique([*snapshot.made, *_decisions(sources, envelopes)]),
        spec_locked=state.spec_locked if state is not None else None,
        wave=f"{state.current_wave}/{waves}" if state is not None and waves else None,
        task=str(task.id) if task is not None else None,
        files_modified=_unique(
            path
            for each in envelopes
            for path in _texts(_parts(each, "artifacts", "files"), "path")
        ),
        # Agents report the commits of the tasks before theirs again.
        commits=tuple(
            dict.fromkeys(
                HandoffCommit(sha, _text(each.get("message")) or "")
                for envelope in envelopes
                for each in _parts(envelope, "artifacts", "commits")
                if (sha := _text(each.get("sha")))
            )
        ),
        command=fields.next_command
        or (_decided(decided_command) if project.has_begun else None)
        or _command(sources),
        files_to_read=_unique(
            [*given.files_to_read, *(fields.files_to_read or _files_to_read(sources, envelopes))]
        ),
        context=" ".join(
            map(
                _sentence,
                _unique([*given.summaries, fields.summary or _context(sources, envelopes)]),
            )
        ),
        next_task=next_task,
        blockers=_unique(
            [*given.blockers_without(done), *(fields.blockers or snapshot.records.blockers)]
        ),
        gotchas=_unique(
            [
                *_failures(reports, envelopes),
                *given.warnings,
                *(fields.warnings or _gotchas(sources)),
            ]
        ),
        pending_decisions=_unique(
            [
                *sources.waiting,
                *(project.chronicle.pending_decisions if project.chronicle is not None else ()),
            ]
        ),
        memories=tuple(
            f"{memory.title} ({memory.type}, {memory.id})" for memory in sources.memories
        ),
        notes=_unique(_shown_notes(sources.notes)),
    )
    # Secrets are removed from the whole handoff, because fields come from different sources.
    shareable, _ = redact_structure(handoff)

    return map_texts(
        shareable, lambda text, _: _ENVELOPE.sub(lambda found: _HARMLESS.get(found[0], "‹"), text)
    )


@dataclass(frozen=True, slots=True)
class _Given:
    """The fields that callers gave for the handoffs before this one, oldest first."""

    each: Sequence[SessionFields]
    reported_since: bool

    @classmethod
    def of(cls, sources: SessionSources) -> "_Given":
        newest = sources.given[-1].revision if sources.given else 0
        return cls(
            [_fields_from_json(event.text) for event in sources.given[-_MOST_GIVEN:]],
            any(report.revision > newest for report in sources.reports),
        )

    @property
    def summaries(self) -> Iterator[str]:
        return (fields.summary for fields in self.each if fields.summary)

    @property
    def files_to_read(self) -> Iterator[str]:
        return (path for fields in self.each for path in fields.files_to_read)

    @property
    def warnings(self) -> Iterator[str]:
        return (text for fields in self.each for text in fields.warnings)

    def blockers_without(self, done: _Done) -> Iterator[str]:
        """Yield the blockers, except those that only name tasks which are completed by now."""
        for text in (text for fields in self.each for text in fields.blockers):
            named = task_ids_in(text)
            if not named or any(str(task) not in done for task in named):
                yield text

    def with_next_step(self, fields: SessionFields, done: _Done) -> SessionFields:
        """Return `fields` with the next step of the newest caller that gave one, if it holds.

        It holds until something else is reported, and longer if it names a task that is still open.
        """
        last = next(
            (
                each
                for each in reversed(self.each)
                if each.next_action or each.next_agent or each.next_command
            ),
            None,
        )
        named = _named_task(last.next_action) if last is not None else None
        if last is None or (self.reported_since and (named is None or named in done)):
            return fields

        return replace(
            fields,
            next_action=last.next_action,
            next_agent=last.next_agent,
            next_command=last.next_command,
        )


def fields_to_json(fields: SessionFields) -> str:
    """Return `fields` as JSON, as the next handoffs read them."""
    return json.dumps(asdict(fields), ensure_ascii=False, sort_keys=True)


def _fields_from_json(text: str) -> SessionFields:
    """Return the fields in the JSON of `fields_to_json`."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(text).items()
    }
    return SessionFields(**values)


def _shown_notes(notes: Sequence[str]) -> Iterator[str]:
    """Yield the newest notes of people, with headings that are none of the handoff's own."""
    for note in notes[-_MOST_NOTES:]:
        text = _HEADING.sub(r"\1\\#", note)
        yield text if len(text) <= _LONGEST_NOTE else f"{text[:_LONGEST_NOTE]}… (cut)"


def _phase(sources: SessionSources) -> str:
    """Return the phase; empty where no project has begun, whatever phase a report names."""
    if not sources.snapshot.project.has_begun:
        return ""
    state = sources.snapshot.project.state
    return state.phase if state is not None else sources.snapshot.records.phase or _UNKNOWN_PHASE


def _done(sources: SessionSources) -> _Done:
    """Map completed tasks to the agents that completed them since the last session began, or None.

    The snapshot may be older than the reports, because others record while a handoff waits for the
    lock.
    """
    last = {report.task_id: report for report in sources.reports if report.task_id is not None}
    still_open = {
        task for task, report in last.items() if not finishes_task(report, envelope_of(report))
    }
    done: dict[str, str | None] = {
        task: None for task in sources.snapshot.records.done if task not in still_open
    }

    return done | {task: report.agent for task, report in last.items() if task not in still_open}


def _is_to_be_done_again(action: str | None, agent: str | None, done: _Done) -> bool:
    """Whether `action` names a completed task to repeat.

    If it says more and is for another agent, it is different work on that task, such as a test.
    """
    named = _named_task(action)
    if named is None or named not in done:
        return False

    says_more = len(_WORD.findall(action or "")) > len(_WORD.findall(named))
    return not says_more or agent is None or agent == done[named]


def _named_task(action: str | None) -> str | None:
    named = next(iter(task_ids_in(action)), None) if action else None
    return str(named) if named is not None else None


def _completed(
    reports: Sequence[StoredReport],
    envelopes: Sequence[_Values],
    planned: Sequence[BlueprintTask],
    *,
    without: str | None,
) -> Iterator[DoneTask]:
    """Yield the tasks that their last report in `reports` finishes, except the task `without`."""
    names = {str(task.id): task.name for task in planned}
    last = {report.task_id: report for report in reports if report.task_id != without}
    for report, envelope in zip(reports, envelopes, strict=True):
        if (
            report.task_id is not None
            and last.get(report.task_id) is report
            and finishes_task(report, envelope)
        ):
            stated = _text(envelope.get("task_name")) or names.get(report.task_id)
            if is_report_key(report.task_id):
                stated = _text(envelope.get("summary"))
            name = " ".join(filter(None, (report.task_id, stated)))
            sha = next(iter(_texts(_parts(envelope, "artifacts", "commits"), "sha")), None)
            yield DoneTask(name, sha, tuple(claimed_checks(report, envelope)))


def _decisions(sources: SessionSources, envelopes: Sequence[_Values]) -> Iterator[str]:
    """Yield the decisions in memories, then those in reports, each newest first."""
    newest_first = reversed(sources.memories)
    yield from (memory.title for memory in newest_first if memory.type == "decision")
    for envelope in reversed(envelopes):
        yield from _texts(
            [each for each in _parts(envelope, "memory") if each.get("type") == "decision"], "title"
        )


def _decided(command: str | None) -> str | None:
    return command if command is not None and command_in(command) is not None else None


def _command(sources: SessionSources) -> str | None:
    """Return the next command of the project, else that of the newest decision or the phase."""
    project, facts = sources.snapshot.project, sources.snapshot.facts
    if not project.has_begun:
        return None
    if command := _decided(next_command(project, gate_ahead(project, facts))):
        return command
    for report in sources.reports[-1:]:
        if command := _decided(_text(json.loads(report.decision).get("next_command"))):
            return command

    profile = project.state.profile if project.state is not None else "0.x"
    remain = facts.open_tasks_in_all > 0 or facts.total_tasks == 0

    return usual_next_of_phase(_phase(sources), tasks_remain=remain, profile=profile)


def _files_to_read(sources: SessionSources, envelopes: Sequence[_Values]) -> tuple[str, ...]:
    paths = sources.snapshot.project.paths
    present = [paths[name] for name in READING_ORDER if name in paths]
    if sources.snapshot.made and ADL in paths:
        present.append(paths[ADL])
    handoff = _object(envelopes[-1].get("handoff")) if envelopes else {}
    listed = handoff.get("files_to_read")
    named = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    return _unique([*present, *named])


def _context(sources: SessionSources, envelopes: Sequence[_Values]) -> str:
    newest = [envelope for _, envelope in _newest_of_each_task(sources.reports, envelopes)]
    latest = _unique(_texts(newest, "summary"))[-_LATEST:]
    facts = sources.snapshot.facts
    done = facts.total_tasks - facts.open_tasks_in_all
    tasks = f" Tasks done: {done} of {facts.total_tasks}." if facts.total_tasks else ""
    summary = " ".join(map(_sentence, latest)) or "Nothing was reported yet."
    phase = _phase(sources)
    return summary + (f" The project is in phase {phase}." if phase else "") + tasks


def _sentence(text: str) -> str:
    """Return `text` so that another sentence can follow it."""
    text = text.strip()
    return text if not text or text[-1] in _ENDS else f"{text}."


def _newest_of_each_task(
    reports: Sequence[StoredReport], envelopes: Sequence[_Values]
) -> list[tuple[StoredReport, _Values]]:
    """Return the last report of each task and all without a task, with their envelopes."""
    last = {report.task_id: report for report in reports if report.task_id is not None}
    return [
        (report, envelope)
        for report, envelope in zip(reports, envelopes, strict=True)
        if report.task_id is None or last[report.task_id] is report
    ]


def _outcomes(sources: SessionSources, envelopes: Sequence[_Values]) -> Iterator[str]:
    """Yield what the newest reports say they reached; unfinished work is called so.

    What stopped a report without a task is no outcome once it is answered.
    """
    blocked = sources.snapshot.records.blocked
    for report, envelope in _newest_of_each_task(sources.reports, envelopes):
        work, is_open = work_of(report), not finishes_task(report, envelope)
        stopped = report.task_id is None and blocker_of(report, envelope) is not None
        summary = _text(envelope.get("summary"))
        if summary and (work in blocked or not stopped):
            is_named = is_open and (report.task_id is not None or stopped)
            yield f"{work} is not done: {summary}" if is_named else summary


def _failures(reports: Sequence[StoredReport], envelopes: Sequence[_Values]) -> Iterator[str]:
    """Yield the checks that failed in the newest report of each task, and of agents without one."""
    last = {report.task_id or f"({report.agent})": report for report in reports}
    for report, envelope in zip(reports, envelopes, strict=True):
        work = report.task_id or f"({report.agent})"
        for check in _parts(envelope, "verification") if last[work] is report else ():
            if check.get("passed") is False:
                seen = _text(check.get("evidence"))
                about = report.task_id or f"report {report.id} of {report.agent or 'an agent'}"
                yield f"{about}: check {check.get('name')} failed" + (f": {seen}" if seen else "")


def _after_decision(sources: SessionSources, task: BlueprintTask | None) -> _Values:
    """Return what comes next where a person has to answer, or has answered, since the last report.

    An agent that was stopped names the question as its next action, and one without progress the
    task itself. Nothing where the question was none or the work has gone on.
    """
    snapshot, newest = sources.snapshot, sources.reports[-1] if sources.reports else None
    asked = {*snapshot.records.blocked, *(each.key for each in snapshot.open_questions)}
    key = str(task.id) if task is not None else None
    if newest is not None and newest.task_id is None and work_of(newest) in asked:
        key = work_of(newest)
    if key in asked:
        return {"text": f"{key} waits for a person: see Pending Decisions", "agent": "user"}
    for made in reversed(snapshot.decisions):
        of_task = [each for each in sources.reports if work_of(each) == made.task]
        if not of_task or of_task[-1].revision > made.revision or task is None:
            continue
        if made.task == key:
            text = f"Go on with {key} as was decided: {made.words}"
            return {"text": text, "agent": of_task[-1].agent or task.executor}
        if newest is of_task[-1]:
            return {"text": task.intent, "agent": task.executor}

    return _after_rejection(sources, task)


def _after_rejection(sources: SessionSources, task: BlueprintTask | None) -> _Values:
    """Return that work is done again as the result was rejected, with the words of the person.

    Nothing where work was reported since, or `task` is none of those to do again.
    """
    rejection, snapshot = sources.snapshot.rejection, sources.snapshot
    if rejection is None or snapshot.phase != "execute":
        return {}
    key = str(task.id) if task is not None else None
    later = [each for each in sources.reports if each.revision > rejection.revision]
    if rejection.tasks:
        is_over = key not in rejection.tasks or key in map(work_of, later)
    else:
        is_over = bool(later)
    if is_over:
        return {}
    what = f"Do {key} again" if rejection.tasks else "Correct the result, and verify it once more"
    why = f": {rejection.why}" if rejection.why else ""
    agent = task.executor if task is not None else None
    return {"text": f"{what}, as it was rejected{why}", "agent": agent}


def _continued(
    reports: Sequence[StoredReport],
    envelopes: Sequence[_Values],
    done: _Done,
    *,
    phase: str | None,
) -> _Values:
    """Return what the newest report says comes next; nothing if it does not hold any more.

    An agent that takes its task for complete names the one after it, also where a check failed. And
    a step to another `phase` may have followed the report: what it asks for belonged to the former.
    """
    if not reports or (phase is not None and not leads_to(reports[-1].phase, phase)):
        return {}
    reported = _object(_object(envelopes[-1].get("handoff")).get("next_action"))
    own = normal_task_id(reports[-1].task_id or "")
    named = _named_task(_text(reported.get("text")))
    return {} if own and own not in done and named not in (None, own) else reported


def _next_task(
    fields: SessionFields, task: BlueprintTask | None, reported: _Values, done: _Done
) -> NextTask | None:
    action, agent = _text(reported.get("text")), _text(reported.get("agent"))
    if _is_to_be_done_again(action, agent, done):
        # An agent that worked at the same time wrote this before that task was reported.
        action = agent = None

    planned = task.executor if task is not None and action is None else None
    action, agent = fields.next_action or action, fields.next_agent or agent or planned
    if task is None and not action:
        return None

    named = next(iter(task_ids_in(action)), None) if action else None
    if named is not None and task is not None and task.id != named:
        task = None

    name = f"{task.id} {task.name}" if task is not None else action or ""

    return NextTask(
        task=f"{name} ({agent})" if agent else name,
        files=tuple(file.path for file in task.files) if task is not None else (),
        action=(action or task.intent) if task is not None else None,
        verify="; ".join(task.verification) or None if task is not None else None,
    )


def _gotchas(sources: SessionSources) -> tuple[str, ...]:
    """Return the contradictions in the project, without the handoff that will be replaced."""
    snapshot = sources.snapshot.without_handoff()
    return tuple(each.message for each in snapshot.drift if each.severity is not Severity.INFO)[
        :_MOST_GOTCHAS
    ]


def _parts(values: _Values, *keys: str) -> list[_Values]:
    """Return the objects in the list at the path `keys`; [] without such a list."""
    found: JsonValue = values
    for name in keys:
        found = _object(found).get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []


def _texts(values: Iterable[_Values], key: str) -> Iterator[str]:
    for each in values:
        if text := _text(each.get(key)):
            yield text


def _object(value: JsonValue) -> _Values:
    return value if isinstance(value, Mapping) else {}


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
