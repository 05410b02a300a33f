"""`goop-mcp check`: validate the reply in each file."""

import os
import stat
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import click
from click.core import ParameterSource

from goop_mcp import services
from goop_mcp.cli.completion import file_names
from goop_mcp.cli.options import (
    COLOUR,
    DATABASE,
    PROJECT,
    PROJECT_ID,
    PROTOCOL,
    REPORT,
    RULES,
    WrongCallError,
    completing,
    name_unverified,
    name_weakened,
    opened_workspace,
    project_folder,
    text_of_report,
)
from goop_mcp.cli.rendering.program_formats import (
    render_github,
    render_gitlab,
    render_json,
    render_junit,
    render_sarif,
)
from goop_mcp.cli.rendering.text import SHOWN, Detail, render_text
from goop_mcp.cli.streams import complain, emit, show, standard_input, terminal_width, wants_colour
from goop_mcp.errors import UnknownNameError
from goop_mcp.printing import printed_to_stderr
from goop_mcp.protocols import RULES as BUILT_IN
from goop_mcp.protocols import rules_with
from goop_mcp.services.check_files import FileVerdicts, check_files, files_below
from goop_mcp.services.options_file import (
    CANNOT_BE_LOWERED,
    OptionsFile,
    merged_severities,
    read_options,
    read_severities,
    remarks_on_rules,
)
from goop_mcp.services.project_expectations import expect_of_project
from goop_mcp.services.user_files import STDIN, write_file
from goop_mcp.validation.expectations import Expectations, Profile
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.severities import NO_CHANGES, Severities
from goop_mcp.validation.verdict import REQUIREMENTS, Requirement
from goop_mcp.workflow.agents import KNOWN_AGENTS
from goop_mcp.workflow.phases import PHASES

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from goop_mcp.evidence import AgentActivity
from goop_mcp.workspace.files import ProjectFiles

__all__ = ["check"]

_FOR_PROGRAMS: Final = {
    "json": render_json,
    "sarif": render_sarif,
    "github": render_github,
    "gitlab": render_gitlab,
    "junit": render_junit,
}
_FEW_FILES: Final = 50
"""Up to this many files are done before anybody would look at a progress bar."""
_WATCH_PAUSE: Final = 0.3
"""Seconds between two looks at the files with --watch."""

_Signature: TypeAlias = dict[str, tuple[int, int, int] | None]
"""Time of change, size and number of each file; None for one that does not exist."""
_ValueT = TypeVar("_ValueT")


def _rules_and_families() -> list[str]:
    return [*dict.fromkeys(rule.family for rule in BUILT_IN.values()), *BUILT_IN]


_SELECT: Final = click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    shell_complete=completing(_rules_and_families),
    help="Apply only these rules or families, such as goop_report. Repeat, or separate by commas.",
)
_IGNORE: Final = click.option(
    "--ignore",
    multiple=True,
    metavar="RULES",
    shell_complete=completing(_rules_and_families),
    help="Do not apply these rules or families. What is unreadable or untrue stays an error.",
)


@click.command(short_help="Validate the envelope in each reply.")
@click.argument("files", nargs=-1, metavar="[FILE…|FOLDER…|-]", shell_complete=file_names)
@REPORT
@PROTOCOL
@click.option(
    "--strict/--lenient",
    default=False,
    help="Report every error of form, or repair it (the default).",
)
@_SELECT
@_IGNORE
@click.option(
    "--agent",
    metavar="NAME",
    shell_complete=completing(lambda: sorted(KNOWN_AGENTS)),
    help="The agent that was called, for example goop-executor.",
)
@click.option(
    "--phase",
    metavar="NAME",
    shell_complete=completing(lambda: PHASES["0.x"]),
    help="The current phase, for example execute.",
)
@click.option(
    "--files-changed", is_flag=True, default=None, help="Files were changed: require <artifacts>."
)
@click.option(
    "--memory-saved", is_flag=True, default=None, help="Memory was saved: require <memory>."
)
@click.option(
    "--checks-run", is_flag=True, default=None, help="Checks were run: require <verification>."
)
@click.option(
    "--profile",
    type=click.Choice(["0.x", "v1"]),
    metavar="NAME",
    default="0.x",
    help=(
        "0.x, or v1: five Markdown sections and a phase discuss. A project of GoopSpec 1.x is"
        " always v1."
    ),
)
@click.option("--base", metavar="SHA", help="With --workspace: the commit at which the task began.")
@click.option(
    "--transcript",
    metavar="FILE",
    shell_complete=file_names,
    help="Compare the claims with the agent's session in FILE, of Claude Code, Codex or OpenCode.",
)
@click.option(
    "--require-evidence",
    type=click.Choice(REQUIREMENTS),
    metavar="TIER",
    default="claimed",
    help=(
        "What a check that is reported as passed must rest on once a task is complete: claimed (the"
        " default), readable (observed, where the transcript could be read whole), observed in the"
        " transcript, or recorded in the project (with --workspace)."
    ),
)
@click.option(
    "--symbols",
    is_flag=True,
    help="Name symbols in backticks that are not defined, or stubs, in the file of their claim.",
)
@RULES
@click.option(
    "--workspace/--no-workspace",
    default=False,
    help="Verify what the reply claims about the project: files, commits, tasks, state.",
)
@PROJECT
@DATABASE
@PROJECT_ID
@click.option(
    "--format",
    "format",
    type=click.Choice(["text", *_FOR_PROGRAMS]),
    metavar="FORMAT",
    default="text",
    help=(
        "text (the default), json, sarif (2.1.0), github (annotations), gitlab (code quality) or"
        " junit."
    ),
)
@click.option(
    "--output",
    metavar="FILE",
    shell_complete=file_names,
    help="Write to FILE instead of standard output.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also show infos and files without findings.")
