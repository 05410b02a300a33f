"""How a run ended, as far as the status of its line and what it printed show it."""

import re
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple

from goop_mcp.evidence.activity import ObservedCommand
from goop_mcp.evidence.proofs import (
    NOT_SHOWN,
    OTHERS_PRINT,
    REDEFINED,
    Basis,
    Known,
    is_redefined,
    may_print,
    usual_path,
)
from goop_mcp.evidence.runners import CheckProgram, ScriptRunner, runs_nothing, word_set
from goop_mcp.evidence.shell import Part
from goop_mcp.evidence.shell.tree import ShellWord
from goop_mcp.evidence.shell.wrappers import name_of
from goop_mcp.evidence.summaries import SUMMARY_CHARACTERS, Summary, summary_of

__all__ = [
    "CHANGE_RUNNERS",
    "HARMLESS_VALUES",
    "Echoed",
    "Ended",
    "Outcome",
    "Output",
    "ProgramRow",
    "StartedPart",
    "end_of",
    "is_vacuous",
]

Outcome = Literal["passed", "failed", "nothing", "not started", "cut short", "unknown"]

# With status 1 these only say that nothing was found; some hosts count that as a success.
_FIND_NOTHING: Final = word_set("[ cmp diff egrep fgrep find grep rg test")
CHANGE_RUNNERS: Final = word_set(
    "CTEST_TEST_TIMEOUT GOFLAGS JAVA_TOOL_OPTIONS LD_PRELOAD MAKEFLAGS MAVEN_OPTS "
    "MYPYPATH NODE_OPTIONS PYTEST_ADDOPTS PYTEST_PLUGINS RUBYOPT RUSTFLAGS SPEC_OPTS "
    "npm_config_dry_run npm_config_ignore_scripts npm_config_script_shell MAKEFILES"
)
"""Variables that can make a runner do something else."""

# Those that whole machines have for other reasons: only a line that sets one means it.
_SET_BY_LINE: Final = word_set(
    "BASH_ENV GNUMAKEFLAGS JUST_JUSTFILE NPM_CONFIG_SCRIPT_SHELL NPM_CONFIG_USERCONFIG PYTHONHOME "
    "TOX_OVERRIDE npm_config_globalconfig npm_config_userconfig"
)

HARMLESS_VALUES: Final = word_set(
    "-q -qq -v -vv -x -s -ra -rs -rf -l --color=no --color=yes --tb=short --tb=line "
    "--tb=no --no-header -pno:cacheprovider --max-old-space-size=4096 "
    "--max-old-space-size=8192 --experimental-vm-modules --no-warnings"
)
# What a shell returns for a program that it cannot execute, or cannot find.
_CANNOT_START: Final = frozenset({126, 127})
# With these statuses of a shell a signal ended the program. Those of an interrupt and of a closed
# pipe say nothing about it: a person stopped it, or a reader of its output ended first.
_BY_SIGNAL: Final = frozenset({129, 131, 132, 133, 134, 135, 136, 137, 139, 142, 143, 152, 153})
_INTERRUPTED: Final = frozenset({-2, -13, 130, 141})
_SHELL_SIGNALS: Final = 128
_TIMED_OUT: Final = 124
# What shells print about a program that a signal ended: `bash: line 1: 4711 Killed  pytest`.
_KILLED: Final = (
    r"(?:(?:\S+: )?(?:line \d+: )? *\d+ )?(Killed|Segmentation fault|Aborted|Bus error|Terminated)"
    r"(?: \(core dumped\))?(?:$|  +(.*))"
)
# Parts of a shell itself, which no signal ends apart from it.
_BUILT_IN: Final = word_set(
    ": . [ [[ alias cd declare echo export false popd printf pushd pwd read set shopt source test "
    "trap true ulimit umask unset"
)
# No tests were collected; and a person, or an error of collection, ended it.
_PYTEST_NOTHING, _PYTEST_INTERRUPTED = 5, 2
_LINE_CHARACTERS = 100


class Ended(NamedTuple):
    """How a run ended, as far as status and output show it; see `Run`."""

    outcome: Outcome
    why: str = ""
    shown: str | None = None
    summary: Summary | None = None


