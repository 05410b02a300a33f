"""Hold the files that an envelope names against those of the project: whether they are there, never what is in them."""

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

__all__ = ["Looked", "check_files", "links_that_lead_out", "path_in_project"]

Looked = Callable[[int, int], None]
"""Is told how many of how many claims were looked at; may raise to end the look."""

_SHOWN = 60
_MADE = ("created", "modified")
_MAY_BE_EMPTY = frozenset({"__init__.py", "py.typed"})


def check_files(
    claims: Claims, files: ProjectFiles, *, session_ended: bool, looked: Looked | None = None
) -> list[Problem]:
    """Return what is wrong with the claims about files; promised ones are looked for once the session has ended.

    A file that is named several times is held against the last thing said of it. `looked` is called after each claim.
    """
    last = {claim.path: claim for claim in claims.files}
    looking = _Looking(files, _folders(claims))
    problems = []

    for number, claim in enumerate(claims.files, start=1):
        problem = (
            looking.problem(claim, session_ended=session_ended)
            if last[claim.path] is claim
            else None
        )
        if problem is not None:
            problems.append(problem)
        if looked is not None:
            looked(number, len(claims.files))

    return problems


def links_that_lead_out(
    claims: Claims, files: ProjectFiles, *, session_folder: str | None = None
) -> list[Problem]:
    """Return a problem for each file that will be read or written and that a link takes out of the project (H-61).

    With `session_folder`, relative to the project, links have to stay inside of it.
    """
    looking = _Looking(files, ())
    problems = []

    for claim in claims.files:
        path = None if claim.told else looking.inside(claim)
        if path is None:
            continue
        if (unusable := looking.unusable(path)) is not None:
            problems.append(_unusable(claim, unusable))
        elif (way_out := looking.way_out(path)) is not None:
            problems.append(_outside(claim, way_out))
        elif session_folder is not None and looking.leaves(path, session_folder):
            problems.append(_led_out_of(claim, session_folder))

    return problems


def _folders(claims: Claims) -> tuple[str, ...]:
    """Return the folders that a loose path may start in."""
    if not any(claim.loose for claim in claims.files):
        return ()

    parents = [str(PurePosixPath(claim.path).parent) for claim in claims.files if "/" in claim.path]
    session = () if claims.session is None else (f"{SESSIONS_FOLDER}/{claims.session}",)
    return (*session, *dict.fromkeys(parents))


class _Looking:
    """Looks for claimed files; each folder is listed once."""

    def __init__(self, files: ProjectFiles, folders: Sequence[str]) -> None:
        self._files = files
        self._folders = folders
        self._bounds = PathBounds(workspace=files.root.as_posix())
        self._names: dict[str, dict[str, str]] = {}

    def problem(self, claim: FileClaim, *, session_ended: bool) -> Problem | None:
        if claim.told and (outside := _leaves_project(claim, self._bounds)) is not None:
            return outside

        path = self.inside(claim)
        if path is None:
            return None
        if claim.told and claim.kind in _MADE and is_too_long(path):
            message = (
                f"file {excerpt(claim.path, _SHOWN)!r} cannot be there: its path is too long for"
                " any system"
            )
            return FILE_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.path))

        if (unusable := self.unusable(path)) is not None:
            return self._of_odd_name(claim, path) if claim.told else _unusable(claim, unusable)
        if (way_out := self.way_out(path)) is not None:
            return _outside(claim, way_out)
        if claim.kind == "optional" or (claim.kind == "promised" and not session_ended):
            return None

        try:
            look = self._is_listed if claim.kind == "gone" else self._is_there
            there = next((each for each in self._meanings(path, claim) if look(each)), None)
            if there is not None and claim.kind in _MADE:
                return self._no_file_of_its_own(claim, there)
        except (GoopError, OSError):
            return _not_checked(claim, "its folder cannot be read")

        return self._compared(claim, path, there=there is not None)

    def inside(self, claim: FileClaim) -> str | None:
        """Return the path relative to the project, None where it leads out or is unfinished: others report that."""
        path, problem = read_path(claim.path.strip(), where=claim.where, bounds=self._bounds)
        refused = (
            (OUTSIDE_WORKSPACE.id,) if claim.told else (OUTSIDE_WORKSPACE.id, TEMPLATE_VARIABLE.id)
        )

        return (
            None if problem is not None and problem.rule.id in refused else path.replace("\\", "/")
        )

    def _of_odd_name(self, claim: FileClaim, path: str) -> Problem:
        """Return what is wrong with a path that some system cannot hold; here there may be such a file all the same."""
        try:
            there = self._is_listed(path)
        except (GoopError, OSError):
            there = True

        if claim.kind in _MADE and not there:
            return self._not_found(claim)
        return _not_checked(claim, "no file may have that name")

    def _not_found(
        self, claim: FileClaim, hint: str = "expected it in the project, as the reply says"
    ) -> Problem:
        message = f"file {excerpt(claim.path, _SHOWN)!r} does not exist; {hint}"
        return FILE_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.path))

    def _no_file_of_its_own(self, claim: FileClaim, path: str) -> Problem | None:
        """Return what is wrong with a file that is there and that the reply says was written."""
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if any(part.casefold() == ".git" for part in parts):
            return _no_file(claim, "is git's own")

        kind = self._files.kind(path)
        # What git keeps as one entry, a link to a folder or a repository of its own, can be created
        # like a file.
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
        """Return why no file is opened by this name on any system, None where one could be; the disk is not asked."""
        try:
            self._files.relative(path)
        except GoopError as error:
            return str(error)

        return None

    def way_out(self, path: str) -> str | None:
        """Return why a link on the way cannot be followed inside the project, None where it can."""
        try:
            self._files.resolve(path)
        except PathRefusedError as error:
            return str(error)
        except GoopError:
            return None

        return None

    def leaves(self, path: str, folder: str) -> bool:
        """Return whether `path`, which begins in `folder`, is taken out of it by a link."""
        root = self._files.resolve(folder)
        return path.startswith(f"{folder}/") and self._files.resolve(path)[: len(root)] != root

    def _meanings(self, path: str, claim: FileClaim) -> Iterator[str]:
        yield path
        if (without_line := _without_line(path)) != path:
            yield without_line
        if claim.loose:
            for folder in self._folders:
                yield f"{folder}/{path}"

    def _compared(self, claim: FileClaim, path: str, *, there: bool) -> Problem | None:
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

        if claim.loose and claim.kind == "present" and "/" not in path:
            return _not_checked(claim, "nothing says in which folder it lies")

        other = self._other_spelling(path)
        if other is None:
            return self._not_found(claim)
        return self._not_found(
            claim, f"there is {excerpt(other, _SHOWN)!r}, which is spelled otherwise"
        )

    def _is_there(self, path: str) -> bool:
        """Return whether `path` is there in exactly this spelling, also where the file system takes any case."""
        return self._files.exists(path) and self._is_listed(path)

    def _is_listed(self, path: str) -> bool:
        """Return whether its folder holds an entry of this name, be it a link to nothing."""
        folder, _, name = path.rstrip("/").rpartition("/")
        return name in ("", ".") or _plain(name) in self._listed(folder)

    def _listed(self, folder: str) -> dict[str, str]:
        """Return the names in `folder` as they are, by themselves and without case; the exact one wins."""
        if folder not in self._names:
            names = self._files.names(folder or ".")
            exact = {_plain(name): name for name in names}
            self._names[folder] = {_plain(name).casefold(): name for name in names} | exact

        return self._names[folder]

    def _other_spelling(self, path: str) -> str | None:
        folder, _, name = path.rstrip("/").rpartition("/")
        other = self._listed(folder).get(_plain(name).casefold())
        return None if other is None else f"{folder}/{other}".lstrip("/")


