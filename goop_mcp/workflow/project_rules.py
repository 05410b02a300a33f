"""Rules about a whole project: unreadable state.json, missing documents, inconsistent sources.

An example is a JSON object with the facts of a project; what it does not name keeps the default.
"""

from collections.abc import Callable, Iterable

from goop_mcp.structs import DataStruct
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, counted_noun
from goop_mcp.validation.rules import CheckT, Example, RuleList

__all__ = ["PROJECT_RULES", "ProjectFacts"]

# One message a task up to here: a plan that was replaced would give hundreds.
_MOST_UNKNOWN_TASKS = 20

# Names in one sentence.
_MOST_NAMED = 10


class ProjectFacts(DataStruct, frozen=True, kw_only=True):
    """What the sides of a project say, side by side.

    None or empty means that a side is absent or silent.

    `state_defect` is (what is wrong, line, column) of a state.json that cannot be read,
    `state_read_only` the form of one that is never written. `state_file_differs` is what a
    state.json in the folder says differently, where the state lives in a shared database.
    `missing_files` are names of the reading order. The task lists hold ids as we write them:
    `done_reported` by the last report of the task, `done_in_chronicle` and `open_in_chronicle` by
    the diary, `done_in_state` by state.json, `planned` by the blueprint. Times are ISO 8601 in UTC.
    `report_phase` is None if the phase has moved on since the last report. `locked_spec_change` is
    the number of lines added to and removed from SPEC.md since it was locked, () if it is unchanged
    or not locked. `closed_round` is the round that a report came too late for. `repeated_ids` are
    the must-haves and tasks that a document defines more than once, with the lines, in words.
    """

    state_defect: tuple[str, int, int] | None = None
    state_read_only: str | None = None
    state_file_differs: tuple[str, ...] = ()
    missing_files: tuple[str, ...] = ()
    state_phase: str | None = None
    chronicle_phase: str | None = None
    report_phase: str | None = None
    spec_locked_in_state: bool | None = None
    spec_locked_in_header: bool | None = None
    waves_in_state: int | None = None
    current_wave: int | None = None
    waves_in_blueprint: int | None = None
    planned: tuple[str, ...] = ()
    done_reported: tuple[str, ...] = ()
    open_reported: tuple[str, ...] = ()
    done_in_chronicle: tuple[str, ...] = ()
    open_in_chronicle: tuple[str, ...] = ()
    done_in_state: tuple[str, ...] = ()
    open_in_state: tuple[str, ...] = ()
    untraced_must_haves: tuple[str, ...] = ()
    idle_tasks: tuple[str, ...] = ()
    handoff_written: str | None = None
    last_report: str | None = None
    locked_spec_change: tuple[int, ...] = ()
    plan_has_no_tasks: bool = False
    repeated_ids: tuple[str, ...] = ()
    closed_round: int | None = None


def _and(names: Iterable[str]) -> str:
    listed = list(names)
    if len(listed) > _MOST_NAMED:
        return f"{', '.join(listed[:_MOST_NAMED])} and {len(listed) - _MOST_NAMED} more"
    return " and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))


# The facts of a project without a contradiction; each example changes one of them.
_SOUND = """\
{
  "state_phase": "execute", "chronicle_phase": "execute", "report_phase": "execute",
  "spec_locked_in_state": true, "spec_locked_in_header": true,
  "waves_in_state": 2, "current_wave": 1, "waves_in_blueprint": 2,
  "planned": ["W1.T1", "W1.T2"], "done_reported": ["W1.T1"], "open_in_chronicle": ["W1.T2"],
  "untraced_must_haves": [], "missing_files": [], "state_defect": null, "state_read_only": null,
  "state_file_differs": [],
  "locked_spec_change": [], "closed_round": null, "plan_has_no_tasks": false,
  "repeated_ids": [],
  "handoff_written": "2026-01-16T10:00:00Z", "last_report": "2026-01-16T09:00:00Z"
}
"""


PROJECT_RULES = RuleList()


def _rule(
    name: str,
    *,
    severity: Severity = Severity.WARNING,
    catches: str,
    why: str,
    fix: str,
    requirements: tuple[str, ...],
    good: str,
    bad: str,
) -> Callable[[CheckT], CheckT]:
    return PROJECT_RULES.rule(
        id=f"workflow/{name}",
        lenient=severity,
        strict=severity,
        catches=catches,
        why=why,
        fix=fix,
        requirements=requirements,
        example=Example(good=good, bad=bad, reply=_SOUND),
    )


