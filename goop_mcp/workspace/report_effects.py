"""Derive from a report its entries in CHRONICLE.md (G-49) and ADL.md, and changes of state.json."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from goop_mcp.routing.deviations import parse_deviations
from goop_mcp.routing.speckit_results import paths_of
from goop_mcp.routing.views import OutcomeKind, PositionView, Question, ReportView
from goop_mcp.validation.findings import counted_noun
from goop_mcp.workflow.gates import GateFacts, GateName, judge_gate
from goop_mcp.workflow.phases import Move, may_progress
from goop_mcp.workspace.documents.blueprint import Blueprint
from goop_mcp.workspace.documents.entries import AdlEntry, ChronicleEntry
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_changes import StateChange

__all__ = ["entry_of_report", "leads_to", "log_of_report", "progress_of"]

_DONE: Mapping[int, str] = {
    1: "The bug was fixed.",
    2: "The safeguard was added.",
    3: "The obstacle was removed.",
}
"""The action for each of the deviation rules that need no approval."""

_FEATURE_FOLDER = re.compile(r"(?:\./)?specs/([^/\s]{1,100})/")
_VERDICTS = frozenset({"overall_status", "status", "verdict"})
_BY_SEVERITY = "findings_by_severity"
_MOST_RESULTS = 12
_UNFINISHED = frozenset({"BLOCKED", "PARTIAL"})
_DECISION = "decision"
_EXECUTE = "execute"
_NEXT: Mapping[str, tuple[str, Callable[[GateFacts], bool]]] = {
    "specify": (_EXECUTE, lambda facts: facts.spec_locked and facts.blueprint_exists),
    _EXECUTE: ("accept", lambda facts: judge_gate(GateName.EXECUTION, facts).passed),
    "accept": ("idle", lambda facts: facts.user_accepted),
}
"""The next phase of each phase that ends automatically, and the condition for it."""


def leads_to(phase: str | None, other: str) -> bool:
    """Whether the work of `phase` goes on in `other`: the same phase, or the one that follows it.

    None is a report that names no phase, which may be of any.
    """
    return phase in (None, other) or (phase in _NEXT and _NEXT[phase][0] == other)


def entry_of_report(
    report: ReportView,
    *,
    time: str,
    asked: str | None = None,
    claimed: Sequence[str] = (),
    observed: Collection[str] = (),
    refuted: Mapping[str, str] = MappingProxyType({}),
) -> ChronicleEntry:
    """Return the entry of `report`: what it did, what failed, what is open, what is only claimed.

    `time` is that of the recording, in ISO 8601. `asked` is the agent that was asked, for a
    protocol whose replies name none. `claimed` is what was not verified besides the checks.
    `observed` are the names of checks that a host saw pass, so that more than the report shows
    them; `refuted` maps those that it saw fail to what was seen. The texts are those of the agent;
    redact them before they are stored.
    """
    # A reply of speckit names its feature in the result, and its agent is the phase.
    feature = _feature(report.result)
    phase = report.phase or (report.agent if report.result or report.error else None)
    task = " ".join(filter(None, (report.task_id, report.task_name))) or feature
    status = report.native_status or "no status"
    failed = [(check.name, check.evidence) for check in report.failed_checks]
    failed += [
        (check.name, refuted[check.name])
        for check in report.checks
        if check.passed and check.name in refuted
    ]
    unshown = frozenset(check.name for check in report.checks_without_result)
    # "But" is for a claim that the checks contradict.
    joint = "and" if status in _UNFINISHED else "but"
    if failed:
        status += f", {joint} {counted_noun(len(failed), 'check')} failed"
    elif unshown:
        shows = "shows" if len(unshown) == 1 else "show"
        status += f", {joint} {counted_noun(len(unshown), 'check')} {shows} no result"

    results = [*_verdicts(report.result), *_counts(report.result), *_counts(report.metrics)]
    error = report.error.message if report.error is not None else None
    stated = report.summary or error
    passed = [
        f"check {check.name} passed" + (", without a result" if check.name in unshown else "")
        for check in report.checks
        if check.passed and check.name not in observed and check.name not in refuted
    ]

    return ChronicleEntry(
        time=time,
        agent=report.agent or asked or "an agent",
        action=f"{task or 'a report without a task'}: {status}",
        outcome=stated or ", ".join(results[:_MOST_RESULTS]) or "no summary",
        phase=phase,
        wave=_position(report.wave),
        task=_position(report.task),
        files=[
            *((file.path, file.action) for file in report.files),
            *((path, None) for path in paths_of(report)),
        ],
        commits=[(commit.sha, commit.message or None) for commit in report.commits if commit.sha],
        failed_checks=failed,
        results=results[:_MOST_RESULTS] if stated else (),
        findings=[
            *(
                f"{each.severity}: {' '.join(filter(None, (each.id, each.message)))}"
                for each in report.issues
            ),
            *([f"recommended: {report.recommendation}"] if report.recommendation else []),
        ],
        blockers=report.blockers,
        questions=[_question(each) for each in report.questions],
        claimed=[*passed, *claimed],
    )


def _question(question: Question) -> str:
    options = [
        f"{option.letter}) {option.text}" + (" (recommended)" if option.recommended else "")
        for option in question.options
    ]
    return question.text + (f" Options: {', '.join(options)}" if options else "")


def _feature(result: Mapping[str, Any]) -> str | None:
    """Return the feature that a result of speckit is about, from its id or its paths."""
    for name in ("feature_id", "feature", "branch_name"):
        if isinstance(found := result.get(name), str) and found:
            return found

    paths = (value for value in result.values() if isinstance(value, str))
    return next((match[1] for path in paths if (match := _FEATURE_FOLDER.match(path))), None)


def _verdicts(values: Mapping[str, Any], *, of: str = "") -> Iterator[str]:
    """Yield the verdicts in a result: its own, and those of its parts by name."""
    for name, value in values.items():
        if isinstance(value, str) and name in _VERDICTS:
            yield f"{of} {value}".strip()
        elif isinstance(value, Mapping) and not of:
            for part, inner in (("", value), *value.items()):
                if isinstance(inner, Mapping):
                    yield from _verdicts(inner, of=_words(part or name))


def _counts(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the numbers in a result: 23 of 23 tasks completed, 127 of 127 tests passed."""
    shown: set[str] = set()
    for name, total in values.items():
        kind = name.removesuffix("_total")
        if kind == name or not _is_number(total):
            continue

        for how in ("completed", "passed"):
            if _is_number(count := values.get(f"{kind}_{how}")):
                shown |= {name, f"{kind}_{how}"}
                yield f"{count} of {total} {_words(kind)} {how}"

    for name, value in values.items():
        if name in shown:
            continue
        if _is_number(value):
            percent = name.removesuffix("_percentage")
            yield f"{_words(percent)} {value}" + (" %" if percent != name else "")
        elif name == _BY_SEVERITY and isinstance(value, Mapping):
            yield from (f"{count} {each}" for each, count in value.items() if _is_number(count))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(name: str) -> str:
    return name.replace("_", " ")


