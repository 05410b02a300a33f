"""Run a command and record it: on which files it ran, and how it ended."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from goop_mcp import recording
from goop_mcp.evidence.recorded_runs import RecordedRun
from goop_mcp.recording.commands import COULD_NOT_START, RunRequest, run_command
from goop_mcp.recording.git_calls import Git, asked_git
from goop_mcp.recording.tree_digest import TreeLook

__all__ = ["record_run"]

_TIMED_OUT: Final = 124
_SIGNALLED: Final = 128


def record_run(
    request: RunRequest,
    *,
    environment: Mapping[str, str],
    version: str,
    passes_on: bool = True,
    meanwhile: Callable[[RunRequest], None] = lambda _: None,
    git: Git | None = None,
    trusted: Callable[[], Mapping[str, tuple[str, ...]]] = dict,
) -> tuple[RecordedRun, int]:
    """Run the command of `request`; return its run, without id and MAC, and our exit code.

    The exit code is the command's own; 128 and the number of the signal that ended it, 124 at the
    time limit, 127 if it could not be started. `passes_on` is whether the output is written to our
    own standard output and standard error as well. `meanwhile` is called with `request` once the
    command runs, and must return at once. `git` was asked where the repository of the project is,
    None if nobody asked yet. `trusted` returns the commands that a person trusts, by their checks.
    """
    scopes = [request.paths] if request.paths else []
    folder = str(request.project.resolve())
    if git is None:
        git = asked_git(folder)
    else:
        # It was asked where the process is, which the command may remove.
        git.folder = folder
    with (
        TreeLook(request.project, scopes=scopes, git=git) as look,
        TreeLook(request.project, scopes=scopes, git=git) as later,
    ):
        # Every file is read before the command starts, so that it cannot have changed one. It then
        # runs while git writes the tree of what was read.
        look.read_files()

        # Only a run that names a result file loads what reads them.
        marks = [recording.result_files.mark_result_files(path) for path, _ in request.results]
        started, clock = time.time(), time.monotonic()
        ended = run_command(request, environment, passes_on=passes_on, meanwhile=meanwhile)
        # Two clocks: that of the day may be set while the command runs.
        seconds, stopped = time.monotonic() - clock, time.time()

        # Which files differ from the commit is asked of the tree after the run: only runs on one
        # and the same tree prove much.
        before = look.tree(lists_changes=False)

        # A person waits from here on. So git compares the files with what the command left while
        # the run is described, and the copies of both looks are removed after that.
        if before.digest:
            later.begin()
        described = recording.describing.described(
            request, ended, marks, environment, trusted=trusted()
        )
        # A tree that could not be read before cannot be compared with the one after.
        after = later.tree() if before.digest else before

    run = described._replace(
        version=version,
        started_at=recording.describing.written_moment(started),
        ended_at=recording.describing.written_moment(stopped),
        seconds=round(seconds, 3),
        before=before,
        after=after,
    )
    if ended.not_started:
        return run, COULD_NOT_START
    if ended.timed_out:
        return run, _TIMED_OUT
    return run, ended.status if ended.status >= 0 else _SIGNALLED - ended.status
