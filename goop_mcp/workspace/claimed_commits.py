"""Verify claims about commits: whether they exist, and whether their subjects are those claimed."""

import re
from collections.abc import Iterable, Mapping, Sequence

from goop_mcp.errors import GoopError
from goop_mcp.validation.claims import Claims, CommitClaim
from goop_mcp.validation.evidence_rules import COMMIT_NOT_FOUND, COMMIT_SUBJECT_DIFFERS, NOT_CHECKED
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.rules import Problem
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.git import CommitLookup, GitError, GitTooSlowError, Repository

__all__ = ["MOST_COMMITS", "check_commits", "inner_repositories", "is_id"]

MOST_COMMITS = 500
"""How many commits of one reply are looked up; the rest is reported as not checked."""

_MOST_INNER = 32
_MOST_FOLDERS = 1_000
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.+)$", re.MULTILINE)
_ID = re.compile(r"[0-9a-fA-F]{4,40}|[0-9a-fA-F]{64}")
_SHOWN = 60
_ELLIPSES = ("…", "...")


def check_commits(
    claims: Claims, files: ProjectFiles, *, until: float | None = None
) -> tuple[list[Problem], Mapping[str, str], set[str]]:
    """Return the problems of the claims about commits, and what was found.

    That are the full ids of commits, and the places of the claims whose commits exist.

    Commits are looked up in the project's repository and in repositories inside the project; the
    ids are those of the project's own repository. With `until`, a `time.monotonic()`, commits that
    were not looked up by then are not checked, and subjects are not compared: that takes a second
    process.
    """
    named = [claim for claim in claims.commits if is_id(claim.sha)]
    problems = [
        COMMIT_NOT_FOUND.problem(
            f"{excerpt(claim.sha, _SHOWN)!r} is not a commit sha; expected 4 to 40 hexadecimal"
            " digits, as git printed them",
            path=f"{claim.where}/@sha",
            found=excerpt(claim.sha),
        )
        for claim in claims.commits
        if claim not in named
    ]
    looked_up, rest = named[:MOST_COMMITS], named[MOST_COMMITS:]
    if rest:
        problems.append(_not_checked(rest, f"only the first {MOST_COMMITS} are"))
    if not looked_up:
        return problems, {}, set()

    ids = tuple(dict.fromkeys(claim.sha.lower() for claim in looked_up))
    doubt = None
    try:
        known = Repository(files.root, until=until).look_up(ids, subjects=until is None)
    except GitError as error:
        # All are missing then, and for this reason none of them is reported as false.
        known, doubt = CommitLookup(missing=frozenset(ids)), str(error)

    seen, there = _looked_up(looked_up, known, doubt, claims, files, until=until)
    verified = {claim.where for claim in looked_up if claim.sha.lower() in there}

    return [*problems, *seen], known.full, verified


def is_id(text: str) -> bool:
    """Whether `text` can be the id of a commit, in full or its first digits."""
    return _ID.fullmatch(text) is not None


def inner_repositories(claims: Claims, files: ProjectFiles) -> Iterable[str]:
    """Yield the folders of repositories inside the project, at most 32.

    These are the submodules, and repositories that contain claimed files.
    """
    try:
        modules = files.read_text(".gitmodules") or ""
    except (GoopError, OSError):
        modules = ""

    submodules = [match[1].strip().strip('"') for match in _SUBMODULE.finditer(modules)]
    tried = 0

    for folder in dict.fromkeys([*submodules, *_folders_of(claims, files)]):
        try:
            is_repository = tried < _MOST_INNER and files.exists(f"{folder}/.git")
        except (GoopError, OSError):
            continue

        if is_repository:
            tried += 1
            yield folder


def _looked_up(
    commits: Sequence[CommitClaim],
    known: CommitLookup,
    doubt: str | None,
    claims: Claims,
    files: ProjectFiles,
    *,
    until: float | None,
) -> tuple[list[Problem], frozenset[str]]:
    """Return the problems of `commits` and the ids of those that exist.

    With a `doubt` the missing ones are only not checked.
    """
    for folder in inner_repositories(claims, files) if known.missing else ():
        repository = Repository(files.root.joinpath(folder), files.root, until)
        try:
            inner = repository.look_up(sorted(known.missing), subjects=until is None)
        except GitTooSlowError as error:
            # This repository may have the commits, so that nothing proves them false.
            doubt = str(error)
            continue
        except GitError:
            continue

        # An id that is ambiguous anywhere stays ambiguous, whatever another repository has.
        known = CommitLookup(
            subjects={**known.subjects, **inner.subjects},
            ambiguous=known.ambiguous | inner.ambiguous,
            missing=known.missing & inner.missing,
        )

    if known.missing and doubt is None:
        try:
            if Repository(files.root, until=until).is_shallow():
                doubt = "older commits were left out of this clone"
        except GitError as error:
            doubt = str(error)

    unknown = [
        claim for claim in commits if doubt is not None and claim.sha.lower() in known.missing
    ]
    problems = [
        problem
        for claim in commits
        if claim not in unknown and (problem := _judged(claim, known)) is not None
    ]

    if unknown and doubt is not None:
        problems.append(_not_checked(unknown, doubt))
    return problems, frozenset(known.subjects) - known.ambiguous - known.missing


def _folders_of(claims: Claims, files: ProjectFiles) -> list[str]:
    """Return the existing folders on the paths of the claimed files."""
    found: dict[str, bool] = {}

    for claim in claims.files:
        folder = ""
        # From the project downwards, so that an invented path of a thousand folders costs one look.
        for name in claim.path.split("/")[:-1]:
            folder = f"{folder}/{name}" if folder else name
            if folder not in found:
                if len(found) >= _MOST_FOLDERS:
                    return [each for each, exists in found.items() if exists]

                try:
                    found[folder] = files.kind(folder) is FileKind.FOLDER
                except (GoopError, OSError):
                    found[folder] = False

            if not found[folder]:
                break

    return [folder for folder, exists in found.items() if exists]


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

    subject = known.subjects[id]
    written = " ".join(claim.message.strip().partition("\n\n")[0].split())
    if subject is None or _same_subject(written, subject):
        return None

    real, claimed = excerpt(subject, _SHOWN), excerpt(written, _SHOWN)
    message = f"commit {shown!r} is {real!r}; expected {claimed!r}, as the reply says"

    return COMMIT_SUBJECT_DIFFERS.problem(message, path=claim.where, found=excerpt(written))


def _same_subject(written: str, subject: str) -> bool:
    """Whether `written` matches `subject`.

    An absent or shortened text, another case and text after the first line are accepted: these are
    abbreviations, not false claims.
    """
    claimed = written.casefold().rstrip(". ")
    real = " ".join(subject.split()).casefold().rstrip(". ")
    if written.endswith(_ELLIPSES):
        return real.startswith(claimed.rstrip("…. "))
    return not claimed or claimed == real or claimed.startswith(f"{real} ")


def _not_checked(claims: Sequence[CommitClaim], why: str) -> Problem:
    first = excerpt(claims[0].sha, _SHOWN)
    what = (
        f"commit {first!r} was"
        if len(claims) == 1
        else f"{len(claims)} commits from {first!r} on were"
    )
    message = f"{what} not verified: {why}; expected a commit of the project's repository"

    return NOT_CHECKED.problem(
        message, path=f"{claims[0].where}/@sha", found=excerpt(claims[0].sha)
    )
