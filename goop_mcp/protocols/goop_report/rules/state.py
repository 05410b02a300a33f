"""Rules about `<state>` and `<task_id>`: where in the workflow the work belongs."""

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY
from goop_mcp.workflow.task_ids import is_report_key, parse_task_id

__all__ = ["PHASE_ALIAS", "STATE_RULES", "TASK_ID_MISSING", "UNKNOWN_PHASE"]

_PHASE = "/goop_report/state/phase"
_TASK_ID = "/goop_report/task_id"
_GOOD_PHASE = "<phase>execute</phase>"
_GOOD_TASK = "<task_id>W1.T2</task_id>"


STATE_RULES = RuleList()


UNKNOWN_PHASE = STATE_RULES.add(
    id="goop_report/unknown-phase",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="phase outside plan, specify, execute, accept, research",
    why="Gates and the usual next command hang on the phase.",
    fix="Write the phase the work belongs to.",
    requirements=("G-14", "G-15"),
    example=Example(good=_GOOD_PHASE, bad="<phase>deploy</phase>", reply=COMPLETE_REPLY),
)


PHASE_ALIAS = STATE_RULES.add(
    id="goop_report/phase-alias",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="`discuss`; read as `plan`",
    why="Discussing belongs to planning; only projects of profile v1 have a phase of that name.",
    fix="Write <phase>plan</phase>.",
    requirements=("G-14",),
    example=Example(good=_GOOD_PHASE, bad="<phase>discuss</phase>", reply=COMPLETE_REPLY),
)


@STATE_RULES.rule(
    id="goop_report/phase-mismatch",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="phase differs from the current workflow phase",
    why="A report for another phase would move the workflow past its gates.",
    fix="Report the phase you were asked to work in.",
    requirements=("G-43",),
    example=Example(
        good="<phase>execute</phase>",
        bad="<phase>accept</phase>",
        reply=COMPLETE_REPLY,
        expected=Expectations(phase="execute"),
    ),
)
def _phase_mismatch(report: Report, expected: Expectations) -> Hit | None:
    # "State.phase must match current workflow phase" (Validation Rules)
    if not expected.phase or report.state is None or report.state.phase is None:
        return None

    wanted = expected.phase.strip().lower()
    if wanted == "discuss" and expected.profile == "0.x":
        wanted = "plan"
    if report.state.phase == wanted:
        return None
    return Hit(
        message=(
            f"phase is {report.state.phase.value!r}; expected {excerpt(wanted, 40)!r}, the current"
            " workflow phase"
        ),
        path=_PHASE,
        found=report.state.phase.value,
        expected=(wanted,),
        fix=f"Report the phase you were asked to work in: <phase>{excerpt(wanted, 40)}</phase>.",
    )


@STATE_RULES.rule(
    id="goop_report/counter-over-total",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="current greater than total",
    why="Wave 4 of 3 is a slip; the router would miss the last task.",
    fix="Count from 1 to total.",
    requirements=("G-16", "G-17"),
    example=Example(
        good='<task current="2" total="3"/>',
        bad='<task current="2" total="1"/>',
        reply=COMPLETE_REPLY,
    ),
)
def _counter_over_total(report: Report, _expected: Expectations) -> list[Hit] | None:
    if report.state is None:
        return None

    counters = (("wave", report.state.wave), ("task", report.state.task))
    return [
        Hit(
            message=(
                f"{name} is {counter.current} of {counter.total}; expected current not above total"
            ),
            path=f"/goop_report/state/{name}/@current",
            found=str(counter.current),
        )
        for name, counter in counters
        if counter
        and counter.current is not None
        and counter.total is not None
        and counter.current > counter.total
    ]


@STATE_RULES.rule(
    id="goop_report/task-id-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="task_id not `W<n>.T<n>`; other known forms are normalised for routing",
    why="One spelling keeps reports, chronicle and blueprint comparable.",
    fix="Write the task as W<wave>.T<task>, for example W2.T3.",
    requirements=("G-12",),
    example=Example(good=_GOOD_TASK, bad="<task_id>1.2</task_id>", reply=COMPLETE_REPLY),
)
def _task_id_form(report: Report, _expected: Expectations) -> Hit | None:
    # A report goes on with the work of one that named no task by the number of that report.
    if not report.task_id or is_report_key(report.task_id):
        return None

    task = parse_task_id(report.task_id)
    if task is not None and task.task is not None and report.task_id == str(task):
        return None

    fix = (
        f"Write <task_id>{task}</task_id>." if task is not None and task.task is not None else None
    )

    return Hit(
        message=f"task_id is {excerpt(report.task_id, 60)!r}; expected the form W2.T3",
        path=_TASK_ID,
        found=excerpt(report.task_id),
        fix=fix,
    )


TASK_ID_MISSING = STATE_RULES.add(
    id="goop_report/task-id-missing",
    lenient=Severity.INFO,
    strict=Severity.INFO,
    catches="phase execute without task_id",
    why="task_id is optional, but during execution there is a task to name.",
    fix="Name the task: <task_id>W2.T3</task_id>.",
    requirements=("G-40",),
    example=Example(good=f"{_GOOD_TASK}\n", bad="", reply=COMPLETE_REPLY),
)


@STATE_RULES.rule(
    id="goop_report/task-id-differs-from-state",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="wave or task number of task_id differs from state",
    why="One of the two is wrong, and the router cannot know which.",
    fix="Make task_id and the counters in state name the same task.",
    requirements=("G-12", "G-58"),
    example=Example(good=_GOOD_TASK, bad="<task_id>W2.T2</task_id>", reply=COMPLETE_REPLY),
)
def _task_id_differs_from_state(report: Report, _expected: Expectations) -> list[Hit] | None:
    if not report.task_id or report.state is None:
        return None

    task = parse_task_id(report.task_id)
    if task is None:
        return None

    pairs = (("wave", task.wave, report.state.wave), ("task", task.task, report.state.task))

    return [
        Hit(
            message=(
                f"task_id {excerpt(report.task_id, 40)} says {name} {number}, state says"
                f" {counter.current}; expected the same number"
            ),
            path=_TASK_ID,
            found=excerpt(report.task_id),
        )
        for name, number, counter in pairs
        if counter is not None
        and None not in (number, counter.current)
        and number != counter.current
    ]
