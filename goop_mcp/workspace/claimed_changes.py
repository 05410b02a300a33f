"""Verify claims about changes with git: unchanged files, commits of other work (D-94).

Reads only objects, the index and the stat values of files. A question that git cannot answer never
counts against a reply.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.validation.claims import Claims, FileClaim
from goop_mcp.validation.evidence_rules import (
    COMMIT_ON_NO_BRANCH,
    COMMIT_UNRELATED,
    FILE_NOT_TOUCHED,
    NOT_TOUCHED_AS_FAR_AS_KNOWN,
    ON_NO_BRANCH_AS_FAR_AS_KNOWN,
    UNRELATED_AS_FAR_AS_KNOWN,
)
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workspace.claimed_commits import inner_repositories, is_id
from goop_mcp.workspace.claimed_files import path_in_project, place_in_repository
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.git import GitError, Repository

__all__ = ["NONE_CHANGED", "check_changes"]

_MOST_PATHS = 200
_MOST_CHARACTERS = 32_000
_MOST_COMMITS = 50
_SHOWN = 60
NONE_CHANGED: Final[Mapping[str, tuple[int, int]]] = {}
_ANY_REF = ("--exclude=refs/stash", "--all")


def check_changes(
    claims: Claims,
    files: ProjectFiles,
    *,
    commits: Mapping[str, str],
    base: str | None,
    untrue: bool,
    changed: Mapping[str, tuple[int, int]] = NONE_CHANGED,
    until: float | None = None,
) -> list[Problem]:
    """Return the files and commits that contradict each other or the repository.

    `commits` maps the claimed ids that are in the project's own repository to full ids. `base` is
    the commit at which the task began; None, or an invalid id, means that it is guessed in favour
    of the agent. `untrue` states that some claim about files is false already; commits are not
    compared with these files then. `changed` are the tracked files that had changes without a
    commit at the beginning already: size in bytes and modification time in nanoseconds by path.
    Nothing is asked of git after `until`, a `time.monotonic()`.
    """
    named = {claim.sha.lower() for claim in claims.commits}
    made = {id: full for id, full in commits.items() if id in named}
    if not made and not any(claim.kind == "modified" for claim in claims.files):
        return []
    if len(made) > _MOST_COMMITS:
        return []

    began = base if base is not None and is_id(base) else None

    try:
        changes = _Changes(claims, files, made, began, changed=changed, until=until)
        return list(changes.problems(untrue=untrue))
    except GitError:
        return []


class _Changes:
    """Compares the commits and files of one envelope with the repository."""

    def __init__(
        self,
        claims: Claims,
        files: ProjectFiles,
        commits: Mapping[str, str],
        base: str | None,
        *,
        changed: Mapping[str, tuple[int, int]],
        until: float | None,
    ) -> None:
        self._claims, self._files, self._commits, self._base = claims, files, commits, base
        self._changed_before = changed
        self._repository = Repository(files.root, until=until)
        self._full = tuple(dict.fromkeys(commits.values()))
        self._inner = tuple(inner_repositories(claims, files))
        paths = tuple({path: None for claim in claims.files for path in self._spellings(claim)})
        # All paths go into one call of git or none: a part of them would make the files left out
        # look unchanged.
        fits = len(paths) <= _MOST_PATHS and sum(map(len, paths)) <= _MOST_CHARACTERS
        self._paths = paths if fits else ()

    def problems(self, *, untrue: bool) -> Iterator[Problem]:
        """Yield the problems, commits first. Raises GitError."""
        loose = self._repository.left_out(self._full, of=_ANY_REF) if self._full else frozenset()
        # With repositories inside the project a file may be part of a commit that this repository
        # does not have, so its commits are not compared with the files.
        comparable = bool(self._full and self._paths and not self._inner)
        # The same holds for files in another folder of the repository than the project.
        comparable = comparable and not self._may_be_elsewhere()
        changed = self._repository.touched(self._full, self._paths) if comparable else {}

        # With a guessed base the problems are weaker: other rules with a lower severity.
        known = self._base is not None
        for claim in self._claims.commits:
            full = self._commits.get(claim.sha.lower())
            if full is None:
                continue
            if full in (loose or ()):
                rule = COMMIT_ON_NO_BRANCH if known else ON_NO_BRANCH_AS_FAR_AS_KNOWN
                wrong = "is on no branch; expected one that a branch leads to"
            elif full in changed and not changed[full] and not untrue:
                rule = COMMIT_UNRELATED if known else UNRELATED_AS_FAR_AS_KNOWN
                wrong = (
                    "changes none of the files that the reply names; expected the commit of these"
                    " files"
                )
            else:
                continue

            message = f"commit {excerpt(claim.sha, _SHOWN)!r} {wrong}"
            yield rule.problem(message, path=f"{claim.where}/@sha", found=excerpt(claim.sha))

        modified = [claim for claim in self._claims.files if claim.kind == "modified"]
        if modified and self._paths:
            yield from self._unchanged(
                modified, {path for paths in changed.values() for path in paths}
            )

    def _unchanged(
        self, modified: Sequence[FileClaim], committed: Collection[str]
    ) -> Iterator[Problem]:
        """Yield the files claimed as modified that no commit, no index entry and no stat changed.

        A file is reported only if all sources agree: each of them alone misses some change.
        """
        parents = None if self._base is not None else self._repository.parents()
        begin = self._base if self._base is not None else next(iter(parents or ()), None)
        since: Collection[str] = ()
        if begin is not None:
            since = self._repository.changed(begin, self._paths)
        # A first commit modifies no file; the parents of a shallow clone may only be missing.
        elif parents is None or self._repository.is_shallow():
            return

        stamps = self._repository.stamps(self._paths)
        changed = {*since, *committed, *self._repository.staged(self._paths)}

        for claim in modified:
            path = path_in_project(claim, self._files)
            if path is None or path in changed or path not in stamps:
                continue

            try:
                stamp = self._files.stamp(path)
            except (GoopError, OSError):
                continue
            # A file that others left without a commit differs from the index since then.
            before = self._changed_before.get(path, stamps[path])
            if stamp is None or (stamp.size, stamp.changed_ns) != before:
                continue

            state, rule = "did not change since the task began", FILE_NOT_TOUCHED
            if self._base is None:
                state, rule = "is as it was before the last commit", NOT_TOUCHED_AS_FAR_AS_KNOWN

            shown = excerpt(claim.path, _SHOWN)
            message = f"file {shown!r} {state}; expected a change, as the reply says"
            yield rule.problem(message, path=claim.where, found=excerpt(claim.path))

    def _may_be_elsewhere(self) -> bool:
        """Whether a file of the reply may lie in another folder of the repository."""
        if not place_in_repository(self._files):
            return False
        paths = [path_in_project(claim, self._files) for claim in self._claims.files]
        try:
            return not all(path is not None and self._files.exists(path) for path in paths)
        except (GoopError, OSError):
            return True

    def _spellings(self, claim: FileClaim) -> Iterator[str]:
        """Yield the path of `claim` as written and, if it contains links, as git has it."""
        path = path_in_project(claim, self._files)
        if path is None:
            return

        yield path
        try:
            yield "/".join(self._files.resolve(path)) or "."
        except (GoopError, OSError):
            return
