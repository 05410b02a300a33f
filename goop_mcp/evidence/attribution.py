"""Which observed command proves which kind of check, and how its run ended."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, Literal, NamedTuple

from goop_mcp.evidence.activity import ObservedCommand
from goop_mcp.evidence.proofs import (
    NOT_SHOWN,
    NOTHING_MORE_KNOWN,
    OTHERS_PRINT,
    REDEFINED,
    Basis,
    Definition,
    Known,
    defining_paths,
    definitions_of,
    echoed_commands,
    folders_in,
    is_redefined,
    may_print,
    module_folders,
    path_in_project,
    sourced_files,
    started_scripts,
    usual_path,
)
from goop_mcp.evidence.runners import (
    ANY_KIND,
    KIND_WORDS,
    SCRIPT_WORDS,
    CheckProgram,
    ScriptRunner,
    kinds_of_script,
    runner_of,
    runs_nothing,
    script_of,
    word_set,
)
from goop_mcp.evidence.shell import Part, parts_of
from goop_mcp.evidence.shell.tree import ShellWord
from goop_mcp.evidence.shell.wrappers import name_of, without_wrappers
from goop_mcp.evidence.shell_writes import Written, written_by
from goop_mcp.evidence.summaries import SUMMARY_CHARACTERS, Summary, summary_of
from goop_mcp.evidence.unseen import checks_nothing, git_command

__all__ = [
    "CHANGE_RUNNERS",
    "HARMLESS_VALUES",
    "Attributed",
    "Outcome",
    "Run",
    "attribute",
    "without_wrapper_words",
    "words_in",
]

Outcome = Literal["passed", "failed", "nothing", "not started", "cut short", "unknown"]

# These only read, or change what no check depends on.
_HARMLESS: Final = word_set(
    ": [ [[ awk basename cat cd cmp column comm cut date df diff dir dirname du echo "
    "egrep env exit export false fgrep file find fold free grep head hostname id jq "
    "kill less ls mkdir more nl od pgrep popd printenv printf ps pushd pwd read "
    "readlink realpath return rg sed set sleep sort source . stat tail test tr tree "
    "true type umask uname uniq unset wait wc which whoami xxd yes tee touch chmod "
    "alias trap shift local declare"
)
_SAY: Final = word_set(": cd date echo export false hostname id printf pwd set sleep true whoami")
_HARMLESS_GIT: Final = word_set(
    "add blame branch cat-file commit config describe diff fetch grep help log "
    "ls-files ls-tree push remote rev-list rev-parse shortlog show status tag"
)
_OTHER_TREE: Final = word_set(
    "apply bisect checkout cherry-pick clean merge pull rebase reset restore revert "
    "stash switch worktree"
)
"""Subcommands of git after which a run is about other files than the task's."""

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
_WRITING_KINDS: Final = frozenset({ANY_KIND, "build", "coverage", "format"})
# With these a checker changes files and then agrees with them.
_REWRITE: Final = word_set("--fix -u --updateSnapshot --update --write -w --snapshot-update")
_MOST_CHECKED_PARTS = 16
_CHANGE_FOLDER: Final = word_set("cd chdir popd pushd")


class Ended(NamedTuple):
    """How a run ended, as far as status and output show it; see `Run`."""

    outcome: Outcome
    why: str = ""
    shown: str | None = None
    summary: Summary | None = None


def _not_known() -> Ended:
    return Ended("unknown")


