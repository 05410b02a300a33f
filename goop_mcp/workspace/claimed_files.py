"""Verify claims about files: whether they exist in the project; their content is never read."""

import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from goop_mcp.errors import GoopError, PathRefusedError
from goop_mcp.validation.claims import Claims, FileClaim
from goop_mcp.validation.evidence_rules import (
    EMPTY_FILE,
    FILE_NOT_FOUND,
    FILE_STILL_THERE,
    NOT_CHECKED,
)
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.path_rules import OUTSIDE_SESSION, OUTSIDE_WORKSPACE, TEMPLATE_VARIABLE
from goop_mcp.validation.paths import PathBounds, read_path
from goop_mcp.validation.rules import Problem
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.layout import SESSIONS_FOLDER
from goop_mcp.workspace.paths import is_too_long
from goop_mcp.workspace.repositories import repository_above

__all__ = ["Looked", "check_files", "links_that_lead_out", "path_in_project", "place_in_repository"]

Looked = Callable[[int, int], None]
"""Called with the number of claims checked so far and of all claims; may raise to stop."""

_SHOWN = 60
_MADE = ("created", "modified")
_MAY_BE_EMPTY = frozenset({"__init__.py", "py.typed"})


def check_files(
    claims: Claims,
    files: ProjectFiles,
    *,
    session_ended: bool,
    looked: Looked | None = None,
    until: float | None = None,
) -> tuple[list[Problem], set[str]]:
    """Return the problems of the claims about files, and the places of the claims that hold.

    Promised files are checked once the session has ended. Of several claims about one file the last
    counts. `looked` is called after each claim. Files that were not looked for at `until`, a
    `time.monotonic()`, are not checked; the first of them says so for all.
    """
    # A file that was created and deleted later must be gone, and both claims are true.
    last = {claim.path: claim for claim in claims.files}
    looking = _Looking(files, _folders(claims))
    problems: list[Problem] = []

    for number, claim in enumerate(claims.files, start=1):
        if until is not None and time.monotonic() > until:
            left = len(claims.files) - number
            more = f", nor for {left} more" if left else ""
            problems.append(_not_checked(claim, f"there was no time to look for it{more}"))
            return problems, looking.verified

        problem = (
            looking.problem(claim, session_ended=session_ended)
            if last[claim.path] is claim
            else None
        )
        if problem is not None:
            problems.append(problem)
        if looked is not None:
            looked(number, len(claims.files))

    return problems, looking.verified


def links_that_lead_out(
    claims: Claims, files: ProjectFiles, *, session_folder: str | None = None
) -> list[Problem]:
    """Return a problem for each file to read or write that a link leads out of the project (H-61).

    With `session_folder`, relative to the project, links must stay inside that folder.
    """
    looking = _Looking(files, ())
    problems = []

    for claim in claims.files:
        path = None if claim.reported else looking.inside(claim)
        if path is None:
            continue

        refused = looking.unusable(path) or looking.way_out(path)
        if refused is not None:
            problems.append(_outside(claim, refused))
        elif session_folder is not None and looking.leaves(path, session_folder):
            message = (
                f"path {excerpt(claim.path, _SHOWN)!r} leads out of the session by a link; expected"
                f" a file inside {excerpt(session_folder, _SHOWN)}"
            )
            problems.append(
                OUTSIDE_SESSION.problem(message, path=claim.where, found=excerpt(claim.path))
            )

    return problems


def _folders(claims: Claims) -> tuple[str, ...]:
    """Return the folders that a loose path may be relative to."""
    if not any(claim.loose for claim in claims.files):
        return ()

    parents = [str(PurePosixPath(claim.path).parent) for claim in claims.files if "/" in claim.path]
    session = () if claims.session is None else (f"{SESSIONS_FOLDER}/{claims.session}",)
    return (*session, *dict.fromkeys(parents))


