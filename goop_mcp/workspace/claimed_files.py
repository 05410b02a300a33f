"""Hold the files that an envelope names against those of the project: whether they are there, never what is in them."""

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from goop_mcp.errors import GoopError
from goop_mcp.validation.claims import Claims, FileClaim
from goop_mcp.validation.evidence_rules import FILE_NOT_FOUND, FILE_STILL_THERE, NOT_CHECKED
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.path_rules import OUTSIDE_SESSION, OUTSIDE_WORKSPACE, TEMPLATE_VARIABLE
from goop_mcp.validation.paths import PathBounds, read_path
from goop_mcp.validation.rules import Problem
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import SESSIONS_FOLDER

__all__ = ["Looked", "check_files", "links_that_lead_out"]

Looked = Callable[[int, int], None]
"""Is told how many of how many claims were looked at; may raise to end the look."""

_SHOWN = 60


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
        problem = looking.problem(claim, session_ended=session_ended) if last[claim.path] is claim else None
        if problem is not None:
            problems.append(problem)
        if looked is not None:
            looked(number, len(claims.files))
    return problems


def links_that_lead_out(claims: Claims, files: ProjectFiles, *, session_folder: str | None = None) -> list[Problem]:
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
        elif looking.leads_out(path):
            problems.append(_led_out(claim))
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
        path = self.inside(claim)
        if path is None:
            return _not_checked(claim, "it leads out of the project") if claim.told else None
        if (unusable := self.unusable(path)) is not None:
            return _not_checked(claim, "no file may have that name") if claim.told else _unusable(claim, unusable)
        if self.leads_out(path):
            return _not_checked(claim, "a link takes it out of the project") if claim.told else _led_out(claim)
        if claim.kind == "optional" or (claim.kind == "promised" and not session_ended):
            return None
        try:
            look = self._is_listed if claim.kind == "gone" else self._is_there
            there = any(look(each) for each in self._meanings(path, claim))
        except (GoopError, OSError):
            return _not_checked(claim, "its folder cannot be read")
        return self._compared(claim, path, there=there)

    def inside(self, claim: FileClaim) -> str | None:
        """Return the path relative to the project, None where it leads out or is unfinished: others tell that."""
        path, problem = read_path(claim.path.strip(), where=claim.where, bounds=self._bounds)
        refused = (OUTSIDE_WORKSPACE.id,) if claim.told else (OUTSIDE_WORKSPACE.id, TEMPLATE_VARIABLE.id)
        return None if problem is not None and problem.rule.id in refused else path.replace("\\", "/")

    def unusable(self, path: str) -> str | None:
        """Return why no file is opened by this name on any system, None where one could be; the disk is not asked."""
        try:
            self._files.relative(path)
        except GoopError as error:
            return str(error)
        return None

    def leads_out(self, path: str) -> bool:
        """Return whether a link on the way leads out of the project."""
        try:
            self._files.resolve(path)
        except GoopError:
            return True
        return False

    def leaves(self, path: str, folder: str) -> bool:
        """Return whether `path`, which begins in `folder`, is taken out of it by a link."""
        root = self._files.resolve(folder)
        return path.startswith(f"{folder}/") and self._files.resolve(path)[: len(root)] != root

    def _meanings(self, path: str, claim: FileClaim) -> Iterator[str]:
        yield path
        if claim.loose:
            for folder in self._folders:
                yield f"{folder}/{path}"

    def _compared(self, claim: FileClaim, path: str, *, there: bool) -> Problem | None:
        shown, found = excerpt(claim.path, _SHOWN), excerpt(claim.path)
        if claim.kind == "gone":
            message = f"file {shown!r} is still there; expected it to be deleted, as the reply says"
            return FILE_STILL_THERE.problem(message, path=claim.where, found=found) if there else None
        if there:
            return None
        if claim.kind == "touched":
            return _not_checked(claim, "it is not there, and the reply does not say what was done to it")
        if claim.loose and claim.kind == "present" and "/" not in path:
            return _not_checked(claim, "nothing says in which folder it lies")
        other = self._other_spelling(path)
        hint = f"; there is {excerpt(other, _SHOWN)!r}, which is spelled otherwise" if other is not None else ""
        message = f"file {shown!r} does not exist{hint or '; expected it in the project, as the reply says'}"
        return FILE_NOT_FOUND.problem(message, path=claim.where, found=found)

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


def _plain(name: str) -> str:
    """Return a name as it compares: some file systems take accented letters apart."""
    return unicodedata.normalize("NFC", name)


def _not_checked(claim: FileClaim, why: str) -> Problem:
    message = f"file {excerpt(claim.path, _SHOWN)!r} was not looked for: {why}; expected a file of the project"
    return NOT_CHECKED.problem(message, path=claim.where, found=excerpt(claim.path))


def _unusable(claim: FileClaim, why: str) -> Problem:
    return OUTSIDE_WORKSPACE.problem(why, path=claim.where, found=excerpt(claim.path))


def _led_out(claim: FileClaim) -> Problem:
    message = f"path {excerpt(claim.path, _SHOWN)!r} leads out of the workspace by a link; expected a file inside it"
    return OUTSIDE_WORKSPACE.problem(message, path=claim.where, found=excerpt(claim.path))


def _led_out_of(claim: FileClaim, folder: str) -> Problem:
    shown = excerpt(claim.path, _SHOWN)
    message = f"path {shown!r} leads out of the session by a link; expected a file inside {excerpt(folder, _SHOWN)}"
    return OUTSIDE_SESSION.problem(message, path=claim.where, found=excerpt(claim.path))
