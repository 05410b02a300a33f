"""Compare what an envelope says was changed with what git knows: unchanged files, commits of other work (D-94).

Only objects, the index and the stamps of files are looked at. What git cannot answer is never held against a reply.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from goop_mcp.errors import GoopError
from goop_mcp.validation.claims import Claims, CommitClaim, FileClaim
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
from goop_mcp.workspace.claimed_files import path_in_project
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.git import GitError, Repository

__all__ = ["check_changes"]

_MOST_PATHS = 200
_MOST_CHARACTERS = 32_000
_MOST_COMMITS = 50
_SHOWN = 60
_ANY_REF = ("--exclude=refs/stash", "--all")


def check_changes(
    claims: Claims,
    files: ProjectFiles,
    *,
    commits: Mapping[str, str],
    base: str | None,
    untrue: bool,
) -> list[Problem]:
    """Return which files and commits do not fit together, or do not fit to what git knows.

    `commits` maps the claimed ids to the whole ones, of those that are in the project's own
    repository. `base` is the commit at which the task began; None, or no id, leaves it to a guess
    that is in the agent's favour. With `untrue` some claim about files does not hold: what a commit
    has to do with these files is no question of its own then.
    """
    named = {claim.sha.lower() for claim in claims.commits}
    made = {id: full for id, full in commits.items() if id in named}
    if not made and not any(claim.kind == "modified" for claim in claims.files):
        return []
    if len(made) > _MOST_COMMITS:
        return []

    began = base if base is not None and is_id(base) else None

    try:
        return list(_Changes(claims, files, made, began).problems(untrue=untrue))
    except GitError:
        return []


class _Changes:
    """What git knows of the commits and the files of one envelope."""

    def __init__(
        self, claims: Claims, files: ProjectFiles, commits: Mapping[str, str], base: str | None
    ) -> None:
        self._claims, self._files, self._commits, self._base = claims, files, commits, base
        self._repository = Repository(files.root)
        self._full = tuple(dict.fromkeys(commits.values()))
        self._inner = tuple(inner_repositories(claims, files))
        self._paths = _bounded(
            {path: None for claim in claims.files for path in self._spellings(claim)}
        )

    def problems(self, *, untrue: bool) -> Iterator[Problem]:
        """Yield what is wrong, commits first. Raises GitError."""
        loose = self._repository.left_out(self._full, of=_ANY_REF) if self._full else frozenset()
        changed = self._changed_by_commits()

        for claim in self._claims.commits:
            full = self._commits.get(claim.sha.lower())
            if full is None:
                continue
            if full in (loose or ()):
                yield self._on_no_branch(claim)
            elif full in changed and not changed[full] and not untrue:
                yield self._unrelated(claim)

        modified = [claim for claim in self._claims.files if claim.kind == "modified"]
        if modified and self._paths:
            yield from self._unchanged(
                modified, {path for paths in changed.values() for path in paths}
            )

    def _changed_by_commits(self) -> dict[str, set[str]]:
        """Return what each commit changed of the files claimed; {} where files may lie in another repository."""
        if not self._full or not self._paths or self._inner:
            return {}
        return self._repository.touched(self._full, self._paths)

    def _unchanged(
        self, modified: Sequence[FileClaim], committed: Collection[str]
    ) -> Iterator[Problem]:
        since = self._changed_since()
        if since is None:
            return

        stamps = self._repository.stamps(self._paths)
        changed = {*since, *committed, *self._repository.staged(self._paths)}

        for claim in modified:
            path = path_in_project(claim, self._files)
            if path is None or path in changed or path not in stamps:
                continue
            if self._is_as_git_saw_it(path, stamps[path]):
                yield self._not_touched(claim)

    def _changed_since(self) -> Collection[str] | None:
        """Return what changed since the base, or else by the last commit; None where that cannot be known."""
        if self._base is not None:
            return self._repository.changed(self._base, self._paths)

        parents = self._repository.parents()
        if parents is None:
            return None
        if parents:
            return self._repository.changed(parents[0], self._paths)
        return None if self._repository.is_shallow() else ()

    def _is_as_git_saw_it(self, path: str, seen: tuple[int, int]) -> bool:
        try:
            stamp = self._files.stamp(path)
        except (GoopError, OSError):
            return False
        return stamp is not None and (stamp.size, stamp.changed_ns) == seen

    def _spellings(self, claim: FileClaim) -> Iterator[str]:
        """Yield the path of `claim` as it is written and, where links are on the way, as git knows it."""
        path = path_in_project(claim, self._files)
        if path is None:
            return

        yield path
        try:
            yield "/".join(self._files.resolve(path)) or "."
        except (GoopError, OSError):
            return

    def _not_touched(self, claim: FileClaim) -> Problem:
        known, rule = "did not change since the task began", FILE_NOT_TOUCHED
        if self._base is None:
            known, rule = "is as it was before the last commit", NOT_TOUCHED_AS_FAR_AS_KNOWN

        message = (
            f"file {excerpt(claim.path, _SHOWN)!r} {known}; expected a change, as the reply says"
        )
        return rule.problem(message, path=claim.where, found=excerpt(claim.path))

    def _on_no_branch(self, claim: CommitClaim) -> Problem:
        rule = COMMIT_ON_NO_BRANCH if self._base is not None else ON_NO_BRANCH_AS_FAR_AS_KNOWN
        message = (
            f"commit {excerpt(claim.sha, _SHOWN)!r} is on no branch; expected one that a branch"
            " leads to"
        )
        return rule.problem(message, path=f"{claim.where}/@sha", found=excerpt(claim.sha))

    def _unrelated(self, claim: CommitClaim) -> Problem:
        rule = COMMIT_UNRELATED if self._base is not None else UNRELATED_AS_FAR_AS_KNOWN
        message = (
            f"commit {excerpt(claim.sha, _SHOWN)!r} changes none of the files that the reply names;"
            " expected the commit of these files"
        )
        return rule.problem(message, path=f"{claim.where}/@sha", found=excerpt(claim.sha))


def _bounded(paths: Collection[str]) -> tuple[str, ...]:
    """Return `paths` where all of them fit into one call of git, else none: a part of them would accuse wrongly."""
    fits = len(paths) <= _MOST_PATHS and sum(map(len, paths)) <= _MOST_CHARACTERS
    return tuple(paths) if fits else ()