class _Looking:
    """Checks claimed files; each folder is listed once."""

    def __init__(self, files: ProjectFiles, folders: Sequence[str]) -> None:
        self._files = files
        self._folders = folders
        self._bounds = PathBounds(workspace=files.root.as_posix())
        self._names: dict[str, dict[str, str]] = {}
        self._prefix = place_in_repository(files)
        self.verified: set[str] = set()

    def problem(self, claim: FileClaim, *, session_ended: bool) -> Problem | None:
        if claim.reported:
            outside = read_path(claim.path.strip(), where=claim.where, bounds=self._bounds)[1]
            if outside is not None and outside.rule.id == OUTSIDE_WORKSPACE.id:
                return outside

        path = self.inside(claim)
        if path is None:
            return None
        if claim.reported and claim.kind in _MADE and is_too_long(path):
            message = (
                f"file {excerpt(claim.path, _SHOWN)!r} cannot be there: its path is too long for"
                " any system"
            )
            return FILE_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.path))

        if (unusable := self.unusable(path)) is not None:
            return self._of_odd_name(claim, path) if claim.reported else _outside(claim, unusable)
        if (way_out := self.way_out(path)) is not None:
            return _outside(claim, way_out)
        if claim.kind == "optional" or (claim.kind == "promised" and not session_ended):
            return None

        try:
            # A deleted file must have no entry at all, not even a link to nothing. Any other must
            # exist under this spelling, also if the file system ignores case.
            there = next(
                (
                    each
                    for each in self._meanings(path, claim)
                    if (claim.kind == "gone" or self._files.exists(each)) and self._is_listed(each)
                ),
                None,
            )
            problem = (
                self._content_problem(claim, there)
                if there is not None and claim.kind in _MADE
                else self._existence_problem(claim, path, there=there is not None)
            )
        except (GoopError, OSError):
            return _not_checked(claim, "its folder cannot be read")

        if problem is None:
            self.verified.add(claim.where)
        return problem

    def inside(self, claim: FileClaim) -> str | None:
        """Return the path relative to the project, None if it leads out or has a variable.

        Other rules report the latter two.
        """
        path, problem = read_path(claim.path.strip(), where=claim.where, bounds=self._bounds)
        refused = (
            (OUTSIDE_WORKSPACE.id,)
            if claim.reported
            else (OUTSIDE_WORKSPACE.id, TEMPLATE_VARIABLE.id)
        )

        return (
            None if problem is not None and problem.rule.id in refused else path.replace("\\", "/")
        )

    def _of_odd_name(self, claim: FileClaim, path: str) -> Problem:
        """Return the problem of a path that some system cannot hold, although this one may."""
        try:
            there = self._is_listed(path)
        except (GoopError, OSError):
            # What cannot be looked at is not reported as missing.
            there = True

        if claim.kind in _MADE and not there:
            return self._not_found(claim)
        return _not_checked(claim, "no file may have that name")

    def _not_found(
        self, claim: FileClaim, hint: str = "expected it in the project, as the reply says"
    ) -> Problem:
        message = f"file {excerpt(claim.path, _SHOWN)!r} does not exist; {hint}"
        return FILE_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.path))

    def _content_problem(self, claim: FileClaim, path: str) -> Problem | None:
        """Return the problem of an existing path that the reply claims to have written."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if any(part.casefold() == ".git" for part in parts):
            return _no_file(claim, "is git's own")

        kind = self._files.kind(path)
        # A link to a folder and a repository inside the project are single entries for git, and
        # can be created like files.
        entry = self._files.is_link(path) or (parts and self._files.exists(f"{path}/.git"))
        if kind is FileKind.FOLDER and not entry:
            return _no_file(claim, "is a folder")
        if kind is FileKind.OTHER:
            return _no_file(claim, "is a pipe or a device")

        stamp = self._files.stamp(path)
        name = parts[-1] if parts else ""
        if stamp is None or stamp.size or name in _MAY_BE_EMPTY or name.startswith("."):
            return None

        message = (
            f"file {excerpt(claim.path, _SHOWN)!r} is empty; expected what the reply says was"
            " written"
        )

        return EMPTY_FILE.problem(message, path=claim.where, found=excerpt(claim.path))

    def unusable(self, path: str) -> str | None:
        """Return why no system opens a file by this name, None if one could; reads no disk."""
        try:
            self._files.relative(path)
        except GoopError as error:
            return str(error)

        return None

    def way_out(self, path: str) -> str | None:
        """Return why a link in `path` leads out of the project, None if none does."""
        try:
            self._files.resolve(path)
        except PathRefusedError as error:
            return str(error)
        except GoopError:
            return None

        return None

    def leaves(self, path: str, folder: str) -> bool:
        """Whether a link leads `path`, which begins in `folder`, out of it."""
        root = self._files.resolve(folder)
        return path.startswith(f"{folder}/") and self._files.resolve(path)[: len(root)] != root

    def _meanings(self, path: str, claim: FileClaim) -> Iterator[str]:
        """Yield the paths that the claim may mean: without line numbers, in another folder."""
        yield path
        if (without_line := _without_line(path)) != path:
            yield without_line
        if self._prefix and path.startswith(self._prefix):
            yield path.removeprefix(self._prefix)
        if claim.loose:
            for folder in self._folders:
                yield f"{folder}/{path}"

    def _existence_problem(self, claim: FileClaim, path: str, *, there: bool) -> Problem | None:
        shown, found = excerpt(claim.path, _SHOWN), excerpt(claim.path)
        if claim.kind == "gone":
            message = f"file {shown!r} is still there; expected it to be deleted, as the reply says"
            return (
                FILE_STILL_THERE.problem(message, path=claim.where, found=found) if there else None
            )

        if there:
            return None
        if claim.kind == "touched":
            return _not_checked(
                claim, "it is not there, and the reply does not say what was done to it"
            )

        if self._prefix and self._is_elsewhere(path):
            return _not_checked(claim, "it is in another folder of the repository")
        if claim.loose and claim.kind == "present" and "/" not in path:
            return _not_checked(claim, "nothing says in which folder it lies")

        folder, _, name = path.rstrip("/").rpartition("/")
        # macOS and Windows would open the file, and CI on Linux would not find it.
        other = self._listed(folder).get(_plain(name).casefold())
        if other is None:
            return self._not_found(claim)

        other_path = f"{folder}/{other}".lstrip("/")
        return self._not_found(
            claim, f"there is {excerpt(other_path, _SHOWN)!r}, which is spelled otherwise"
        )

    def _is_elsewhere(self, path: str) -> bool:
        """Whether the repository has the file outside of the project, by its path from the top."""
        top = self._files.root.parents[self._prefix.count("/") - 1]
        try:
            return ProjectFiles(top).exists(path)
        except (GoopError, OSError):
            return False

    def _is_listed(self, path: str) -> bool:
        """Whether the folder of `path` has an entry of exactly this name, also a broken link."""
        folder, _, name = path.rstrip("/").rpartition("/")
        return name in ("", ".") or _plain(name) in self._listed(folder)

    def _listed(self, folder: str) -> dict[str, str]:
        """Map the names in `folder`, exact and in lower case, to those on disk; exact ones win."""
        if folder not in self._names:
            names = self._files.names(folder or ".")
            exact = {_plain(name): name for name in names}
            self._names[folder] = {_plain(name).casefold(): name for name in names} | exact

        return self._names[folder]


def place_in_repository(files: ProjectFiles) -> str:
    """Return the path of the project from the top of its repository, with a `/` at the end.

    "" where it is the top itself, or in no repository. Reports may name files by either path.
    """
    top = repository_above(str(files.root))
    place = "." if top is None else files.root.relative_to(top).as_posix()
    return "" if place == "." else f"{place}/"


def path_in_project(claim: FileClaim, files: ProjectFiles) -> str | None:
    """Return the path of the claimed file relative to the project, None if it cannot be one."""
    path, problem = read_path(
        claim.path.strip(), where=claim.where, bounds=PathBounds(workspace=files.root.as_posix())
    )
    if problem is not None and problem.rule.id in (OUTSIDE_WORKSPACE.id, TEMPLATE_VARIABLE.id):
        return None

    try:
        relative = files.relative(path.replace("\\", "/"))
        if files.exists(relative):
            return relative
        if (place := place_in_repository(files)) and relative.startswith(place):
            relative = relative.removeprefix(place)
    except (GoopError, OSError):
        return None

    return _without_line(relative)


def _without_line(path: str) -> str:
    """Return `path` without line numbers after it: src/a.py:12, src/a.py:12-20, src/a.py#L12."""
    bare = path.rstrip("0123456789:-L#")
    tail = path[len(bare) :]
    # The name itself may end with such characters.
    return bare if bare and (tail[:1] == ":" or tail[:2] == "#L") and tail[-1:].isdigit() else path


def _plain(name: str) -> str:
    """Return a name in the form to compare; some file systems decompose accented letters."""
    return unicodedata.normalize("NFC", name)


def _not_checked(claim: FileClaim, why: str) -> Problem:
    message = (
        f"file {excerpt(claim.path, _SHOWN)!r} was not verified: {why}; expected a file of the"
        " project"
    )
    return NOT_CHECKED.problem(message, path=claim.where, found=excerpt(claim.path))


def _outside(claim: FileClaim, why: str) -> Problem:
    return OUTSIDE_WORKSPACE.problem(why, path=claim.where, found=excerpt(claim.path))


def _no_file(claim: FileClaim, what: str) -> Problem:
    shown = excerpt(claim.path, _SHOWN)
    message = f"{shown!r} {what}; expected a file that was {claim.kind}, by its own name"
    return FILE_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.path))
