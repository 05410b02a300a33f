"""Run a command and record it: on which files it ran, and how it ended."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from goop_mcp import recording
from goop_mcp.evidence.recorded_runs import RecordedRun
from goop_mcp.recording.commands import COULD_NOT_START, CommandOutput, RunRequest, run_command
from goop_mcp.recording.tree_digest import digest_work_tree

__all__ = ["record_run"]

_TIMED_OUT: Final = 124
_SIGNALLED: Final = 128


def record_run(
    request: RunRequest,
    *,
    environment: Mapping[str, str],
    version: str,
    passes_on: bool = True,
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[RecordedRun, int]:
    """Run the command of `request`; return its run, without id and MAC, and our exit code.

    The exit code is the command's own; 128 and the number of the signal that ended it, 124 at the
    time limit, 127 if it could not be started. `passes_on` is whether the output is written to our
    own standard output and standard error as well. `meanwhile` is called once the command runs.
    """
    scopes = [request.paths] if request.paths else []
    before = digest_work_tree(request.project, scopes=scopes)

    # Only a run that names a result file loads what reads them.
    marks = [recording.result_files.mark_result_files(path) for path, _ in request.results]
    output = CommandOutput()
    started, clock = time.time(), time.monotonic()
    ended = run_command(request, environment, output, passes_on=passes_on, meanwhile=meanwhile)
    # Two clocks: that of the day may be set while the command runs.
    seconds, stopped = time.monotonic() - clock, time.time()

    # A tree that could not be read before cannot be compared with the one after.
    after = digest_work_tree(request.project, scopes=scopes) if before.digest else before

    described = recording.describing.described
    run = described(request, ended, output, marks, environment)._replace(
        version=version,
        started_at=recording.describing.written_moment(started),
        ended_at=recording.describing.written_moment(stopped),
        seconds=round(seconds, 3),
        # The list of the tree after the run is enough: only runs on one and the same tree prove
        # much.
        before=before._replace(changes=(), changes_whole=not before.changes),
        after=after,
    )
    if ended.not_started:
        return run, COULD_NOT_START
    if ended.timed_out:
        return run, _TIMED_OUT
    return run, ended.status if ended.status >= 0 else _SIGNALLED - ended.status
