"""Where a path leads, told from its text alone: nothing is opened, resolved or asked of a file system.

Paths are relative to the workspace. Whatever could lead out of it in any spelling is refused (RELIABILITY, section 5):
what only a file system can tell, such as links, is not seen here.
"""

import re
import unicodedata
from dataclasses import dataclass

from goop_mcp.validation.escaping import visible
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.path_rules import (
    ABSOLUTE,
    OUTSIDE_SESSION,
    OUTSIDE_WORKSPACE,
    TEMPLATE_VARIABLE,
    VARIABLE_LEFT,
)
from goop_mcp.validation.rules import Problem

__all__ = ["ANYWHERE_INSIDE", "PathBounds", "bounds_of", "path_problem", "read_path"]

_PLAIN = re.compile(r"(?!/)(?:(?!\.\.?(?:/|\Z))[A-Za-z0-9_.\-]++/?)+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_VARIABLE = re.compile(r"\{[^{}/]*\}|<[^<>/]*>|\A\$[A-Z_]+(?=[/\\]|\Z)|\A%[A-Z_]+%")
_SESSION = re.compile(r"\{session[-_]?id\}|<session[-_]?id>", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_SLASHES = str.maketrans({"\\": "/", "\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2216": "/"})
_TIMES_DECODED = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PathBounds:
    """What paths are held against. All are texts; None means that the caller does not know.

    `workspace` is the absolute path of the project folder: an absolute path inside it is made
    relative. Paths have to stay inside `session_folder`, relative to the workspace, where it is
    given. `session_id` takes the place of a `{session-id}` that was left in. With `final` the path
    is about to be used, and any other variable is an error.
    """

    workspace: str | None = None
    session_folder: str | None = None
    session_id: str | None = None
    final: bool = False


ANYWHERE_INSIDE = PathBounds()
"""Anywhere inside a workspace whose place is not known."""


def bounds_of(expected: Expectations) -> PathBounds:
    """Return what `expected` says about paths."""
    if expected is NOTHING_EXPECTED:
        return ANYWHERE_INSIDE

    bounds = PathBounds(
        workspace=expected.workspace,
        session_folder=expected.session_folder,
        session_id=expected.session_id,
        final=expected.files_checked,
    )
    return ANYWHERE_INSIDE if bounds == ANYWHERE_INSIDE else bounds


def path_problem(path: str, *, where: str, bounds: PathBounds = ANYWHERE_INSIDE) -> Problem | None:
    """Return what is wrong with `path`, None when it stays inside; `where` is its XPath or JSON pointer."""
    return read_path(path, where=where, bounds=bounds)[1]


def read_path(
    path: str, *, where: str, bounds: PathBounds = ANYWHERE_INSIDE
) -> tuple[str, Problem | None]:
    """Return `path` as it is meant, relative to the workspace, and what is wrong with it.

    One problem at most: what leads out comes before what is unfinished. A blank path is nobody's
    business here. Takes time linear to the length of `path`.
    """
    if (bounds is ANYWHERE_INSIDE and _PLAIN.fullmatch(path)) or not path.strip():
        return path, None

    filled = (
        path
        if bounds.session_id is None
        else _SESSION.sub(bounds.session_id.replace("\\", r"\\"), path)
    )
    relative = _made_relative(filled, bounds.workspace)
    if (way := _way_out(relative)) is not None:
        return path, _outside(path, way, where)
    if (variable := _VARIABLE.search(relative)) is not None:
        return relative, _variable_left(path, variable[0], where, final=bounds.final)
    if bounds.session_folder is not None and not _inside(relative, bounds.session_folder):
        return relative, _outside_session(path, bounds.session_folder, where)
    if filled != path:
        return relative, _variable_filled(path, relative, where)
    return relative, None if relative == filled else _absolute(path, relative, where)


def _way_out(path: str) -> str | None:
    """Return how `path` leaves the folder it is relative to, None when it stays inside."""
    if _CONTROL.search(path):
        return "it holds a control character"

    for spelling in _spellings(path):
        if spelling.startswith("/"):
            return "it is absolute"
        if _CONTROL.search(spelling):
            return "it holds an encoded control character"
        if spelling.startswith("~"):
            return "it begins at a home folder"
        if _DRIVE.match(spelling):
            return "it begins at a drive"
        if _SCHEME.match(spelling):
            return "it is an address"
        if any(part.replace(" ", "") == ".." for part in spelling.split("/")):
            return "it goes up with '..'"

    return None


def _spellings(path: str) -> list[str]:
    """Return `path` with one kind of slash, as it stands and as others may decode it."""
    plain = path if path.isascii() else unicodedata.normalize("NFKC", visible(path))
    spellings = [plain.strip().translate(_SLASHES)]
    for _ in range(_TIMES_DECODED):
        if "%" in spellings[-1]:
            spellings.append(_ENCODED.sub(_character, spellings[-1]).translate(_SLASHES))

    return spellings


def _character(code: re.Match[str]) -> str:
    return chr(int(code[1], 16))


def _made_relative(path: str, workspace: str | None) -> str:
    """Return an absolute path inside `workspace` as a relative one, any other path as it is."""
    if workspace is None or not (path.startswith(("/", "\\")) or _DRIVE.match(path)):
        return path

    root, parts = _parts(workspace), _parts(path)
    if _anchor(workspace) != _anchor(path) or not root or parts[: len(root)] != root:
        return path

    trailing = "/" if path.endswith("/") and len(parts) > len(root) else ""

    return "/".join(parts[len(root) :]) + trailing or "."


def _parts(path: str) -> list[str]:
    """Return the names in `path`; those on a drive count without case, and the drive itself is one."""
    parts = [part for part in path.translate(_SLASHES).split("/") if part not in ("", ".")]
    return [parts[0].lower(), *parts[1:]] if parts and _DRIVE.match(parts[0]) else parts


def _anchor(path: str) -> str:
    """Return what makes `path` absolute: a drive, a share or the root."""
    slashes = path.translate(_SLASHES)
    return "drive" if _DRIVE.match(path) else "share" if slashes.startswith("//") else slashes[:1]


def _inside(path: str, folder: str) -> bool:
    parts, root = _parts(path), _parts(folder)
    return parts[: len(root)] == root and len(parts) > len(root)


def _outside(path: str, way: str, where: str) -> Problem:
    message = (
        f"path {excerpt(path, 60)!r} leads out of the workspace: {way}; expected a path relative to"
        " the project"
    )
    return OUTSIDE_WORKSPACE.problem(message, path=where, found=excerpt(path))


def _outside_session(path: str, folder: str, where: str) -> Problem:
    message = (
        f"path {excerpt(path, 60)!r} lies outside of the session; expected one below"
        f" {excerpt(folder, 60)!r}"
    )
    return OUTSIDE_SESSION.problem(message, path=where, found=excerpt(path))


def _absolute(path: str, relative: str, where: str) -> Problem:
    shown = excerpt(relative)
    message = (
        f"path {excerpt(path, 60)!r} is absolute; expected {excerpt(relative, 60)!r}, relative to"
        " the project"
    )
    return ABSOLUTE.problem(
        message, path=where, found=excerpt(path), before=excerpt(path), after=shown
    )


def _variable_left(path: str, variable: str, where: str, *, final: bool) -> Problem:
    rule = VARIABLE_LEFT if final else TEMPLATE_VARIABLE
    message = (
        f"path {excerpt(path, 80)!r} still holds {excerpt(variable, 40)!r}; expected the real name"
        " in its place"
    )
    return rule.problem(message, path=where, found=excerpt(path))


def _variable_filled(path: str, filled: str, where: str) -> Problem:
    message = f"path {excerpt(path, 80)!r} holds a variable for the session; its id was put in"
    before, after = excerpt(path), excerpt(filled)
    return TEMPLATE_VARIABLE.problem(message, path=where, found=before, before=before, after=after)
