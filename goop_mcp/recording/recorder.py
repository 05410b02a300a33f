"""Run a command and record it: on which files it ran, and how it ended."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from goop_mcp import recording
from goop_mcp.evidence.recorded_runs import RecordedRun, WorkTree
from goop_mcp.recording.commands import COULD_NOT_START, CommandOutput, RunRequest, run_command
from goop_mcp.recording.tree_digest import digest_work_tree

__all__ = ["record_run"]

_TIMED_OUT: Final = 124
_SIGNALLED: Final = 128


def record_run(
    request: RunRequest, *, environment: Mapping[str, str], version: str, passes_on: bool = True
) -> tuple[RecordedRun, int]:
    """Run the command of `request`; return its run, without id and MAC, and our exit code.

    The exit code is the command's own; 128 and the number of the signal that ended it, 124 at the
    time limit, 127 if it could not be started. `passes_on` is whether the output is written to our
    own standard output and standard error as well.
    """
    scopes = [request.paths] if request.paths else []
    before = digest_work_tree(request.project, scopes=scopes)

    # Only a run that names a result file loads what reads them.
    marks = [recording.result_files.mark_result_files(path) for path, _ in request.results]
    output = CommandOutput()
    started, clock = datetime.now(UTC), time.monotonic()
    ended = run_command(request, environment, output, passes_on=passes_on)
    seconds = time.monotonic() - clock
    stopped = datetime.now(UTC)

    # A tree that could not be read before cannot be compared with the one after.
    after = digest_work_tree(request.project, scopes=scopes) if before.digest else before

    described = recording.describing.described
    run = described(request, ended, output, marks, environment)._replace(
        version=version,
        started_at=_written(started),
        ended_at=_written(stopped),
        seconds=round(seconds, 3),
        before=_bounded(before),
        after=after,
    )
    if ended.not_started:
        return run, COULD_NOT_START
    if ended.timed_out:
        return run, _TIMED_OUT
    return run, ended.status if ended.status >= 0 else _SIGNALLED - ended.status


def _bounded(tree: WorkTree) -> WorkTree:
    # The list of the tree after the run is enough: only runs on one and the same tree prove much.
    return tree._replace(changes=(), changes_whole=not tree.changes)


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