@click.option("-q", "--quiet", is_flag=True, help="Show errors only, without summaries.")
@click.option(
    "--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C is pressed."
)
@COLOUR
@click.pass_context
def check(
    context: click.Context,
    files: tuple[str, ...],
    report: int | None,
    protocol: str,
    *,
    strict: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    agent: str | None,
    phase: str | None,
    files_changed: bool | None,
    memory_saved: bool | None,
    checks_run: bool | None,
    profile: Profile,
    base: str | None,
    transcript: str | None,
    require_evidence: Requirement,
    symbols: bool,
    rules: tuple[Rule, ...],
    workspace: bool,
    project: str | None,
    database: str | None,
    project_id: str | None,
    format: str,
    output: str | None,
    verbose: bool,
    quiet: bool,
    watch: bool,
    colour: str,
) -> int:
    """Validate the envelope in each FILE, in the files of each FOLDER, or in standard input.

    Exit code: 0 accepted, 1 any rejected, 2 a file could not be read, or a usage error. An empty
    file is a reply without an envelope: rejected. In a FOLDER, files that end with .json, .md, .txt
    or .xml are read.
    """
    named = _named(files, report)
    _refuse_contradictions(
        named,
        format=format,
        verbose=verbose,
        quiet=quiet,
        watch=watch,
        recorded=report is not None,
    )
    options = read_options(str(project_folder(project)))
    chosen = _Chosen(context, options)
    severities = _severities(options, select, ignore, rules)
    name_weakened(project_folder(project), base=base)
    expected = Expectations(
        agent=agent,
        phase=phase,
        files_changed=files_changed,
        memory_saved=memory_saved,
        checks_run=checks_run,
        profile=chosen("profile", profile),
        base=base,
        severities=severities,
    )
    given: Mode = "strict" if strict else "lenient"
    mode = chosen("mode", given, parameter="strict")
    require = chosen("require_evidence", require_evidence)
    # As in hooks: the runs are kept in the project, and without it none would ever be found.
    verifies = chosen("workspace", workspace) or require == "recorded"
    if base is not None and verifies:
        wrong = services.check_workspace.wrong_base(base, project_folder(project))
        if wrong is not None:
            raise WrongCallError(f"--base {wrong}")
    protocol = chosen("protocol", protocol)
    detail: Detail = "quiet" if quiet else "verbose" if verbose else "normal"

    texts = None
    if report is not None:
        text = text_of_report(report, project=project, database=database, project_id=project_id)
        texts = {named[0]: text}
    if output is not None:
        _refuse_to_overwrite(output, [*files, *([transcript] if transcript is not None else [])])
    compared = _Compared(transcript) if transcript is not None else None

    def judge() -> FileVerdicts:
        found, unread = files_below(named) if texts is None else (list(named), [])
        opened = opened_workspace(
            project, database=database, project_id=project_id, wanted=verifies
        )
        with opened as application, printed_to_stderr(), _progress_bar(found) as each:
            outcome = check_files(
                each,
                protocol=protocol,
                mode=mode,
                expected=expect_of_project(project_folder(project), expected),
                project=application.settings.project if application else None,
                store=application.store if application else None,
                stdin=standard_input(),
                rules=rules,
                texts=texts,
                evidence=compared.activity_until if compared is not None else None,
                require=require,
            )
        return replace(outcome, unread=(*unread, *outcome.unread))

    code = 0

    def judge_and_present() -> None:
        nonlocal code
        outcome = judge()
        is_good = all(checked.verdict.accepted for checked in outcome.checked)
        # Before anything is shown: whoever sees a verdict and ends --watch gets its code.
        code = 2 if outcome.unread else 0 if is_good else 1
        _write_verdicts(outcome, format=format, output=output, detail=detail, colour=colour)
        # The JSON has a key for it.
        if not quiet and format != "json":
            name_unverified(each.verdict for each in outcome.checked)
        for unread in outcome.unread:
            complain(unread.message)
        if compared is not None:
            compared.print_reasons()
        if symbols:
            files = ProjectFiles(project_folder(project))
            for checked in outcome.checked:
                for doubt in services.claimed_symbols.doubtful_symbols(
                    checked.verdict.envelope, files
                ):
                    complain(f"info: {doubt}")

    # Looked at before the first check: what changes while it runs is checked again.
    known = _signature(named) if watch else {}
    judge_and_present()
    if watch:
        _watch(named, judge_and_present, known=known)

    return code