class Echoed(NamedTuple):
    """What the commands that a build tool shows in its output are: kinds, and files they start."""

    kinds: frozenset[str]
    scripts: tuple[str, ...]


class Output:
    """What a line printed, each part of it read once: its summaries, and the commands it shows."""

    def __init__(self, text: str, read_echoed: Callable[[str], Echoed]) -> None:
        """Keep the text; `read_echoed` finds the commands in it."""
        self._text, self._read_echoed = text, read_echoed
        self._summaries: dict[tuple[str, str], Summary] = {}
        self._echoed: Echoed | None = None

    def summary(self, family: str, kind: str) -> Summary:
        """Return its summary in the form of `family`, as `summary_of` does."""
        key = (family, kind)
        if key not in self._summaries:
            self._summaries[key] = summary_of(self._text, family, kind)
        return self._summaries[key]

    def echoed(self) -> Echoed:
        """Return the commands that it shows."""
        if self._echoed is None:
            self._echoed = self._read_echoed(self._text)
        return self._echoed


class StartedPart(NamedTuple):
    """One program of a line with `parts`; `last` is the name of the line's last program.

    `folders` are those in which the line starts programs.
    """

    command: ObservedCommand
    part: Part
    name: str
    arguments: tuple[str, ...]
    parts: Sequence[Part]
    folders: tuple[str, ...]
    last: str
    output: Output
    known: Known

    @property
    def others_print(self) -> bool:
        """Whether another program of the line may have printed a result."""
        line = self.command.line
        return any(may_print(part, line) for part in self.parts if part is not self.part)


class ProgramRow(NamedTuple):
    """What one program is: its row in the table, what that rests on, and what defines it.

    `target` is the row of the build tool that runs it, None for none.
    """

    program: CheckProgram
    rests_on: Basis
    defined_by: tuple[str, ...] = ()
    target: ScriptRunner | None = None


def is_vacuous(started: StartedPart, row: CheckProgram) -> bool:
    """Return whether the program runs nothing with its arguments."""
    arguments = started.arguments
    return runs_nothing(started.name, arguments, row.vacuous) or (
        bool(row.needs) and not row.needs.intersection(arguments)
    )


def _why_no_proof(started: StartedPart, row: ProgramRow, kind: str) -> str:
    """Return why a run that ended well proves nothing, "" if it does.

    The target of a build tool may run anything, so that only the form of what it printed counts.
    """
    if row.rests_on != "target":
        return ""
    if row.target is not None and is_redefined(row.target, started.part):
        return REDEFINED
    # `gradle check -x test` says that it was successful all the same.
    if (
        row.target is not None
        and kind == "tests"
        and row.target.leaves_out.intersection(started.arguments)
    ):
        return REDEFINED
    if kind == "tests" and started.known.has_results:
        return ""

    families = {"", row.program.family, row.target.family if row.target else ""}
    shown = any(started.output.summary(family, kind).seen for family in families)
    # Most tools other than test runners say nothing where nothing is wrong.
    if not shown and (kind == "tests" or kind not in started.output.echoed().kinds):
        return NOT_SHOWN
    return OTHERS_PRINT if started.others_print else ""