def path_in_project(claim: FileClaim, files: ProjectFiles) -> str | None:
    """Return the file that `claim` means by its path relative to the project, None where that cannot be one."""
    path, problem = read_path(
        claim.path.strip(), where=claim.where, bounds=PathBounds(workspace=files.root.as_posix())
    )
    if problem is not None and problem.rule.id in (OUTSIDE_WORKSPACE.id, TEMPLATE_VARIABLE.id):
        return None

    try:
        relative = files.relative(path.replace("\\", "/"))
        if files.exists(relative):
            return relative
    except (GoopError, OSError):
        return None

    return _without_line(relative)


def _without_line(path: str) -> str:
    """Return `path` without the lines that are named behind it: src/a.py:12, src/a.py:12-20, src/a.py#L12."""
    bare = path.rstrip("0123456789:-L#")
    tail = path[len(bare) :]
    # A name may end with such signs itself.
    return bare if bare and (tail[:1] == ":" or tail[:2] == "#L") and tail[-1:].isdigit() else path


def _plain(name: str) -> str:
    """Return a name as it compares: some file systems take accented letters apart."""
    return unicodedata.normalize("NFC", name)


def _not_checked(claim: FileClaim, why: str) -> Problem:
    message = (
        f"file {excerpt(claim.path, _SHOWN)!r} was not looked for: {why}; expected a file of the"
        " project"
    )
    return NOT_CHECKED.problem(message, path=claim.where, found=excerpt(claim.path))


def _unusable(claim: FileClaim, why: str) -> Problem:
    return OUTSIDE_WORKSPACE.problem(why, path=claim.where, found=excerpt(claim.path))


def _outside(claim: FileClaim, why: str) -> Problem:
    return OUTSIDE_WORKSPACE.problem(why, path=claim.where, found=excerpt(claim.path))


def _leaves_project(claim: FileClaim, bounds: PathBounds) -> Problem | None:
    """Return what is wrong with a path that leads out of the project by its text."""
    problem = read_path(claim.path.strip(), where=claim.where, bounds=bounds)[1]
    return problem if problem is not None and problem.rule.id == OUTSIDE_WORKSPACE.id else None


def _no_file(claim: FileClaim, what: str) -> Problem:
    shown = excerpt(claim.path, _SHOWN)
    message = f"{shown!r} {what}; expected a file that was {claim.kind}, by its own name"
    return FILE_NOT_FOUND.problem(message, path=claim.where, found=excerpt(claim.path))


def _led_out_of(claim: FileClaim, folder: str) -> Problem:
    shown = excerpt(claim.path, _SHOWN)
    message = (
        f"path {shown!r} leads out of the session by a link; expected a file inside"
        f" {excerpt(folder, _SHOWN)}"
    )
    return OUTSIDE_SESSION.problem(message, path=claim.where, found=excerpt(claim.path))