class Run:
    """One run of a program that checks something.

    `program` is what messages call it, `rests_on` what makes it a proof, and `at` its number among
    the programs of the line. `vacuous`: with these arguments it runs nothing, or only prints. How
    it ended and what defines it is read from its output when somebody asks: an agent runs its tests
    a hundred times, and its report is about the last of them.
    """

    __slots__ = (
        "_define",
        "_end",
        "_ended",
        "arguments",
        "at",
        "command",
        "kinds",
        "program",
        "rests_on",
        "sources",
        "vacuous",
    )

    def __init__(
        self,
        command: ObservedCommand,
        program: str,
        arguments: tuple[str, ...],
        kinds: tuple[str, ...],
        *,
        end: Callable[[], Ended] = _not_known,
        sources: frozenset[str] = frozenset(),
        vacuous: bool = False,
        rests_on: Basis = "target",
        define: Callable[[], Definition] = Definition,
        at: int = 0,
    ) -> None:
        """Keep what is known from the line; `end` and `define` read the rest."""
        self.command, self.program, self.arguments, self.kinds = command, program, arguments, kinds
        self.sources, self.vacuous, self.rests_on = sources, vacuous, rests_on
        self._end, self._define, self.at = end, define, at
        self._ended: Ended | None = None

    @property
    def ended(self) -> Ended:
        """How it ended."""
        if self._ended is None:
            self._ended = self._end()
        return self._ended

    @property
    def definition(self) -> Definition:
        """The files of the project that decide what it runs."""
        return self._define()

    @property
    def outcome(self) -> Outcome:
        """What it came to.

        "cut short" where a signal or a time limit ended it before it had a result, "unknown" where
        the line's status is not that of the program, or is not known.
        """
        return self.ended.outcome

    @property
    def why(self) -> str:
        """Why the outcome is not known, or what cut it short; else ""."""
        return self.ended.why

    @property
    def shown(self) -> str | None:
        """The failure that the output shows, whatever the status is; None for none."""
        return self.ended.shown

    @property
    def summary(self) -> Summary | None:
        """The summary that the output holds, None where nobody looked for one."""
        return self.ended.summary

    @property
    def position(self) -> int:
        """The position of its command."""
        return self.command.position


class Attributed(NamedTuple):
    """What is known about one command.

    `may_check` are the kinds of checks that an unknown program in it may have run: it proves none
    and contradicts none, and it puts an earlier failure in doubt. `reads_only`: no program in it
    changes files. `harmless`: all of them only read or print. `other_tree`: it puts other files in
    place, as `git stash` does. `folders` are those in which it starts programs. `only_says`: all of
    them only print what their arguments say, or check nothing. `may_hide`: one of its programs is
    not known, so that it may have run anything. `writes` are the files that it writes.
    """

    runs: tuple[Run, ...]
    may_check: frozenset[str] = frozenset()
    reads_only: bool = True
    harmless: bool = False
    other_tree: bool = False
    folders: tuple[str, ...] = ("",)
    only_says: bool = False
    may_hide: bool = False
    writes: tuple[Written, ...] = ()


