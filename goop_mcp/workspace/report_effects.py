"""Derive from a report its entries in CHRONICLE.md (G-49) and ADL.md, and changes of state.json."""

from collections.abc import Callable, Mapping

from goop_mcp.routing.deviations import parse_deviations
from goop_mcp.routing.views import OutcomeKind, Position, ReportView
from goop_mcp.workflow.gates import GateFacts, GateName, judge_gate
from goop_mcp.workflow.phases import Move, may_progress
from goop_mcp.workspace.documents.blueprint import Blueprint
from goop_mcp.workspace.documents.entries import AdlEntry, ChronicleEntry
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_changes import StateChange

__all__ = ["entry_of_report", "log_of_report", "progress_of"]

_DONE: Mapping[int, str] = {
    1: "The bug was fixed.",
    2: "The safeguard was added.",
    3: "The obstacle was removed.",
}
"""The action for each of the deviation rules that need no approval."""

_DECISION = "decision"
_EXECUTE = "execute"
_NEXT: Mapping[str, tuple[str, Callable[[GateFacts], bool]]] = {
    "specify": (_EXECUTE, lambda facts: facts.spec_locked and facts.blueprint_exists),
    _EXECUTE: ("accept", lambda facts: judge_gate(GateName.EXECUTION, facts).passed),
    "accept": ("idle", lambda facts: facts.user_accepted),
}
"""The next phase of each phase that ends automatically, and the condition for it."""


def entry_of_report(report: ReportView, *, time: str) -> ChronicleEntry:
    """Return the entry of `report`, with files, commits and position.

    `time` is that of the recording, in ISO 8601. The texts are those of the agent; redact them
    before they are stored.
    """
    task = " ".join(filter(None, (report.task_id, report.task_name)))
    return ChronicleEntry(
        time=time,
        agent=report.agent or "an agent",
        action=f"{task or 'a task'}: {report.native_status or 'no status'}",
        outcome=report.summary or "no summary",
        phase=report.phase,
        wave=_position(report.wave),
        task=_position(report.task),
        files=[(file.path, file.action) for file in report.files],
        commits=[(commit.sha, commit.message or None) for commit in report.commits if commit.sha],
    )


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


def _position(position: Position | None) -> str | None:
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
