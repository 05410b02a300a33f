"""A git worktree for one task: made at the commit of the project, removed when nothing is in it.

Programs of several tasks that change files at once would overwrite each other in one folder. The
worktrees stand in the user's state folder and not in the project, where every search of an agent
would find the same files several times.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from goop_mcp.errors import GoopError
from goop_mcp.recording.configured_programs import SETTINGS, read_programs
from goop_mcp.recording.tree_digest import unseen_changes
from goop_mcp.retry.programs import run_program
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.git_process import NO_FETCH, NOTHING_RUNS, git_program

__all__ = ["Worktree", "WorktreeError", "close_worktree", "open_worktree"]

_TIMEOUT = 60.0
# What an outer git, such as one that runs a hook, may have set for its own repository.
_OUTER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

# Seconds between attempts to make a worktree while others are made.
_PAUSES: Final = (0.05, 0.1, 0.2, 0.4)


class WorktreeError(GoopError, OSError):
    """Raised when a worktree cannot be made; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A worktree: its folder, its branch, and the commit `base` (hex) at which it began."""

    project: Path
    folder: Path
    branch: str
    base: str


async def open_worktree(project: Path, home: Path, *, run: str, name: str) -> Worktree:
    """Return the worktree of `name` in `run` below the folder `home`, made if it is not there.

    Its branch is `goop/RUN/NAME`. Raises WorktreeError, for example for a project without a commit,
    and where git would run programs of the repository's own configuration that no person trusts.
    """
    await _refuse_programs(project)
    folder, branch = home / run / name, f"goop/{run}/{name}"
    if not (folder / ".git").exists():
        head = (await _git(project, "rev-parse", "--verify", "HEAD^{commit}")).strip()
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for pause in _PAUSES:
            try:
                await _add_worktree(project, folder, branch, head)
                break
            except WorktreeError as error:
                # Git reads the files of all worktrees, also of one that is just being made for
                # another task, perhaps by another runner: no lock of ours keeps it from that.
                if "commondir" not in str(error):
                    raise
                await anyio.sleep(pause)
        else:
            await _add_worktree(project, folder, branch, head)

    # Where the branch left the project: that of the first call, also after a crash.
    now = (await _git(project, "rev-parse", "HEAD")).strip()
    base = (await _git(folder, "merge-base", "HEAD", now)).strip()

    return Worktree(project=project, folder=folder, branch=branch, base=base)


async def _add_worktree(project: Path, folder: Path, branch: str, head: str) -> None:
    # A folder that was removed by hand is still known to git, and so may its branch be.
    await _git(project, "worktree", "prune")
    known = (await _git(project, "branch", "--list", "--format=%(refname)", branch)).strip()
    made = [str(folder), branch] if known else ["-b", branch, str(folder), head]
    await _git(project, "worktree", "add", *made)


async def close_worktree(worktree: Worktree) -> str | None:
    """Remove the worktree if nothing would be lost; return what is kept as a sentence, or None.

    Files that are not committed keep the folder, commits keep the branch. Ignored files, such as
    those of a build, keep nothing. Raises WorktreeError.
    """
    # The agent may have written the configuration meanwhile.
    await _refuse_programs(worktree.folder)
    # In submodules git would run what their configuration names.
    looking = ("status", "--porcelain", "-z", "--ignore-submodules=dirty")
    changed = (await _git(worktree.folder, *looking)).split("\0")
    count = sum(1 for line in changed if line)
    if count:
        files = "1 file that is" if count == 1 else f"{count} files that are"
        return f"{files} not committed in {worktree.folder} (branch {worktree.branch})"
    if why := await anyio.to_thread.run_sync(unseen_changes, worktree.folder):
        return f"{worktree.folder} (branch {worktree.branch}), in which changes may be: {why}"

    commits = (await _git(worktree.folder, "rev-list", "--count", f"{worktree.base}..HEAD")).strip()
    await _git(worktree.project, "worktree", "remove", "--force", str(worktree.folder))
    if commits != "0":
        return f"{'1 commit' if commits == '1' else f'{commits} commits'} on {worktree.branch}"

    await _git(worktree.project, "branch", "-D", worktree.branch)
    return None


async def _refuse_programs(folder: Path) -> None:
    """Raise WorktreeError if git would run untrusted programs to write or compare files."""
    common = await _git(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    listing = await _git(folder, *SETTINGS)
    if why := read_programs(listing, common.strip(), checks_out=True).refusal():
        raise WorktreeError(why)


async def _git(folder: Path, *words: str) -> str:
    program = git_program()
    if program is None:
        raise WorktreeError("git is not installed; install it")

    environment = {name: value for name, value in os.environ.items() if name not in _OUTER}
    command = (program, *NOTHING_RUNS, "-C", str(folder), *words)
    try:
        with anyio.fail_after(_TIMEOUT):
            done = await run_program(command, environment={**environment, **NO_FETCH})
    except TimeoutError as error:
        raise WorktreeError(f"git {words[0]} took more than {_TIMEOUT:g} s") from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise WorktreeError(f"git cannot be run ({reason}); install it") from error

    if done.exit_code:
        report = done.errors.decode(errors="replace").strip().rpartition("\n")[2]
        hint = ""
        if "promisor remote" in report:
            hint = "; this partial clone lacks files, and nothing is fetched here: fetch them first"
        raise WorktreeError(f"git {words[0]} failed: {excerpt(report, 200)}{hint}")

    return os.fsdecode(bytes(done.output))