def log_of_report(report: ReportView, *, time: str) -> tuple[AdlEntry, ...]:
    """Return the deviations by rules 1 to 3 and the decisions in `report`, each once.

    A deviation has the form `RULE n DEVIATION: …`. Rule 4 needs the user's approval and has no
    entry before that. Redact the texts before they are stored.
    """
    files = tuple(file.path for file in report.files)

    # Agents write deviations into any text of a report.
    memories = [memory.title for memory in report.memories if memory.type == _DECISION]
    notes = [file.note for file in report.files]
    others = [text for text in report.extensions.values() if isinstance(text, str)]
    texts = filter(None, (report.summary, report.blockers, *memories, *notes, *others))
    deviations = dict.fromkeys(
        (question.rule, question.text)
        for text in texts
        for question in parse_deviations(text)
        if question.rule is not None and question.rule in _DONE
    )
    found = [
        AdlEntry(
            kind="DEVIATION",
            time=time,
            rule=rule,
            description=text,
            action=_DONE[rule],
            files=files,
        )
        for rule, text in deviations
    ]
    decision = report.extensions.get(_DECISION)
    if isinstance(decision, str) and decision.strip():
        action = report.summary or "The report says no more."
        found.append(
            AdlEntry(kind="DECISION", time=time, description=decision, action=action, files=files)
        )

    return tuple(found)


def _position(position: PositionView | None) -> str | None:
    if position is None:
        return None
    return "/".join(
        "–" if number is None else str(number) for number in (position.current, position.total)
    )


def progress_of(
    report: ReportView, state: ProjectState, facts: GateFacts, *, blueprint: Blueprint | None
) -> StateChange:
    """Return the change of `state` that follows from `report`; `facts` include the report already.

    A report about another phase than that of `state` changes nothing: state.json is authoritative.
    """
    if report.phase not in (None, state.phase):
        return StateChange()

    values: dict[str, int] = {}
    if state.phase == _EXECUTE:
        # The plan gives the number of waves, and the current wave never decreases.
        wave = report.wave
        planned = len(blueprint.waves) if blueprint is not None else 0
        total = planned or (wave.total if wave is not None else None) or state.total_waves
        current = (wave.current if wave is not None else None) or 0
        if total != state.total_waves:
            values["totalWaves"] = total
        if state.current_wave < current <= (total or current):
            values["currentWave"] = current

    if report.outcome is not OutcomeKind.DONE or state.phase not in _NEXT:
        return StateChange(values=values)

    target, holds = _NEXT[state.phase]
    move = Move(start=state.phase, target=target, profile=state.profile)
    passed = may_progress(move, gate_passed=holds(facts), manual_override=state.manual_override)

    return StateChange(phase=target if passed else None, values=values)