def attribute(command: ObservedCommand, known: Known = NOTHING_MORE_KNOWN) -> Attributed:
    """Return the runs of `command` and what else it may have done. Linear in its size.

    The named commands in `known` are without wrappers, as `without_wrapper_words` returns them.
    """
    if not command.ran:
        return Attributed(())

    # None for a line that cannot be read: it then proves nothing, and may have run anything.
    parts = _parts(command)
    if parts is None:
        return Attributed((), _alike(command.line), reads_only=False, may_hide=True)

    runs: list[Run] = []
    unknown: set[str] = set()
    read = _Output(command.output)
    # The status of the line is that of its last program.
    last = name_of(parts[-1].words[0]) if parts else ""
    reads_only, other_tree, may_hide = True, False, False
    harmless = only_says = True
    if len(parts) > _MOST_CHECKED_PARTS:
        # A whole script: each of its programs would be compared with the whole output.
        return Attributed((), _alike(command.line), reads_only=False, may_hide=True)

    # A script is named for the top of the project; elsewhere the same words start another one.
    folders = folders_in(parts)
    if known.named and any(name_of(part.words[0]) in _CHANGE_FOLDER for part in parts):
        known = known._replace(named={})
    for part in parts:
        name = name_of(part.words[0])
        arguments = tuple(word.text for word in part.words[1:])
        started = _Started(command, part, name, arguments, parts, folders, last, read, known)
        found = list(_runs(started))
        # A target whose name says nothing may do anything else as well.
        runs += found or _shown_by_target(started)
        # git is looked at by its subcommand below.
        only_reads = name in _HARMLESS and (name != "env" or not arguments)
        harmless = harmless and (only_reads or name == "git")
        only_says = only_says and (all(run.vacuous for run in found) if found else name in _SAY)
        may_hide = may_hide or not (
            found or checks_nothing(part, command.output, harmless=only_reads)
        )
        if name == "git":
            other_tree = other_tree or git_command(arguments) in _OTHER_TREE
            reads_only = reads_only and git_command(arguments) in _HARMLESS_GIT
        elif found:
            kinds = {kind for run in found for kind in run.kinds}
            unknown |= kinds & {ANY_KIND}
            reads_only = reads_only and not (
                kinds & _WRITING_KINDS or _REWRITE.intersection(arguments)
            )
        elif only_reads:
            reads_only = reads_only and name not in ("sed", "tee", "source", ".", "touch")
        else:
            reads_only = False
            unknown |= _alike(" ".join((name, *arguments)))

    # A shell starts others for `<(…)`, and nothing above looks into them.
    may_hide = may_hide or "<(" in command.line or ">(" in command.line
    # A redirection may write any file.
    reads_only = reads_only and ">" not in command.line

    writes = tuple(written_by(parts, command.line))
    return Attributed(
        tuple(runs),
        frozenset(unknown),
        reads_only,
        harmless,
        other_tree,
        folders,
        only_says=only_says and ">" not in command.line,
        may_hide=may_hide,
        writes=writes,
    )


