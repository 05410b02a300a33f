"""Which observed command proves which kind of check, and how its run ended."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

from goop_mcp.evidence.activity import ObservedCommand
from goop_mcp.evidence.proofs import (
    NOTHING_MORE_KNOWN,
    Basis,
    Definition,
    Known,
    defining_paths,
    definitions_of,
    echoed_commands,
    folders_in,
    module_folders,
    path_in_project,
    sourced_files,
    started_scripts,
)
from goop_mcp.evidence.run_endings import (
    Echoed,
    Ended,
    Outcome,
    Output,
    ProgramRow,
    StartedPart,
    end_of,
    is_vacuous,
)
from goop_mcp.evidence.runners import (
    ANY_KIND,
    KIND_WORDS,
    SCRIPT_WORDS,
    CheckProgram,
    ScriptRunner,
    kinds_of_script,
    runner_of,
    script_of,
    word_set,
)
from goop_mcp.evidence.shell import Part, parts_of
from goop_mcp.evidence.shell.tree import ShellWord
from goop_mcp.evidence.shell.wrappers import name_of, without_wrappers
from goop_mcp.evidence.shell_writes import Written, gives_text, written_by
from goop_mcp.evidence.summaries import Summary, summary_of
from goop_mcp.evidence.unseen import checks_nothing, git_command, may_run_hooks

__all__ = [
    "Attributed",
    "Run",
    "attribute",
    "without_wrapper_words",
    "words_in",
]

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

_LINE_CHARACTERS = 100
_WRITING_KINDS: Final = frozenset({ANY_KIND, "build", "coverage", "format"})
# With these a checker changes files and then agrees with them.
_REWRITE: Final = word_set("--fix -u --updateSnapshot --update --write -w --snapshot-update")
_MOST_CHECKED_PARTS = 16
_CHANGE_FOLDER: Final = word_set("cd chdir popd pushd")


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
    `runs_hooks`: git runs the hooks that there are, which may print nothing.
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
    runs_hooks: bool = False


def attribute(command: ObservedCommand, known: Known = NOTHING_MORE_KNOWN) -> Attributed:
    """Return the runs of `command` and what else it may have done. Linear in its size.

    The named commands in `known` are without wrappers, as `without_wrapper_words` returns them.
    """
    if not command.ran:
        return Attributed(())

    # None for a line that cannot be read: it then proves nothing, and may have run anything. Of a
    # whole script each program would be compared with the whole output.
    parts = _parts(command)
    if parts is None or len(parts) > _MOST_CHECKED_PARTS:
        return Attributed((), _alike(command.line), reads_only=False, may_hide=True)

    runs: list[Run] = []
    unknown: set[str] = set()
    read = Output(command.output, _read_echoed)
    # The status of the line is that of its last program.
    last = name_of(parts[-1].words[0]) if parts else ""
    reads_only, other_tree, may_hide, runs_hooks = True, False, False, False
    harmless = only_says = True

    # A script is named for the top of the project; elsewhere the same words start another one.
    folders = folders_in(parts)
    if known.named and any(name_of(part.words[0]) in _CHANGE_FOLDER for part in parts):
        known = known._replace(named={})
    for part in parts:
        name = name_of(part.words[0])
        arguments = tuple(word.text for word in part.words[1:])
        started = StartedPart(command, part, name, arguments, parts, folders, last, read, known)
        found = list(_runs(started))
        # A target whose name says nothing may do anything else as well.
        runs += found or _shown_by_target(started)
        # git is looked at by its subcommand below.
        only_reads = name in _HARMLESS and (name != "env" or not arguments)
        harmless = harmless and (only_reads or name == "git")
        only_says = only_says and (all(run.vacuous for run in found) if found else name in _SAY)
        known_as_none = _checks_nothing(part, command.output, harmless=only_reads)
        may_hide = may_hide or not (found or known_as_none)
        if name == "git":
            other_tree = other_tree or git_command(arguments) in _OTHER_TREE
            runs_hooks = runs_hooks or may_run_hooks(arguments)
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
        runs_hooks=runs_hooks,
    )


def _checks_nothing(part: Part, output: str, *, harmless: bool) -> bool:
    # An image may make anything of the words that it is given.
    direct = part.container is None or part.container.direct
    return direct and checks_nothing(part, output, harmless=harmless)


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


def _runs(started: StartedPart) -> Iterator[Run]:
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
        row = ProgramRow(program, "named") if is_named else _row_of_runner(started, program)
    elif is_named:
        kinds = started.known.named[tuple(word.text for word in words)]
        shown = " ".join((name, *arguments))[:_LINE_CHARACTERS]
        row = ProgramRow(CheckProgram(shown, kinds, vacuous=frozenset()), "named")
    elif (script := script_of(name, arguments)) is not None:
        row = _row_of_target(started, *script)
        kinds = row.program.kinds
    else:
        if gives_text(started.part):
            # A text with the counts of a runner, printed by the agent itself; that of a here
            # document is known where nothing else prints.
            of_document = started.command.output if len(started.parts) == 1 else ""
            text = "\n".join(arguments) if name in ("echo", "printf") else of_document
            if summary_of(text, "", "tests").seen:
                yield Run(started.command, name, arguments, ("tests",), vacuous=True)
        return

    for kind in kinds:
        yield _run_of(started, row, kind)
        if kind == ANY_KIND and row.target is not None:
            yield from _shown_by_target(started)


def _row_of_runner(started: StartedPart, program: CheckProgram) -> ProgramRow:
    """Return what a known runner rests on: a file of the project of its name may be anything."""
    word, container = started.part.words[0], started.part.container
    if container is not None:
        return ProgramRow(program, "runner" if container.direct else "target", container.defined_by)
    # Where nobody looks for the program, one with a whole path may still be in the project.
    if place := path_in_project(word) or started.known.place_of(word.text):
        return ProgramRow(program, "target", (place,))
    whole = (word.text,) if word.literal and word.text.startswith("/") else ()

    # `python -m pytest` takes a module of the project before the one that is installed.
    module = program.name.partition(" ")[0]
    modules = (f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py")
    searched = ("", *module_folders(started.part)) if ".py" in program.sources else ()
    return ProgramRow(program, "runner", (*whole, *defining_paths(modules, searched)))


def _row_of_target(
    started: StartedPart, scripts: ScriptRunner, names: tuple[str, ...]
) -> ProgramRow:
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

    return ProgramRow(program, "target", defined_by, scripts)


def _shown_by_target(started: StartedPart) -> list[Run]:
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


def _run_of(started: StartedPart, row: ProgramRow, kind: str) -> Run:
    return Run(
        started.command,
        row.program.name,
        started.arguments,
        (kind,),
        end=_not_known if kind == ANY_KIND else partial(end_of, started, row, kind),
        sources=row.program.sources,
        vacuous=is_vacuous(started, row.program),
        rests_on=row.rests_on,
        define=partial(_definition, started, row),
        at=next(at for at, part in enumerate(started.parts) if part is started.part),
    )


def _definition(started: StartedPart, row: ProgramRow) -> Definition:
    scripts = started.output.echoed().scripts if row.target is not None else ()
    names = (*row.defined_by, *scripts, *sourced_files(started.parts))
    return Definition(names, started.folders)


def _read_echoed(output: str) -> Echoed:
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

    return Echoed(frozenset(kinds), tuple(scripts))
