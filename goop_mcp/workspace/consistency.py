"""Find contradictions between state, documents and reports, and collect the facts for gates.

Pure: nothing is read or changed here. Authoritative is state.json for phase, lock and interview (or
the row that a shared database has in its place),
BLUEPRINT.md for the number of waves and tasks, and the recorded reports for completed tasks; the
chronicle is never authoritative.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from goop_mcp.validation.expectations import NOTHING_EXPECTED
from goop_mcp.validation.findings import Finding, excerpt
from goop_mcp.validation.rules import run_checks
from goop_mcp.workflow.gates import Bypass, GateFacts, GateName
from goop_mcp.workflow.project_rules import PROJECT_RULES, ProjectFacts
from goop_mcp.workflow.task_ids import normal_task_id
from goop_mcp.workspace.documents.blueprint import Blueprint, BlueprintTask
from goop_mcp.workspace.documents.dates import comparable_moment
from goop_mcp.workspace.documents.spec import Spec, measure_coverage
from goop_mcp.workspace.documents.status_markers import TaskStatus
from goop_mcp.workspace.layout import BLUEPRINT, KNOWLEDGE_BASE, SPEC
from goop_mcp.workspace.project import Project
from goop_mcp.workspace.report_claims import RoundClaims
from goop_mcp.workspace.report_index import Records
from goop_mcp.workspace.state import StateDefect

__all__ = [
    "NOTHING_CONFIRMED",
    "RoundRecords",
    "changed_lines",
    "find_drift",
    "gate_facts",
    "project_facts",
]


_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRecords:
    """What the database keeps of the present round besides its reports.

    `locked_spec` is the text of SPEC.md that was locked or amended last, None without one.
    `bypasses` are the gates that a person skipped. `has_moved` states whether the phase was changed
    with or after the newest report, `has_resumed` whether a session has resumed from the newest
    handoff. `late_in` is the closed round that the newest report came too late for.
    """

    locked_spec: str | None = field(default=None, repr=False)
    bypasses: Mapping[GateName, Bypass] = field(default_factory=dict)
    merge_confirmed: bool = False
    has_moved: bool = False
    has_resumed: bool = False
    late_in: int | None = None


NOTHING_CONFIRMED: Final = RoundRecords()


def changed_lines(before: str, after: str) -> tuple[int, int] | None:
    """Return how many lines `after` adds and removes, None for the same text.

    Line ends and blanks at the end of a line do not count. Lines that only moved count as none.
    """
    # Counting is linear; a diff of two large hostile documents is not.
    old, new = (Counter(line.rstrip() for line in text.split("\n")) for text in (before, after))
    if [line.rstrip() for line in before.split("\n")] == [
        line.rstrip() for line in after.split("\n")
    ]:
        return None
    return (new - old).total(), (old - new).total()


def find_drift(
    project: Project, records: Records, round_records: RoundRecords = NOTHING_CONFIRMED
) -> tuple[Finding, ...]:
    """Return the contradictions of documents, state and recorded reports; () without a folder."""
    if not project.exists:
        return ()

    findings = []
    facts = project_facts(project, records, round_records)
    for problem in run_checks(PROJECT_RULES, facts, NOTHING_EXPECTED):
        rule = problem.rule
        line: int | None = None
        column: int | None = None
        if rule.id == "workflow/state-corrupt" and project.state_defect is not None:
            line, column = project.state_defect.line or None, project.state_defect.column or None
        elif rule.id == "workflow/drift-spec-lock" and project.spec is not None:
            line = project.spec.locked_line

        findings.append(problem.finding(rule.lenient, line=line, column=column))

    return tuple(findings)


def project_facts(
    project: Project, records: Records, round_records: RoundRecords = NOTHING_CONFIRMED
) -> ProjectFacts:
    """Return the values of all sources side by side, for the rules about projects."""
    state, defect, chronicle = project.state, project.state_defect, project.chronicle
    blueprint, spec = project.blueprint, project.spec
    coverage = (
        measure_coverage(spec, blueprint) if spec is not None and blueprint is not None else None
    )
    tasks = chronicle.tasks if chronicle is not None else ()
    pending = state.pending_tasks if state is not None else ()

    return ProjectFacts(
        state_defect=(defect.message, defect.line, defect.column) if defect is not None else None,
        state_read_only=str(state.shape) if state is not None and not state.writable else None,
        state_file_differs=_file_differences(project),
        # Most projects never have the conventions, and contradict nothing by that.
        # And where reports or memories alone are kept, none of the documents is expected.
        missing_files=tuple(name for name in project.missing if name != KNOWLEDGE_BASE)
        if project.has_begun
        else (),
        state_phase=state.phase if state is not None else None,
        chronicle_phase=chronicle.phase if chronicle is not None else None,
        report_phase=None if round_records.has_moved else records.phase,
        spec_locked_in_state=state.spec_locked if state is not None else None,
        spec_locked_in_header=spec.locked if spec is not None else None,
        waves_in_state=state.total_waves if state is not None else None,
        current_wave=state.current_wave if state is not None else None,
        waves_in_blueprint=(
            len(blueprint.waves) if blueprint is not None and blueprint.waves else None
        ),
        planned=tuple(str(task.id) for task in blueprint.tasks) if blueprint is not None else (),
        done_reported=records.done,
        open_reported=records.open,
        done_in_chronicle=tuple(task.id for task in tasks if task.status is TaskStatus.DONE),
        open_in_chronicle=tuple(task.id for task in tasks if task.status is not TaskStatus.DONE),
        done_in_state=tuple(
            normal_task_id(task.id) for task in pending if task.status == TaskStatus.DONE
        ),
        open_in_state=tuple(
            normal_task_id(task.id) for task in pending if task.status != TaskStatus.DONE
        ),
        untraced_must_haves=coverage.untraced if coverage is not None else (),
        idle_tasks=tuple(map(str, coverage.idle_tasks)) if coverage is not None else (),
        handoff_written=(
            comparable_moment(project.handoff.generated)
            if project.handoff is not None and not round_records.has_resumed
            else None
        ),
        last_report=comparable_moment(records.last_at or ""),
        closed_round=round_records.late_in,
        plan_has_no_tasks=blueprint is not None and not blueprint.tasks,
        repeated_ids=repeated_in(project),
        locked_spec_change=_locked_spec_change(project, round_records) or (),
    )


def repeated_in(project: Project) -> tuple[str, ...]:
    """Return what SPEC.md and BLUEPRINT.md define more than once, as people read it."""
    spec, blueprint = project.spec, project.blueprint
    found = {
        SPEC: spec.repeated if spec is not None else (),
        BLUEPRINT: blueprint.repeated if blueprint is not None else (),
    }
    return tuple(
        f"{document} defines {each}; expected once"
        for document, ids in found.items()
        for each in ids
    )


def gate_facts(
    project: Project,
    records: Records,
    round_records: RoundRecords = NOTHING_CONFIRMED,
    *,
    user_confirmed: bool | None = None,
) -> GateFacts:
    """Return the facts for the gates, each from its authoritative source.

    With `user_confirmed` None the lock counts as the user's confirmation, since only that sets it.
    """
    state, spec, blueprint, interview = (
        project.state,
        project.spec,
        project.blueprint,
        project.interview,
    )
    locked = state is not None and state.spec_locked
    open_wave, open_tasks, open_in_all = _open_tasks(blueprint, records)
    coverage = measure_coverage(spec, blueprint) if spec is not None else None
    must_haves = spec.must_haves if spec is not None else ()

    return GateFacts(
        interview_complete=state is not None and state.interview_complete,
        vision_sentences=interview.vision_sentences if interview else 0,
        interview_must_haves=interview.must_haves if interview else 0,
        constraints=interview.constraints if interview else 0,
        out_of_scope=interview.out_of_scope if interview else 0,
        assumptions=interview.assumptions if interview else 0,
        mitigated_risks=interview.mitigated_risks if interview else 0,
        spec_locked=locked,
        spec_exists=spec is not None,
        # A plan in which no task can be read is none.
        blueprint_exists=blueprint is not None and bool(blueprint.tasks),
        must_haves=len(must_haves),
        traced_must_haves=coverage.traced if coverage is not None else 0,
        user_confirmed=locked if user_confirmed is None else user_confirmed,
        total_tasks=len(blueprint.tasks) if blueprint is not None else 0,
        open_tasks=open_tasks,
        open_tasks_in_all=open_in_all,
        open_wave=open_wave,
        failed_checks=len(records.failed)
        + len(project.work.failed if project.work is not None else ()),
        active_blockers=len(records.blockers),
        verification_report=records.verified or (state is not None and state.verification_passed),
        passed_must_haves=len(round_claims(spec, records).must_haves),
        user_accepted=state is not None and state.acceptance_confirmed,
        merge_confirmed=round_records.merge_confirmed,
        spec_unchanged=_locked_spec_change(project, round_records) is None,
        bypasses=round_records.bypasses,
    )


def round_claims(spec: Spec | None, records: Records) -> RoundClaims:
    """Return what the must-haves of `spec` and the tasks rest on.

    A must-have whose criteria are all ticked in SPEC.md passed as well; that is a claim.
    """
    must_haves = spec.must_haves if spec is not None else ()
    passed = records.passed_must_haves

    return RoundClaims(
        must_haves={
            each.id: passed.get(each.id, "claimed")
            for each in must_haves
            if each.passed or each.id in passed
        },
        of=len(must_haves),
        report=records.verification_report,
        tasks=records.task_claims,
    )


def _locked_spec_change(project: Project, round_records: RoundRecords) -> tuple[int, int] | None:
    """Return the lines added to and removed from SPEC.md since its lock, None if it is the same."""
    locked = project.state is not None and project.state.spec_locked
    text = project.sources.get(SPEC)
    if not locked or text is None or round_records.locked_spec is None:
        return None
    return changed_lines(round_records.locked_spec, text)


def _file_differences(project: Project) -> tuple[str, ...]:
    """Return what state.json in the folder says otherwise than the state in the database."""
    stored, file = project.state, project.file_state
    if stored is None or file is None:
        return ()
    if isinstance(file, StateDefect):
        place = f" at line {file.line}, column {file.column}" if file.line else ""
        return (f"it cannot be read{place}",)

    pairs = {
        "phase": (file.phase, stored.phase),
        "specLocked": (file.spec_locked, stored.spec_locked),
        "interviewComplete": (file.interview_complete, stored.interview_complete),
        "acceptanceConfirmed": (file.acceptance_confirmed, stored.acceptance_confirmed),
        "currentWave": (file.current_wave, stored.current_wave),
        "totalWaves": (file.total_waves, stored.total_waves),
    }

    return tuple(
        f"{name} is {excerpt(str(found), _SHOWN).lower()}, not {str(counts).lower()}"
        for name, (found, counts) in pairs.items()
        if found != counts
    )


def _open_tasks(blueprint: Blueprint | None, records: Records) -> tuple[int, int, int]:
    """Return the first wave with open tasks, else the last; open tasks in it; open tasks in all."""
    if blueprint is None or not blueprint.tasks:
        return 0, 0, 0

    done = frozenset(records.done)
    left = [task for task in blueprint.tasks if str(task.id) not in done]
    wave = min(map(_wave_of, left)) if left else max(map(_wave_of, blueprint.tasks))
    return wave, sum(_wave_of(task) == wave for task in left), len(left)


def _wave_of(task: BlueprintTask) -> int:
    return task.id.wave