def without_wrapper_words(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the program of `argv` and its arguments, without `uv run`, `timeout` and the like."""
    known = without_wrappers([ShellWord(argument) for argument in argv])
    if known is None:
        return ()
    # An image may make anything of the same words.
    prefix = known.container.prefix if known.container is not None else ()
    return tuple(word.text for word in (*prefix, *known.words))


def words_in(text: str) -> Iterator[str]:
    """Yield the words of `text` in lower case, parted at everything but letters and digits."""
    word: list[str] = []
    for character in text.lower():
        if character.isalnum() or (character == "-" and word):
            word.append(character)
        elif word:
            yield "".join(word).rstrip("-")
            word.clear()

    if word:
        yield "".join(word).rstrip("-")


def _parts(command: ObservedCommand) -> Sequence[Part] | None:
    if command.argv is None:
        return _parts_of_line(command.line)

    if not command.argv:
        return ()

    words = tuple(ShellWord(argument) for argument in command.argv)
    known = without_wrappers(words)
    if known is None or not known.words:
        return (Part(words, (), proven=False, alone=True),)

    # `bash -c '…'` without a shell around it is the line of that shell all the same.
    if name_of(known.words[0]) in ("bash", "sh", "zsh", "dash", "ksh", "eval"):
        line = " ".join("'" + argument.replace("'", "'\\''") + "'" for argument in command.argv)
        return _parts_of_line(line)
    part = Part(known.words, known.variables, proven=True, alone=True, container=known.container)
    return (part,)


@lru_cache(maxsize=256)
def _parts_of_line(line: str) -> Sequence[Part] | None:
    # Agents repeat the same few lines.
    return parts_of(line)


def _alike(line: str) -> frozenset[str]:
    """Return the kinds that the words of an unknown command suggest."""
    kinds = {
        kind
        for word in words_in(line[:_MOST_CHARACTERS])
        for piece in (word, *word.split("-"))
        if (kind := KIND_WORDS.get(piece) or SCRIPT_WORDS.get(piece)) is not None
    }
    return frozenset(kinds)


_MOST_CHARACTERS = 4096


class _Output:
    """What a line printed, each part of it read once: its summaries, and the commands it shows."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._summaries: dict[tuple[str, str], Summary] = {}
        self._echoed: _Echoed | None = None

    def summary(self, family: str, kind: str) -> Summary:
        key = (family, kind)
        if key not in self._summaries:
            self._summaries[key] = summary_of(self._text, family, kind)
        return self._summaries[key]

    def echoed(self) -> "_Echoed":
        if self._echoed is None:
            self._echoed = _read_echoed(self._text)
        return self._echoed


class _Started(NamedTuple):
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
    output: _Output
    known: Known

    @property
    def others_print(self) -> bool:
        """Whether another program of the line may have printed a result."""
        line = self.command.line
        return any(may_print(part, line) for part in self.parts if part is not self.part)


class _Row(NamedTuple):
    """What one program is: its row in the table, what that rests on, and what defines it.

    `target` is the row of the build tool that runs it, None for none.
    """

    program: CheckProgram
    rests_on: Basis
    defined_by: tuple[str, ...] = ()
    target: ScriptRunner | None = None


def _runs(started: _Started) -> Iterator[Run]:
    """Yield the runs of one program: one for each kind of check that it is."""
    name, arguments = started.name, started.arguments
    container = started.part.container
    words = (*(container.prefix if container is not None else ()), *started.part.words)
    is_named = (
        bool(started.known.named)
        and tuple(word.text for word in words) in started.known.named
        # What a variable or a pattern becomes is not known here.
        and all(word.literal for word in words)
    )
    program = runner_of(name, arguments)
    if program is not None:
        kinds = program.kinds
        # One run of pytest may prove two checks; the share of coverage has a limit of its own.
        if program.family == "pytest" and any(each.startswith("--cov") for each in arguments):
            kinds = (*kinds, "coverage")
        row = _Row(program, "named") if is_named else _row_of_runner(started, program)
    elif is_named:
        kinds = started.known.named[tuple(word.text for word in words)]
        shown = " ".join((name, *arguments))[:_LINE_CHARACTERS]
        row = _Row(CheckProgram(shown, kinds, vacuous=frozenset()), "named")
    elif (script := script_of(name, arguments)) is not None:
        row = _row_of_target(started, *script)
        kinds = row.program.kinds
    else:
        if name in ("echo", "printf"):
            # A text with the counts of a runner, printed by the agent itself.
            summary = summary_of("\n".join(arguments), "", "tests")
            if summary.seen:
                yield Run(started.command, name, arguments, ("tests",), vacuous=True)
        return

    for kind in kinds:
        yield _run_of(started, row, kind)
        if kind == ANY_KIND and row.target is not None:
            yield from _shown_by_target(started)


def _row_of_runner(started: _Started, program: CheckProgram) -> _Row:
    """Return what a known runner rests on: a file of the project of its name may be anything."""
    word, container = started.part.words[0], started.part.container
    if container is not None:
        return _Row(program, "runner" if container.direct else "target", container.defined_by)
    # Where nobody looks for the program, one with a whole path may still be in the project.
    if place := path_in_project(word) or started.known.place_of(word.text):
        return _Row(program, "target", (place,))
    whole = (word.text,) if word.literal and word.text.startswith("/") else ()

    # `python -m pytest` takes a module of the project before the one that is installed.
    module = program.name.partition(" ")[0]
    modules = (f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py")
    searched = ("", *module_folders(started.part)) if ".py" in program.sources else ()
    return _Row(program, "runner", (*whole, *defining_paths(modules, searched)))


def _row_of_target(started: _Started, scripts: ScriptRunner, names: tuple[str, ...]) -> _Row:
    shown = " ".join((started.name, *names))[:_LINE_CHARACTERS]
    kinds = kinds_of_script(scripts, names)
    place = path_in_project(started.part.words[0])
    container = started.part.container
    defined_by = (
        *([place] if place else []),
        *definitions_of(scripts, started.part),
        *(container.defined_by if container is not None else ()),
    )
    program = CheckProgram(shown, kinds, scripts.sources, vacuous=scripts.vacuous)

    return _Row(program, "target", defined_by, scripts)


def _shown_by_target(started: _Started) -> list[Run]:
    """Return what the output of a target shows of whose kind its name says nothing.

    Where the name stands for all kinds, a failure that it shows is one as well.
    """
    found = script_of(started.name, started.arguments) if started.command.output else None
    # `npm install` runs no script at all.
    if found is None or not (found[1] or found[0].names_nothing):
        return []

    row = _row_of_target(started, *found)

    runs = []
    for kind in ("tests", "lint", "typecheck", "format"):
        run = _run_of(started, row, kind)
        # The status may be that of another program of the target: only a summary accuses.
        seen = run.summary is not None and run.summary.seen
        counts = run.outcome != "failed" or run.shown is not None
        if run.outcome == "passed" or (row.program.kinds and seen and counts):
            runs.append(run)

    return runs


def _is_vacuous(started: _Started, row: CheckProgram) -> bool:
    arguments = started.arguments
    return runs_nothing(started.name, arguments, row.vacuous) or (
        bool(row.needs) and not row.needs.intersection(arguments)
    )


def _run_of(started: _Started, row: _Row, kind: str) -> Run:
    return Run(
        started.command,
        row.program.name,
        started.arguments,
        (kind,),
        end=_not_known if kind == ANY_KIND else partial(_end_of, started, row, kind),
        sources=row.program.sources,
        vacuous=_is_vacuous(started, row.program),
        rests_on=row.rests_on,
        define=partial(_definition, started, row),
        at=next(at for at, part in enumerate(started.parts) if part is started.part),
    )


def _definition(started: _Started, row: _Row) -> Definition:
    scripts = started.output.echoed().scripts if row.target is not None else ()
    names = (*row.defined_by, *scripts, *sourced_files(started.parts))
    return Definition(names, started.folders)


class _Echoed(NamedTuple):
    """What the commands that a build tool shows in its output are: kinds, and files they start."""

    kinds: frozenset[str]
    scripts: tuple[str, ...]


def _read_echoed(output: str) -> _Echoed:
    kinds: set[str] = set()
    scripts: dict[str, None] = {}
    for line in echoed_commands(output):
        shown = ObservedCommand(position=0, line=line, status=0)
        parts = _parts(shown) or ()
        scripts.update(dict.fromkeys(script for part in parts for script in started_scripts(part)))
        kinds.update(
            kind
            for run in attribute(shown).runs
            if run.rests_on == "runner" and run.outcome == "passed"
            for kind in run.kinds
        )

    return _Echoed(frozenset(kinds), tuple(scripts))


def _why_no_proof(started: _Started, row: _Row, kind: str) -> str:
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


def _end_of(started: _Started, row: _Row, kind: str) -> Ended:
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
    if _is_vacuous(started, row.program):
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
    status: int, started: _Started, row: CheckProgram, kind: str, summary: Summary
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


def _signal_of(status: int, started: _Started) -> str:
    """Return what ended the program from outside, "" if that is not certain."""
    others = [part for part in started.parts if part is not started.part]
    if any(name_of(each.words[0]) not in _BUILT_IN for each in others):
        return ""
    if status == _TIMED_OUT and "timeout" in started.command.line:
        return "its time limit"
    if status in _INTERRUPTED or not (status < 0 or status in _BY_SIGNAL):
        return ""
    return f"signal {-status if status < 0 else status - _SHELL_SIGNALS}"


def _killed(started: _Started) -> str | None:
    """Return what the shell printed about this program where a signal ended it, None for nothing.

    A shell that is not bash names no program: the word then stands alone on its line.
    """
    for line in started.command.output[-SUMMARY_CHARACTERS:].splitlines():
        found = re.match(_KILLED, line[:_LINE_CHARACTERS].strip())
        if found is not None and (not found[2] or started.name in found[2]):
            return found[1]

    return None