class _Chosen:
    """The values of options: as given on the command line, else as in the project's options."""

    def __init__(self, context: click.Context, options: OptionsFile) -> None:
        # A typing error here would change what is judged, so nothing is judged before it is fixed.
        if remark := next(iter(options.remarks), None):
            raise WrongCallError(remark)
        self._context, self._table = context, options.table("check")

    def __call__(self, key: str, value: _ValueT, *, parameter: str | None = None) -> _ValueT:
        """Return `value`, or that of `key` in the file if the command line did not give it."""
        source = self._context.get_parameter_source(parameter or key)
        if source is not ParameterSource.DEFAULT:
            return value
        # The reader of the file has checked that the value is one of the option.
        found: _ValueT = self._table.get(key, value)
        return found


def _severities(
    options: OptionsFile,
    select: Sequence[str],
    ignore: Sequence[str],
    rules: Sequence[Rule],
) -> Severities:
    """Return the severities that the project and the command line choose.

    Raises UnknownNameError for a rule that does not exist, and WrongCallError for one whose
    severity cannot be lowered.
    """
    named = _split(select), _split(ignore)
    chosen = read_severities(options)
    if chosen is NO_CHANGES and not any(named):
        return NO_CHANGES

    # Listing every rule loads every protocol, which only those who name rules pay for.
    book = rules_with(rules)
    if remark := next(remarks_on_rules(options, book), None):
        raise WrongCallError(remark)
    families = {rule.family for rule in book.values()}
    for name in (*named[0], *named[1]):
        if name not in book and name not in families:
            raise UnknownNameError("rule or family", name, (*families, *book))
    for name in named[1]:
        if name in book and Severities.is_fixed(name, book[name].lenient):
            raise WrongCallError(f"--ignore {name}: {CANNOT_BE_LOWERED}; leave it out")

    chosen = merged_severities(chosen, select=named[0], source="--select")
    return merged_severities(chosen, ignore=named[1], source="--ignore")