@_rule(
    "state-corrupt",
    severity=Severity.ERROR,
    catches="state.json cannot be read; it was not changed",
    why="A file that is reset loses the lock on the specification; nobody would notice.",
    fix=("Fix state.json by hand at the place named, or put the newest checkpoint in its place."),
    requirements=("P-05", "P-16"),
    good='"state_defect": null',
    bad='"state_defect": ["it ends in the middle", 1, 14]',
)
def _state_corrupt(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if facts.state_defect is None:
        return None
    # Line and column are those of the JSON parser, which stops at the first error.
    message, line, column = facts.state_defect
    if not line:
        # The file could not be opened, and the message says why and what to do.
        return Hit(message=f"{message}; it was not changed", path="state.json")
    where = f"state.json cannot be read at line {line}, column {column}: {message}"
    return Hit(message=f"{where}; it was not changed, expected a JSON object", path="state.json")


@_rule(
    "state-read-only",
    severity=Severity.INFO,
    catches=(
        "state.json of version 2 (either shape), or older than version 1: read, never written"
    ),
    why="Two shapes call themselves version 2; writing one as the other would destroy it.",
    fix="Go on reading; the package that made the file is the one to change it.",
    requirements=("P-16",),
    good='"state_read_only": null',
    bad='"state_read_only": "version 2, workflows only"',
)
def _state_read_only(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if facts.state_read_only is None:
        return None
    # The form is named, as two of them call themselves version 2.
    message = f"state.json has the form {facts.state_read_only}; it is read and never written"
    return Hit(message=message, path="state.json", found=facts.state_read_only)


@_rule(
    "context-file-missing",
    catches="a file of the reading order is missing, other than the optional ones",
    why="An agent that starts without its context ignores the contract.",
    fix="Create it with 'goop-mcp init', or run the command of the phase that writes it.",
    requirements=("P-05", "P-16"),
    good='"missing_files": []',
    bad='"missing_files": ["SPEC.md"]',
)
def _missing(facts: ProjectFacts, _expected: Expectations) -> list[Hit]:
    return [
        Hit(
            message=f"{name} is missing; expected .goopspec/{name}, which agents read before they"
            " start",
            path=name,
        )
        for name in facts.missing_files
    ]


@_rule(
    "drift-phase",
    catches="phase differs between state.json, CHRONICLE.md and the last report",
    why="Whoever reads the other side works in another phase.",
    fix=(
        "Change the phase with its command; the block at the top of CHRONICLE.md follows with the"
        " next report or step."
    ),
    requirements=("G-07", "P-16"),
    good='"chronicle_phase": "execute"',
    bad='"chronicle_phase": "plan"',
)
def _drift_phase(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    # CHRONICLE.md and reports may be silent about the phase, which is not a contradiction.
    sides = {"CHRONICLE.md": facts.chronicle_phase, "the last report": facts.report_phase}
    others = [
        f"{side} {phase}" for side, phase in sides.items() if phase not in (None, facts.state_phase)
    ]
    if facts.state_phase is None or not others:
        return None

    # It is stated which side counts, so that nobody corrects the wrong one.
    message = (
        f"state.json says phase {facts.state_phase}, {' and '.join(others)}; state.json counts"
    )

    return Hit(message=message, path="state.json", found=facts.state_phase)


@_rule(
    "drift-spec-lock",
    catches="specLocked and the header of SPEC.md differ",
    why=(
        "People read the header, programs read state.json; one of them changes a contract that"
        " the other keeps."
    ),
    fix=(
        "Set the header of SPEC.md as state.json has it, or run /goop-plan to lock the"
        " specification."
    ),
    requirements=("G-18", "P-16"),
    good='"spec_locked_in_header": true',
    bad='"spec_locked_in_header": false',
)
def _drift_spec_lock(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    state, header = facts.spec_locked_in_state, facts.spec_locked_in_header
    # Silent on either side: nothing to compare.
    if state is None or header is None or state == header:
        return None

    words = {True: "locked", False: "not locked"}
    message = (
        f"state.json says that the specification is {words[state]}, SPEC.md that it is"
        f" {words[header]}"
    )

    return Hit(message=f"{message}; state.json counts", path="SPEC.md")


@_rule(
    "locked-spec-changed",
    severity=Severity.ERROR,
    catches="SPEC.md is not the text that was locked",
    why="The work follows a contract that nobody has agreed to, and no amendment says so.",
    fix=(
        "Confirm the change with `goop-mcp project amend --reason …`, or put the locked text back."
    ),
    requirements=("G-62",),
    good='"locked_spec_change": []',
    bad='"locked_spec_change": [2, 1]',
)
def _locked_spec_changed(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if not facts.locked_spec_change:
        return None

    # Lines and not the text: the report of a finding must not carry the specification.
    added, removed = facts.locked_spec_change
    message = (
        f"SPEC.md was changed after it was locked: lines added: {added}, removed: {removed}; no"
        " amendment was confirmed"
    )

    return Hit(message=message, path="SPEC.md")


@_rule(
    "round-closed",
    catches="a report arrived when no round was open",
    why="Its round was accepted without it, and the next one has not begun.",
    fix="Start the next round with `goop-mcp project round`, or reopen the closed one.",
    requirements=("G-60",),
    good='"closed_round": null',
    bad='"closed_round": 1',
)
def _round_closed(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if facts.closed_round is None:
        return None
    message = (
        f"round {facts.closed_round} is closed: the report is recorded in it and changes nothing"
    )
    return Hit(message=message)


@_rule(
    "drift-state-file",
    catches="state.json in the folder differs from the state in the shared database",
    why="Agents that read the file act on an old phase or lock; the database counts.",
    fix=(
        "Remove state.json from the folder: the state is at goop://project/state.json and changes"
        " with the steps of the project."
    ),
    requirements=("G-58", "P-16"),
    good='"state_file_differs": []',
    bad='"state_file_differs": ["phase is plan, not execute"]',
)
def _drift_state_file(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if not facts.state_file_differs:
        return None
    # Reading agents do not know of the database; they believe the file.
    differences = _and(facts.state_file_differs)
    message = f"state.json in the folder differs from the state in the database: {differences}"
    return Hit(message=f"{message}; the database counts", path="state.json")


@_rule(
    "plan-not-read",
    severity=Severity.ERROR,
    catches="BLUEPRINT.md was written, and no task in it can be read",
    why="Without tasks nothing can be counted as done, and no gate after the plan is passed.",
    fix="Write the tasks in one of the forms that goop://docs/blueprint shows with an example.",
    requirements=("G-58",),
    good='"plan_has_no_tasks": false',
    bad='"plan_has_no_tasks": true',
)
def _plan_not_read(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if not facts.plan_has_no_tasks:
        return None

    # The forms are in the message, as whoever wrote the plan has to change it without looking them
    # up.
    message = (
        "no task of BLUEPRINT.md can be read; expected '## Wave 1: Name' with '### Task 1.1: Name',"
        " or a list '- [ ] W1.T1: Name', or a table with a column Task"
    )

    return Hit(message=message, path="BLUEPRINT.md")


@_rule(
    "repeated-id",
    severity=Severity.ERROR,
    catches="a document defines a must-have or a task more than once",
    why="Only the first definition counts, and reports about the other one count for it.",
    fix="Give each must-have and each task a number of its own; SPEC.md is not locked before.",
    requirements=("G-58",),
    good='"repeated_ids": []',
    bad='"repeated_ids": ["SPEC.md defines MH1 in lines 9 and 30; expected once"]',
)
def _repeated_id(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    if not facts.repeated_ids:
        return None
    return Hit(message=_and(facts.repeated_ids), path=facts.repeated_ids[0].split(" ", 1)[0])


@_rule(
    "drift-waves",
    catches="totalWaves or currentWave differ from BLUEPRINT.md",
    why="With a wrong number of waves the work ends too early or never.",
    fix="Set totalWaves and currentWave as BLUEPRINT.md has them.",
    requirements=("G-58", "P-16"),
    good='"waves_in_state": 2',
    bad='"waves_in_state": 3',
)
def _drift_waves(facts: ProjectFacts, _expected: Expectations) -> list[Hit]:
    # Without waves in the plan, or without a number in the state, there is nothing to compare.
    planned = facts.waves_in_blueprint
    if not planned or facts.waves_in_state is None:
        return []

    hits = []
    # Before the first wave begins, the packages have not counted yet.
    if facts.waves_in_state != planned and (facts.waves_in_state or facts.current_wave):
        message = (
            f"state.json counts {counted_noun(facts.waves_in_state, 'wave')}, BLUEPRINT.md has"
            f" {planned}; BLUEPRINT.md counts"
        )
        hits.append(
            Hit(
                message=message,
                path="state.json",
                found=str(facts.waves_in_state),
                expected=(str(planned),),
            )
        )

    if facts.current_wave is not None and facts.current_wave > planned:
        message = (
            f"state.json is in wave {facts.current_wave}, BLUEPRINT.md ends with wave {planned}"
        )
        hits.append(Hit(message=message, path="state.json", found=str(facts.current_wave)))

    return hits


@_rule(
    "drift-task-status",
    catches="a task is done in one place and open in another",
    why="A task taken for done is never finished; one taken for open is done twice.",
    fix="Look at the last report of the task and fix the other source.",
    requirements=("G-49", "P-16"),
    good='"open_in_chronicle": ["W1.T2"]',
    bad='"open_in_chronicle": ["W1.T1"]',
)
def _drift_task_status(facts: ProjectFacts, _expected: Expectations) -> list[Hit]:
    done = {
        "the reports": dict.fromkeys(facts.done_reported),
        "CHRONICLE.md": dict.fromkeys(facts.done_in_chronicle),
        "state.json": dict.fromkeys(facts.done_in_state),
    }
    open_ = {
        "the reports": dict.fromkeys(facts.open_reported),
        "CHRONICLE.md": dict.fromkeys(facts.open_in_chronicle),
        "state.json": dict.fromkeys(facts.open_in_state),
    }
    # Done tasks are many in a long project, open ones few.
    disputed = [
        task
        for ids in open_.values()
        for task in ids
        if any(task in others for others in done.values())
    ]
    hits = []

    # Each task once, though it may be open in two places.
    for task in dict.fromkeys(disputed):
        says_done = [side for side, ids in done.items() if task in ids]
        says_open = [side for side, ids in open_.items() if task in ids]
        message = (
            f"task {task} is done in {_and(says_done)} and open in {_and(says_open)}; the reports"
            " count"
        )
        hits.append(Hit(message=message, path=task, found=task))

    return hits


@_rule(
    "drift-unknown-task",
    catches="a task is recorded that BLUEPRINT.md does not have",
    why=("Work outside of the plan is not counted, or the plan is not the one that was worked on."),
    fix="Add the task to BLUEPRINT.md, or name the task that was meant.",
    requirements=("G-12", "G-58"),
    good='"done_reported": ["W1.T1"]',
    bad='"done_reported": ["W9.T1"]',
)
def _drift_unknown_task(facts: ProjectFacts, _expected: Expectations) -> list[Hit]:
    # Without a plan every task would be unknown.
    if not facts.planned:
        return []

    # One order for all sources, so that the same project gives the same list.
    recorded = dict.fromkeys(
        (
            *facts.done_reported,
            *facts.open_reported,
            *facts.done_in_chronicle,
            *facts.open_in_chronicle,
        )
    )
    planned = frozenset(facts.planned)
    unknown = [task for task in recorded if task not in planned]
    hits = [
        Hit(
            message=f"task {task} is recorded; expected one that BLUEPRINT.md has",
            path=task,
            found=task,
        )
        for task in unknown[:_MOST_UNKNOWN_TASKS]
    ]
    if left := len(unknown) - len(hits):
        hits.append(
            Hit(
                message=f"reports name {counted_noun(left, 'more task')} that BLUEPRINT.md does not"
                " have",
                path="BLUEPRINT.md",
            )
        )

    return hits


@_rule(
    "drift-coverage",
    catches="a must-have without a task, or a task without a must-have",
    why="What no task serves is not built; what serves no must-have was not asked for.",
    fix="Name the must-have in the Spec Coverage of its tasks, or amend SPEC.md.",
    requirements=("P-03",),
    good='"untraced_must_haves": []',
    bad='"untraced_must_haves": ["MH3"]',
)
def _drift_coverage(facts: ProjectFacts, _expected: Expectations) -> list[Hit]:
    hits = []
    # What was not asked for is named apart from what is not built: they have different fixes.
    if facts.untraced_must_haves:
        message = (
            f"no task of BLUEPRINT.md serves {_and(facts.untraced_must_haves)}; expected a task for"
            " each must-have"
        )
        hits.append(
            Hit(
                message=message,
                path="SPEC.md",
                found=", ".join(facts.untraced_must_haves[:_MOST_NAMED]),
            )
        )

    if facts.idle_tasks:
        message = (
            f"BLUEPRINT.md has tasks without a must-have: {_and(facts.idle_tasks)}; expected one"
            " for each task"
        )
        hits.append(
            Hit(
                message=message,
                path="BLUEPRINT.md",
                found=", ".join(facts.idle_tasks[:_MOST_NAMED]),
            )
        )

    return hits


@_rule(
    "drift-handoff-stale",
    catches="HANDOFF.md is older than the last recorded report",
    why="The next session would start from a place that is left already.",
    fix="Write HANDOFF.md again before the session ends.",
    requirements=("G-50",),
    good='"handoff_written": "2026-01-16T10:00:00Z"',
    bad='"handoff_written": "2026-01-15T10:00:00Z"',
)
def _drift_handoff(facts: ProjectFacts, _expected: Expectations) -> Hit | None:
    written, reported = facts.handoff_written, facts.last_report
    # Texts of ISO 8601 in UTC sort as the times do.
    if written is None or reported is None or written >= reported:
        return None

    message = (
        f"HANDOFF.md was written {written}, the last report is of {reported}; expected a handoff"
        " that knows it"
    )

    return Hit(message=message, path="HANDOFF.md", found=written)
