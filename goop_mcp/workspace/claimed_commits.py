"""Hold the commits that an envelope names against the repository: do they exist, what do they say of themselves."""

import re
from collections.abc import Iterable, Mapping, Sequence

from goop_mcp.errors import GoopError
from goop_mcp.validation.claims import Claims, CommitClaim
from goop_mcp.validation.evidence_rules import COMMIT_NOT_FOUND, COMMIT_SUBJECT_DIFFERS, NOT_CHECKED
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.git import CommitLookup, GitError, Repository

__all__ = ["MOST_COMMITS", "check_commits", "inner_repositories", "is_id"]

MOST_COMMITS = 500
"""How many commits of one reply are looked up; the rest is told to be unchecked."""

_MOST_INNER = 32
_MOST_FOLDERS = 1_000
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.+)$", re.MULTILINE)
_ID = re.compile(r"[0-9a-fA-F]{4,40}|[0-9a-fA-F]{64}")
_SHOWN = 60
_ELLIPSES = ("…", "...")


def check_commits(claims: Claims, files: ProjectFiles) -> tuple[list[Problem], Mapping[str, str]]:
    """Return what is wrong with the claims about commits, and the whole ids of those in the project's own repository.

    They are looked up there and in the repositories inside it.
    """
    named = [claim for claim in claims.commits if is_id(claim.sha)]
    problems = [_no_id(claim) for claim in claims.commits if claim not in named]
    looked_up, rest = named[:MOST_COMMITS], named[MOST_COMMITS:]
    if rest:
        problems.append(_not_checked(rest, f"only the first {MOST_COMMITS} are"))
    if not looked_up:
        return problems, {}

    ids = tuple(dict.fromkeys(claim.sha.lower() for claim in looked_up))
    known, doubt = _known(Repository(files.root), ids)

    return [*problems, *_looked_up(looked_up, known, doubt, claims, files)], known.full


def is_id(text: str) -> bool:
    """Return whether `text` can be the id of a commit, whole or its first digits."""
    return _ID.fullmatch(text) is not None


def inner_repositories(claims: Claims, files: ProjectFiles) -> Iterable[str]:
    """Yield the folders of repositories inside the project: submodules, and those around the files claimed."""
    tried = 0
    for folder in dict.fromkeys([*_submodules(files), *_folders_of(claims, files)]):
        if tried < _MOST_INNER and _is_repository(folder, files):
            tried += 1
            yield folder


def _looked_up(
    commits: Sequence[CommitClaim],
    known: CommitLookup,
    doubt: str | None,
    claims: Claims,
    files: ProjectFiles,
) -> list[Problem]:
    own = Repository(files.root)
    for folder in inner_repositories(claims, files) if known.missing else ():
        inner = Repository(files.root.joinpath(folder), files.root)
        known = _joined(known, _known(inner, sorted(known.missing))[0])

    if known.missing and doubt is None and _is_shallow(own):
        doubt = "older commits were left out of this clone"

    unknown = [
        claim for claim in commits if doubt is not None and claim.sha.lower() in known.missing
    ]
    problems = [
        problem
        for claim in commits
        if claim not in unknown and (problem := _judged(claim, known)) is not None
    ]

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


def _submodules(files: ProjectFiles) -> list[str]:
    try:
        text = files.read_text(".gitmodules") or ""
    except (GoopError, OSError):
        return []
    return [match[1].strip().strip('"') for match in _SUBMODULE.finditer(text)]


def _folders_of(claims: Claims, files: ProjectFiles) -> list[str]:
    """Return the folders that lead to the claimed files, as far as they are there.

    From the project downwards, so that a made-up path of a thousand folders costs one look.
    """
    found: dict[str, bool] = {}
    for claim in claims.files:
        folder = ""
        for name in claim.path.split("/")[:-1]:
            folder = f"{folder}/{name}" if folder else name
            if folder not in found:
                if len(found) >= _MOST_FOLDERS:
                    return [each for each, is_there in found.items() if is_there]

                found[folder] = _is_folder(folder, files)

            if not found[folder]:
                break

    return [folder for folder, is_there in found.items() if is_there]


def _is_folder(folder: str, files: ProjectFiles) -> bool:
    try:
        return files.kind(folder) is FileKind.FOLDER
    except (GoopError, OSError):
        return False


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
        message = (
            f"commit {shown!r} does not exist in this repository; expected the sha of a commit that"
            " was made"
        )
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


def _no_id(claim: CommitClaim) -> Problem:
    shown = excerpt(claim.sha, _SHOWN)
    message = (
        f"{shown!r} is no sha of a commit; expected 4 to 40 hexadecimal digits, as git printed them"
    )
    return COMMIT_NOT_FOUND.problem(message, path=f"{claim.where}/@sha", found=excerpt(claim.sha))


def _not_checked(claims: Sequence[CommitClaim], why: str) -> Problem:
    first = excerpt(claims[0].sha, _SHOWN)
    what = (
        f"commit {first!r} was"
        if len(claims) == 1
        else f"{len(claims)} commits from {first!r} on were"
    )
    message = f"{what} not looked up: {why}; expected a commit of the project's repository"

    return NOT_CHECKED.problem(
        message, path=f"{claims[0].where}/@sha", found=excerpt(claims[0].sha)
    )
