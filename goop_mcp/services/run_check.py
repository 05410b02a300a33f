"""Run a check, record it, and say in one line how it ended."""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import goop_mcp
from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.evidence.recorded_runs import RecordedRun
from goop_mcp.recording.commands import RESULT_KINDS, RunRequest
from goop_mcp.recording.git_calls import Git
from goop_mcp.recording.recorder import record_run
from goop_mcp.recording.tree_digest import folder_of_project
from goop_mcp.services.run_arguments import RunArguments, named_folder
from goop_mcp.services.trusted_commands import trusted_commands

__all__ = [
    "CheckRun",
    "ProjectFolderError",
    "keep",
    "project_of",
    "run_check",
    "run_command",
    "run_recorded",
    "shown_outcome",
    "summary_line",
]

_SHORT: Final = 7
_OUTCOMES: Final = {
    "passed": "passed",
    "failed": "failed",
    "nothing": "executed no test",
    "unfinished": "did not finish",
    "vacuous": "proves nothing",
    "unproven": "proves nothing",
    "unknown": "shows no result",
}


class ProjectFolderError(GoopError, ValueError):
    """Raised when the named project is not a folder; the text says what to do."""


class CheckRun(NamedTuple):
    """A run that was recorded, or why it could not be; `exit_code` is the command's own."""

    run: RecordedRun
    exit_code: int
    problem: str = ""


def run_check(
    request: RunRequest,
    *,
    database: str | None = None,
    project_id: str | None = None,
    environment: Mapping[str, str] = os.environ,
    passes_on: bool = True,
    meanwhile: Callable[[RunRequest], None] = lambda _: None,
    git: Git | None = None,
) -> CheckRun:
    """Run the command of `request` and keep the run, as `run_command` and `keep` do."""
    ran = run_command(
        request, environment=environment, passes_on=passes_on, meanwhile=meanwhile, git=git
    )
    return keep(
        ran, request.project, database=database, project_id=project_id, environment=environment
    )


def run_command(
    request: RunRequest,
    *,
    environment: Mapping[str, str] = os.environ,
    passes_on: bool = True,
    meanwhile: Callable[[RunRequest], None] = lambda _: None,
    git: Git | None = None,
) -> CheckRun:
    """Run the command of `request`; nothing is kept yet. The options are those of `record_run`."""
    request = request._replace(
        session=environment.get("GOOP_SESSION") or None,
        agent=environment.get("GOOP_AGENT") or None,
        task=environment.get("GOOP_TASK") or None,
    )
    run, code = record_run(
        request,
        environment=environment,
        version=goop_mcp.__version__,
        passes_on=passes_on,
        meanwhile=meanwhile,
        git=git,
        trusted=partial(_trusted_commands, request),
    )
    return CheckRun(run, code)


def keep(
    ran: CheckRun,
    project: Path,
    *,
    database: str | None = None,
    project_id: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> CheckRun:
    """Keep what ran in the database of `project`.

    `database` and `project_id` are the options of these names, None where one was not given. A run
    that cannot be kept says so, and the exit code is the command's all the same.
    """
    try:
        # The command did not have to wait for the database.
        home = services.recorded_runs.project_of_runs(project)
        settings = services.recorded_runs.settings_of(
            home, environment, database=database, project_id=project_id
        )
        with services.recorded_runs.opened(settings) as store:
            return ran._replace(run=services.recorded_runs.keep_run(store, ran.run))
    except (GoopError, OSError) as error:
        return ran._replace(problem=str(error))


def _trusted_commands(request: RunRequest) -> Mapping[str, tuple[str, ...]]:
    """Return the commands that a person trusts, where `request` runs in the project's folder."""
    # In another folder the same words start another program.
    if request.cwd.resolve() != request.project.resolve():
        return {}
    return trusted_commands(request.project)


def shown_outcome(run: RecordedRun) -> str:
    """Return in a few words what `run` shows."""
    return _OUTCOMES[run.outcome]


def summary_line(ended: CheckRun) -> str:
    """Return the line that ends a run: its id, what it shows, and the tree it belongs to."""
    run = ended.run
    counts = run.counts
    parts = [
        f"{number} {word}"
        for number, word in (
            (counts.executed, "run"),
            ((counts.failed or 0) + (counts.errors or 0), "failed"),
            (counts.skipped, "skipped"),
        )
        if number
    ]
    # What a person sees needs no second reason where the counts say it.
    if run.why and run.outcome != "nothing":
        parts.append(run.why)
    about = f" ({', '.join(parts)})" if parts else ""

    if run.tree_moved and run.after.digest:
        where = "; files changed while it ran, so it proves neither state"
    elif run.after.digest:
        where = f" on tree {run.after.digest[:_SHORT]}"
    else:
        where = f"; it is bound to no files: {run.after.why}"
    set_ = f"; {', '.join(run.variables)} may have changed what ran" if run.variables else ""
    what = f"{run.name} {shown_outcome(run)}{about}{where}{set_}"
    if ended.problem:
        return f"goop-mcp: NOT recorded: {what}; {ended.problem}"

    return f"goop-mcp: run {run.id} {what}"


def project_of(named: str | None) -> Path:
    """Return the folder that `named` or the environment names; raise ProjectFolderError."""
    named = named_folder(named)
    if not named:
        return folder_of_project(Path.cwd())
    if not Path(named).is_dir():
        raise ProjectFolderError(f"{named!r} is not a folder; name the project with --project")

    return Path(named)


def run_recorded(
    arguments: RunArguments,
    *,
    meanwhile: Callable[[RunRequest], None] = lambda _: None,
    git: Git | None = None,
) -> int:
    """Run the command and record it; write the last line, and return the exit code of the process.

    `meanwhile` and `git` as in `record_run`.
    Raises GoopError where nothing was run: no such folder, an untrusted file, no such check.
    """
    folder = project_of(arguments.project)
    files = {kind: getattr(arguments, kind) for kind in RESULT_KINDS}
    results = tuple((Path(file).absolute(), kind) for kind, file in files.items() if file)
    if arguments.by_name:
        checks = services.named_checks
        request = checks.request_of(folder, checks.trusted_check(folder, arguments.words[0]))
        request = request._replace(
            timeout=arguments.timeout or request.timeout, results=results or request.results
        )
    else:
        request = RunRequest(
            argv=arguments.words,
            project=folder,
            cwd=Path.cwd(),
            name=(arguments.name or "").strip(),
            timeout=arguments.timeout,
            results=results,
        )

    try:
        ended = run_check(
            request,
            database=arguments.database,
            project_id=arguments.project_id,
            meanwhile=meanwhile,
            git=git,
        )
    except (KeyboardInterrupt, SystemExit):
        # The command may have ended and shown that it passed, while git still read its files.
        sys.stderr.write("goop-mcp: NOT recorded: it was ended by a signal\n")
        raise
    # After the output of the command: both go through the same descriptors.
    sys.stderr.write(f"{summary_line(ended)}\n")
    sys.stderr.flush()

    return ended.exit_code
