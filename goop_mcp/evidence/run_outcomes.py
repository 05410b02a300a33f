"""What a recorded run shows: its exit code alone proves little."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from goop_mcp.evidence.activity import ObservedCommand
from goop_mcp.evidence.attribution import (
    Run,
    attribute,
    without_wrapper_words,
)
from goop_mcp.evidence.check_kinds import kinds_of_name, named_commands
from goop_mcp.evidence.proofs import NOT_SHOWN, NOTHING_MORE_KNOWN, Known
from goop_mcp.evidence.recorded_runs import UNKNOWN_COUNTS, RunCounts, RunOutcome
from goop_mcp.evidence.run_endings import CHANGE_RUNNERS, HARMLESS_VALUES
from goop_mcp.evidence.runners import ANY_KIND, script_of
from goop_mcp.evidence.shell.tree import ShellWord
from goop_mcp.evidence.shell.wrappers import name_of
from goop_mcp.evidence.summaries import SUMMARY_CHARACTERS, Summary, summary_of

__all__ = ["EndedRun", "RunResult", "changing_variables", "result_of_run"]

_PROGRAM_CHARACTERS: Final = 60


class EndedRun(NamedTuple):
    """How a command ended, as the recorder saw it.

    `name` is that of the check, "" to take it from the command. `status` is the exit status, or
    the negative number of the signal. `unfinished` is why it did not end by itself, "" if it did.
    `output` is the end of what it printed, and `output_whole` whether that is all. `counts` are
    those of a result file, None without one, and `result_problem` says why that file proves
    nothing. `variables` are those that may change a runner. `trusted` are the commands that a
    person trusts, by their checks, and `place_of` is as in `Known`.
    """

    name: str
    argv: tuple[str, ...]
    status: int
    unfinished: str = ""
    output: str = ""
    output_whole: bool = True
    counts: RunCounts | None = None
    result_problem: str = ""
    variables: tuple[str, ...] = ()
    trusted: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    place_of: Callable[[str], str] = NOTHING_MORE_KNOWN.place_of


class RunResult(NamedTuple):
    """What a run shows; the fields are those of `RecordedRun`."""

    outcome: RunOutcome
    why: str
    name: str
    kinds: tuple[str, ...]
    program: str
    counts: RunCounts
    defined_by: tuple[str, ...] = ()


def changing_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of variables that can change what a runner does, in order."""
    return tuple(
        sorted(
            name
            for name in CHANGE_RUNNERS
            if environment.get(name) and not HARMLESS_VALUES.issuperset(environment[name].split())
        )
    )


def result_of_run(ended: EndedRun) -> RunResult:
    """Return what the run shows. Linear in its command and output."""
    program = " ".join(ended.argv)[:_PROGRAM_CHARACTERS].rpartition("/")[2]
    named = kinds_of_name(ended.name)
    attributed = attribute(
        ObservedCommand(
            position=0,
            line=" ".join(ended.argv),
            argv=ended.argv,
            status=ended.status,
            output=ended.output,
            output_whole=ended.output_whole,
        ),
        Known(
            named_commands(ended.trusted),
            ended.place_of,
            bool(ended.counts and ended.counts.executed),
        ),
    )
    runs = [run for run in attributed.runs if ANY_KIND not in run.kinds]
    kinds = named or tuple(dict.fromkeys(kind for run in runs for kind in run.kinds))
    # A command that is known as another check proves nothing for this name.
    mine = [run for run in runs if not named or set(named) & set(run.kinds)]
    if runs:
        program = (mine or runs)[-1].program

    name = ended.name or (kinds[0] if kinds else program)
    read = [run.summary for run in mine if run.summary is not None and run.summary.seen]
    summary = read[-1] if read else None
    if not mine and kinds:
        # A script hides which program ran; any summary of its kind counts.
        found = summary_of(ended.output, "", kinds[0])
        summary = found if found.seen else None
    counts = ended.counts or _counts(summary)
    outcome, why = _outcome(ended, _Read(runs, mine, kinds, attributed.harmless, summary, counts))
    # The name of a check need not say what kind it is: its command is trusted all the same.
    is_trusted = ended.trusted.get(ended.name) == ended.argv
    if outcome == "passed" and not mine and not is_trusted:
        outcome, why = "unproven", _why_unproven(ended.argv, program)
    paths = dict.fromkeys(path for run in mine for path in run.definition.paths())

    return RunResult(outcome, why, name, kinds, program, counts, tuple(paths))