def _split(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an option that may be repeated and may hold several, with commas."""
    return tuple(name.strip() for each in names for name in each.split(",") if name.strip())


class _Compared:
    """The transcript that replies are compared with, and why some could not be.

    Raises what `open_transcript` raises.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._transcript = services.transcripts.open_transcript(file)
        self._not_compared: dict[str, None] = {}

    def activity_until(self, reply: str) -> "AgentActivity":
        """Return what the agent did up to `reply`."""
        activity = self._transcript.activity_until(reply)
        if not activity.complete:
            self._not_compared.setdefault(activity.why_incomplete)
        return activity

    def print_reasons(self) -> None:
        """Print each reason once; with --watch, the next look begins without any."""
        for why in self._not_compared:
            complain(f"a reply was not compared with {self._file!r}: {why}")
        self._not_compared.clear()


def _write_verdicts(
    outcome: FileVerdicts, *, format: str, output: str | None, detail: Detail, colour: str
) -> None:
    """Write the verdicts in `format` to the file `output`, or to stdout if it is None.

    Whatever the format, what is written is kept by others: it holds no secret of the files.
    """
    # Of good files only JSON shows more than that they are good, and nothing has to be loaded.
    if format == "json" or outcome.unread or any(c.verdict.findings for c in outcome.checked):
        outcome = services.shareable_verdicts.shareable_files(
            outcome,
            whole=format == "json",
            lines=format == "text",
            shown=SHOWN[
                detail if format == "text" else "quiet" if format == "junit" else "verbose"
            ],
        )
    if format != "text":
        document = _FOR_PROGRAMS[format](outcome)
    else:
        # A file is as wide as its lines; only a terminal wraps them.
        width = None if output is not None else terminal_width()
        document = render_text(outcome, width=width, detail=detail)

    if output is not None:
        # A lone surrogate becomes its escape, as on standard output.
        plain = click.unstyle(document).encode("utf-8", "backslashreplace").decode()
        write_file(output, [plain], force=True)
    elif format == "text":
        show(document, colour=wants_colour(colour))
    else:
        emit(document)


def _refuse_options(files: Sequence[str]) -> None:
    """Raise WrongCallError for an option after `--`, where each word is the name of a file."""
    options = {name for each in click.get_current_context().command.params for name in each.opts}
    for file in files:
        if file.partition("=")[0] in options and not os.path.lexists(file):
            raise WrongCallError(
                f"there is no file {file!r}; write options before --, where pre-commit has them in"
                " entry and not in args"
            )


def _named(files: tuple[str, ...], report: int | None) -> tuple[str, ...]:
    """Return the names of what is judged; without any, standard input unless it is a terminal."""
    if files and report is not None:
        raise WrongCallError("files and --report are given; name files, or one report")
    if report is not None:
        return (f"report {report}",)
    if files.count(STDIN) > 1:
        raise WrongCallError("standard input (-) is named twice and can be read once")
    if files:
        _refuse_options(files)
        return files
    if sys.stdin is None or sys.stdin.isatty():
        raise WrongCallError("no file is named, and nothing is piped in; name a file or a folder")
    return (STDIN,)


def _refuse_contradictions(
    files: Sequence[str], *, format: str, verbose: bool, quiet: bool, watch: bool, recorded: bool
) -> None:
    if verbose and quiet:
        raise WrongCallError("--verbose and --quiet contradict each other; leave one out")
    if (verbose or quiet) and format != "text":
        option = "--verbose" if verbose else "--quiet"
        raise WrongCallError(f"{option} is for text; --format {format} always has every finding")
    if watch and (STDIN in files or recorded):
        unchanging = "a recorded report" if recorded else "standard input (-)"
        raise WrongCallError(f"{unchanging} does not change; with --watch, name files")


def _refuse_to_overwrite(output: str, inputs: Sequence[str]) -> None:
    """Raise WrongCallError if the file `output` is one of what is judged, by whatever name."""
    try:
        target = Path(output).stat()
    except OSError:
        return
    # A pipe or a terminal may well be both: what is written there replaces nothing.
    if not stat.S_ISREG(target.st_mode):
        return

    for file in files_below(inputs)[0]:
        try:
            is_input = os.path.samestat(target, Path(file).stat())
        except OSError:
            continue
        if is_input:
            raise WrongCallError(
                f"--output {output!r} is a file that is checked and would be lost; name another"
                " file"
            )


def _progress_bar(files: Sequence[str]) -> "ProgressBar[str]":
    """Return the files as an iterable that shows on stderr how many are done, if a person looks."""
    watched = sys.stderr is not None and sys.stderr.isatty() and len(files) > _FEW_FILES
    return click.progressbar(
        files,
        label="checking",
        show_pos=True,
        hidden=not watched,
        file=sys.stderr,
        update_min_steps=len(files) // 100 + 1,
    )


def _watch(files: Sequence[str], check_again: Callable[[], None], *, known: _Signature) -> None:
    """Check whenever a file changes, comes or goes, until Ctrl-C.

    `known` is the state of the files at the first check.
    """
    try:
        while True:
            time.sleep(_WATCH_PAUSE)
            now = _signature(files)
            if now != known:
                known = now
                show(f"\n{time.strftime('%H:%M:%S')} changed, checking again\n")
                check_again()
    except KeyboardInterrupt:
        return


def _signature(files: Sequence[str]) -> _Signature:
    """Return what changes when somebody writes one of `files` or a file of a folder among them."""
    signature: _Signature = {}
    for file in files_below(files)[0]:
        try:
            status = Path(file).stat()
        except OSError:
            # It does not exist yet, or not any more: either is a state that can change.
            signature[file] = None
        else:
            # An editor that saves by renaming gives a new number to a file of the same size.
            signature[file] = (status.st_mtime_ns, status.st_size, status.st_ino)

    return signature
