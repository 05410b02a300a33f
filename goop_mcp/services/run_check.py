"""Run a check, record it, and say in one line how it ended."""

import os
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import goop_mcp
from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.evidence.recorded_runs import RecordedRun
from goop_mcp.recording.commands import RunRequest
from goop_mcp.recording.recorder import record_run

__all__ = ["CheckRun", "run_check", "summary_line"]

_SHORT: Final = 7
_OUTCOMES: Final = {
    "passed": "passed",
    "failed": "failed",
    "nothing": "executed no test",
    "unfinished": "did not finish",
    "vacuous": "proves nothing",
    "unknown": "shows no result",
}


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
    meanwhile: Callable[[], None] = lambda: None,
) -> CheckRun:
    """Run the command of `request` and keep the run in the project's database.

    `database` and `project_id` are the options of these names, None where one was not given. A run
    that cannot be kept says so, and the exit code is the command's all the same. `passes_on` and
    `meanwhile` as in `record_run`.
    """
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
    )
    try:
        # The command did not have to wait for the database.
        home = services.recorded_runs.project_of_runs(request.project)
        settings = services.recorded_runs.settings_of(
            home, environment, database=database, project_id=project_id
        )
        with services.recorded_runs.opened(settings) as store:
            return CheckRun(services.recorded_runs.keep_run(store, run), code)
    except (GoopError, OSError) as error:
        return CheckRun(run, code, str(error))


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

    if run.tree_moved:
        where = "; files changed while it ran, so it proves neither state"
    elif run.after.digest:
        where = f" on tree {run.after.digest[:_SHORT]}"
    else:
        where = f"; it is bound to no files: {run.after.why}"
    set_ = f"; {', '.join(run.variables)} may have changed what ran" if run.variables else ""
    what = f"{run.name} {_OUTCOMES[run.outcome]}{about}{where}{set_}"
    if ended.problem:
        return f"goop-mcp: NOT recorded: {what}; {ended.problem}"

    return f"goop-mcp: run {run.id} {what}"