def _why_unproven(argv: Sequence[str], program: str) -> str:
    """Return why a command that is no run of a known runner proves nothing."""
    words = without_wrapper_words(argv)
    if words and script_of(name_of(ShellWord(words[0])), words[1:]) is not None:
        return NOT_SHOWN
    return f"{program} is no known runner, and no check that a person trusts has this command"


def _counts(summary: Summary | None) -> RunCounts:
    if summary is None:
        return UNKNOWN_COUNTS

    result = summary.result
    executed = None
    ran = (result.passed, result.failed, result.errors)
    if result.total is not None and result.passed is None:
        # "12 examples, 0 failures": what passed is counted by no number.
        executed = result.total - (result.skipped or 0)
    elif result.passed is not None or any(ran):
        # A summary leaves out what there is none of: "2 failed in 0.1s".
        executed = sum(each or 0 for each in ran)
    elif any(each is not None for each in ran):
        # "0 failures, 0 errors" says nothing of how many ran.
        executed = None
    elif result.skipped is not None:
        executed = 0

    return RunCounts(
        executed, result.passed, result.failed, result.skipped, result.errors, "output"
    )


class _Read(NamedTuple):
    """What is known of a command: its `runs`, and those of them that the name is about."""

    runs: Sequence[Run]
    mine: Sequence[Run]
    kinds: Sequence[str]
    harmless: bool
    summary: Summary | None
    counts: RunCounts


def _outcome(ended: EndedRun, read: _Read) -> tuple[RunOutcome, str]:
    mine, runs = read.mine, read.runs
    if ended.unfinished:
        return "unfinished", ended.unfinished
    if ended.counts is not None and (ended.counts.failed or ended.counts.errors):
        return "failed", f"{ended.counts.source} has failed tests"
    if ended.status < 0:
        return "unfinished", f"signal {-ended.status} ended it"
    if any(run.vacuous for run in mine) and all(run.vacuous for run in mine):
        return "vacuous", "with these arguments it runs nothing"
    if read.harmless:
        return "vacuous", "the command checks nothing"
    # What a target printed may leave out the rest of what it ran, unless it failed.
    if runs and not mine and (runs[-1].rests_on != "target" or ended.status != 0):
        return "vacuous", f"the command is a check of {', '.join(runs[-1].kinds)}"
    if ended.status != 0:
        last = mine[-1].outcome if mine else "failed"
        if last == "nothing":
            return "nothing", "it executed no test"
        if last == "cut short":
            return "unfinished", mine[-1].why
        if last == "not started":
            return "unfinished", f"it could not be started (exit code {ended.status})"
        if last == "unknown" and mine[-1].shown is None:
            return (
                "unknown",
                f"exit code {ended.status}, and {mine[-1].why or 'its cause is not known'}",
            )
        return "failed", f"exit code {ended.status}"

    return _passed(ended, read)


def _passed(ended: EndedRun, read: _Read) -> tuple[RunOutcome, str]:
    """Return what an exit code of 0 is worth."""
    mine, kinds, summary, counts = read.mine, read.kinds, read.summary, read.counts
    unknown = [run for run in mine if run.outcome == "unknown" and not run.vacuous]
    if unknown and unknown[-1].rests_on != "target":
        return "unknown", unknown[-1].why
    if ended.result_problem:
        return "unknown", ended.result_problem
    if "tests" in kinds and counts.executed == 0:
        return "nothing", "it executed no test"

    whole = ended.output_whole and len(ended.output) <= SUMMARY_CHARACTERS
    if summary is not None and summary.failure is not None and ended.counts is None:
        # A runner that counts failures and exits with 0, or a script that hides it.
        # vitest ends well with errors that its user lets it ignore.
        seen = whole and mine and not summary.outside
        shown: RunOutcome = "failed" if seen else "unknown"
        return shown, f"its output shows {summary.failure!r}"
    if any(run.outcome == "nothing" for run in mine):
        return "nothing", "it executed no test"
    if ended.variables and "tests" in kinds and counts.executed is None:
        return "unknown", f"{ended.variables[0]} may change what it runs"
    if unknown:
        # The target of a build tool: what it ran is not shown, and nothing says that it failed.
        return "unproven", unknown[-1].why

    return "passed", ""
