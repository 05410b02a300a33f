"""Hold the commits that an envelope names against the repository: do they exist, what do they say of themselves."""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from goop_mcp.errors import GoopError
from goop_mcp.validation.claims import Claims, CommitClaim
from goop_mcp.validation.evidence_rules import COMMIT_NOT_FOUND, COMMIT_SUBJECT_DIFFERS, NOT_CHECKED
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.git import CommitLookup, GitError, Repository

__all__ = ["MOST_COMMITS", "check_commits"]

MOST_COMMITS = 500
"""How many commits of one reply are looked up; the rest is told to be unchecked."""

_MOST_INNER = 32
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.+)$", re.MULTILINE)
_ID = re.compile(r"[0-9a-fA-F]{4,40}|[0-9a-fA-F]{64}")
_SHOWN = 60
_ELLIPSES = ("…", "...")


def check_commits(claims: Claims, files: ProjectFiles) -> list[Problem]:
    """Return what is wrong with the claims about commits, looked up in the project's repository and those inside it."""
    if not claims.commits:
        return []
    named = [claim for claim in claims.commits if _ID.fullmatch(claim.sha)]
    problems = [_not_checked([claim], "it is no id of a commit") for claim in claims.commits if claim not in named]
    looked_up, rest = named[:MOST_COMMITS], named[MOST_COMMITS:]
    if rest:
        problems.append(_not_checked(rest, f"only the first {MOST_COMMITS} are"))
    return [*problems, *_looked_up(looked_up, claims, files)] if looked_up else problems


def _looked_up(commits: Sequence[CommitClaim], claims: Claims, files: ProjectFiles) -> list[Problem]:
    ids = tuple(dict.fromkeys(claim.sha.lower() for claim in commits))
    own = Repository(files.root)
    known, doubt = _known(own, ids)
    for folder in _inner_repositories(claims, files) if known.missing else ():
        known = _joined(known, _known(Repository(files.root.joinpath(folder)), sorted(known.missing))[0])
    if known.missing and doubt is None and _is_shallow(own):
        doubt = "older commits were left out of this clone"
    unknown = [claim for claim in commits if doubt is not None and claim.sha.lower() in known.missing]
    problems = [problem for claim in commits if claim not in unknown and (problem := _judged(claim, known)) is not None]
    return [*problems, _not_checked(unknown, doubt)] if unknown and doubt is not None else problems


def _known(repository: Repository, ids: Sequence[str]) -> tuple[CommitLookup, str | None]:
    """Return what the repository knows; where git cannot be asked everything is missing, and the reason is given."""
    try:
        return repository.look_up(ids), None
    except GitError as error:
        return CommitLookup(missing=frozenset(ids)), str(error)


def _is_shallow(repository: Repository) -> bool:
    try:
        return repository.is_shallow()
    except GitError:
        return False


def _joined(known: CommitLookup, inner: CommitLookup) -> CommitLookup:
    """Return `known` with what another repository knows of the ids it misses."""
    return CommitLookup(
        subjects={**known.subjects, **inner.subjects},
        ambiguous=known.ambiguous | inner.ambiguous,
        missing=known.missing & inner.missing,
    )


def _inner_repositories(claims: Claims, files: ProjectFiles) -> Iterable[str]:
    """Yield the folders of repositories inside the project: submodules, and those around the files claimed."""
    candidates = [*_submodules(files), *(str(folder) for claim in claims.files for folder in _parents(claim.path))]
    tried = 0
    for folder in dict.fromkeys(candidates):
        if tried < _MOST_INNER and _is_repository(folder, files):
            tried += 1
            yield folder


def _submodules(files: ProjectFiles) -> list[str]:
    try:
        text = files.read_text(".gitmodules") or ""
    except (GoopError, OSError):
        return []
    return [match[1].strip().strip('"') for match in _SUBMODULE.finditer(text)]


def _parents(path: str) -> Sequence[PurePosixPath]:
    return PurePosixPath(path).parents[:-1]


def _is_repository(folder: str, files: ProjectFiles) -> bool:
    try:
        return files.exists(f"{folder}/.git")
    except (GoopError, OSError):
        return False


def _judged(claim: CommitClaim, known: CommitLookup) -> Problem | None:
    id, shown = claim.sha.lower(), excerpt(claim.sha, _SHOWN)
    where, found = f"{claim.where}/@sha", excerpt(claim.sha)
    if id in known.ambiguous:
        return _not_checked([claim], "more than one begins with these digits")
    if id in known.missing:
        message = f"commit {shown!r} does not exist in this repository; expected the sha of a commit that was made"
        return COMMIT_NOT_FOUND.problem(message, path=where, found=found)
    subject, written = known.subjects[id], _subject(claim.message)
    if subject is None or _same_subject(written, subject):
        return None
    real, said = excerpt(subject, _SHOWN), excerpt(written, _SHOWN)
    message = f"commit {shown!r} is {real!r}; expected {said!r}, as the reply says"
    return COMMIT_SUBJECT_DIFFERS.problem(message, path=claim.where, found=excerpt(written))


def _subject(message: str) -> str:
    return " ".join(message.strip().partition("\n\n")[0].split())


def _same_subject(written: str, subject: str) -> bool:
    """Return whether the two say the same; nothing written, a cut, another case and the first line alone are no lie."""
    said, real = written.casefold().rstrip(". "), " ".join(subject.split()).casefold().rstrip(". ")
    if written.endswith(_ELLIPSES):
        return real.startswith(said.rstrip("…. "))
    return not said or said == real or said.startswith(f"{real} ")


def _not_checked(claims: Sequence[CommitClaim], why: str) -> Problem:
    first = excerpt(claims[0].sha, _SHOWN)
    what = f"commit {first!r} was" if len(claims) == 1 else f"{len(claims)} commits from {first!r} on were"
    message = f"{what} not looked up: {why}; expected a commit of the project's repository"
    return NOT_CHECKED.problem(message, path=f"{claims[0].where}/@sha", found=excerpt(claims[0].sha))