def end_of(started: StartedPart, row: ProgramRow, kind: str) -> Ended:
    """Return how the run ended, as far as status and output show it."""
    command, part = started.command, started.part
    # Read also where the status decides: a failure that was printed is shown to the agent.
    summary = started.output.summary(row.program.family, kind)
    outcome: Outcome = "unknown"
    why = ""
    # A value that changes only what is printed is harmless.
    changing = [
        name
        for name, value in part.variables
        if (_may_change_runner(name) and not _is_harmless(value))
        or (name == "PATH" and not usual_path(value))
    ]
    if is_vacuous(started, row.program):
        why = "with these arguments it runs nothing"
    elif changing:
        why = f"{changing[0]} may change what it runs"
    # As in `pytest | tail`, where the status is that of tail.
    elif not part.proven:
        why = "the line's exit status is not that of this command"
    elif command.status is None:
        why = "its exit status is not known"
    elif command.status != 0:
        outcome, why = _ended_badly(command.status, started, row.program, kind, summary)
    elif started.last in _FIND_NOTHING and not part.alone:
        why = f"the exit status is that of {started.last}"
    else:
        whole = command.output_whole and len(command.output) <= SUMMARY_CHARACTERS
        # The counts of tests say more than the status.
        counted = kind == "tests" and summary.seen and whole
        if counted and summary.failure is not None and summary.result.failed:
            outcome = "failed"
        elif counted and summary.nothing_ran:
            outcome = "nothing"
        elif counted and summary.outside:
            # vitest ends well with errors that its user lets it ignore: none is hidden.
            return Ended("unknown", f"its output shows {summary.failure!r}", None, summary)
        elif not (why := _why_no_proof(started, row, kind)):
            outcome = "passed"

    shown = summary.failure
    if outcome == "unknown" and not summary.seen:
        shown = shown or _killed(started)
    return Ended(outcome, why, shown, summary)


def _may_change_runner(variable: str) -> bool:
    # Cargo takes the name of the machine into that of the variable.
    of_cargo = variable.startswith("CARGO_TARGET_") and variable.endswith("_RUNNER")
    return of_cargo or variable in CHANGE_RUNNERS or variable in _SET_BY_LINE


def _is_harmless(value: ShellWord) -> bool:
    return value.literal and HARMLESS_VALUES.issuperset(value.text.split())


def _ended_badly(
    status: int, started: StartedPart, row: CheckProgram, kind: str, summary: Summary
) -> tuple[Outcome, str]:
    # What the runner printed is more precise than any status.
    if summary.failure is not None and kind != "coverage":
        return "failed", ""
    if signal := _signal_of(status, started):
        # A watcher prints its results and goes on until something ends it.
        watches = any("watch" in each or each == "-w" for each in started.arguments)
        unseen = not (started.command.output or started.command.output_whole)
        if summary.seen or watches or unseen:
            return "unknown", "it was ended, possibly after it had printed its result"
        return "cut short", f"{signal} ended it (exit status {status})"
    if kind == "coverage":
        # Tests that fail and a share that is too low end with the same status.
        return "unknown", "the exit status does not say why it failed"
    if started.part.container is not None and status not in _CANNOT_START:
        return "unknown", "its container may not have started"
    if not started.part.alone:
        return "unknown", "another command of the line may have failed"
    if status in _CANNOT_START or status in row.not_started:
        return "not started", ""
    if status in _INTERRUPTED or status == _TIMED_OUT or status < 0:
        return "unknown", "it was ended before it finished"
    if kind == "tests" and summary.seen and not summary.nothing_ran:
        # A coverage limit or a report that cannot be written ends a run of good tests like this.
        return "unknown", "its summary shows no failure"
    if kind == "tests" and summary.nothing_ran:
        return "nothing", ""
    if row.family == "pytest" and status == _PYTEST_NOTHING:
        return "nothing", ""
    if row.family == "pytest" and status == _PYTEST_INTERRUPTED:
        return "unknown", "it was interrupted"
    return "failed", ""


def _signal_of(status: int, started: StartedPart) -> str:
    """Return what ended the program from outside, "" if that is not certain."""
    others = [part for part in started.parts if part is not started.part]
    if any(name_of(each.words[0]) not in _BUILT_IN for each in others):
        return ""
    if status == _TIMED_OUT and "timeout" in started.command.line:
        return "its time limit"
    if status in _INTERRUPTED or not (status < 0 or status in _BY_SIGNAL):
        return ""
    return f"signal {-status if status < 0 else status - _SHELL_SIGNALS}"


def _killed(started: StartedPart) -> str | None:
    """Return what the shell printed about this program where a signal ended it, None for nothing.

    A shell that is not bash names no program: the word then stands alone on its line.
    """
    for line in started.command.output[-SUMMARY_CHARACTERS:].splitlines():
        found = re.match(_KILLED, line[:_LINE_CHARACTERS].strip())
        if found is not None and (not found[2] or started.name in found[2]):
            return found[1]

    return None
