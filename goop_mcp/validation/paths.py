"""Find out where a path leads from its text alone, without access to a file system.

Paths are relative to the workspace. Whatever could lead out of it in any spelling is refused. What
only a file system knows, such as links, is not checked here.
"""

import re
import unicodedata

from goop_mcp.structs import DataStruct
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

__all__ = ["ANYWHERE_INSIDE", "PLAIN_PATH", "PathBounds", "bounds_of", "path_problem", "read_path"]

PLAIN_PATH = re.compile(r"(?!/)(?:(?!\.\.?(?:/|\Z))[A-Za-z0-9_.\-]++/?)+")
"""A relative path of plain names that leads nowhere else."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_VARIABLE = re.compile(r"\{[^{}/]*\}|<[^<>/]*>|\A\$[A-Z_]+(?=[/\\]|\Z)|\A%[A-Z_]+%")
_SESSION = re.compile(r"\{session[-_]?id\}|<session[-_]?id>", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/")
_ENCODED = re.compile(r"%([0-9A-Fa-f]{2})")
_SLASHES = str.maketrans({"\\": "/", "\u2044": "/", "\u2215": "/", "\u29f8": "/", "\u2216": "/"})
_TIMES_DECODED = 2


class PathBounds(DataStruct, frozen=True, kw_only=True):
    """The bounds that paths are compared with, all as texts; None means unknown.

    `workspace` is the absolute path of the project folder: an absolute path inside it is made
    relative. Paths have to stay inside `session_folder`, relative to the workspace, if it is given.
    `session_id` replaces a `{session-id}` that was left in. With `final` the path is about to be
    used, and any other variable is an error.
    """

    workspace: str | None = None
    session_folder: str | None = None
    session_id: str | None = None
    final: bool = False


ANYWHERE_INSIDE = PathBounds()
"""Any path inside a workspace whose location is unknown."""


def bounds_of(expected: Expectations) -> PathBounds:
    """Return the bounds that `expected` implies."""
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
    """Return what is wrong with `path`, None if it stays inside.

    `where` is the XPath or JSON pointer of the path.
    """
    return read_path(path, where=where, bounds=bounds)[1]


def read_path(
    path: str, *, where: str, bounds: PathBounds = ANYWHERE_INSIDE
) -> tuple[str, Problem | None]:
    """Return `path` as it is meant, relative to the workspace, and what is wrong with it.

    At most one problem is returned, and a path that leads out comes before one that is unfinished.
    A blank path is the concern of other rules. Takes time linear to the length of `path`.
    """
    # One match clears a plain relative path, which nearly every path is.
    if (bounds is ANYWHERE_INSIDE and PLAIN_PATH.fullmatch(path)) or not path.strip():
        return path, None

    filled = (
        path
        if bounds.session_id is None
        else _SESSION.sub(bounds.session_id.replace("\\", r"\\"), path)
    )
    relative = _made_relative(filled, bounds.workspace)
    found, shown = excerpt(path), excerpt(path, 60)
    if (way := _way_out(relative)) is not None:
        message = (
            f"path {shown!r} leads out of the workspace: {way}; expected a path relative to the"
            " project"
        )
        return path, OUTSIDE_WORKSPACE.problem(message, path=where, found=found)

    if (variable := _VARIABLE.search(relative)) is not None:
        rule = VARIABLE_LEFT if bounds.final else TEMPLATE_VARIABLE
        message = (
            f"path {excerpt(path, 80)!r} still holds {excerpt(variable[0], 40)!r}; expected the"
            " real name in its place"
        )
        return relative, rule.problem(message, path=where, found=found)

    if (folder := bounds.session_folder) is not None:
        parts, root = _parts(relative), _parts(folder)
        if parts[: len(root)] != root or len(parts) <= len(root):
            message = (
                f"path {shown!r} lies outside of the session; expected one below"
                f" {excerpt(folder, 60)!r}"
            )
            return relative, OUTSIDE_SESSION.problem(message, path=where, found=found)

    after = excerpt(relative)
    if filled != path:
        message = f"path {excerpt(path, 80)!r} holds a variable for the session; its id was put in"
        return relative, TEMPLATE_VARIABLE.problem(
            message, path=where, found=found, before=found, after=after
        )

    if relative != filled:
        message = (
            f"path {shown!r} is absolute; expected {excerpt(relative, 60)!r}, relative to the"
            " project"
        )
        return relative, ABSOLUTE.problem(
            message, path=where, found=found, before=found, after=after
        )

    return relative, None


def _way_out(path: str) -> str | None:
    """Return how `path` leaves the folder it is relative to, None if it stays inside."""
    if _CONTROL.search(path):
        return "it holds a control character"

    # The path with one kind of slash, as written and as later programs may decode it.
    # Full-width dots and slashes are plain ones after NFKC, which some programs apply to names.
    plain = path if path.isascii() else unicodedata.normalize("NFKC", visible(path))
    spellings = [plain.strip().translate(_SLASHES)]
    for _ in range(_TIMES_DECODED):
        # Twice, because a proxy and the program it serves may each decode once.
        if "%" in spellings[-1]:
            decoded = _ENCODED.sub(lambda code: chr(int(code[1], 16)), spellings[-1])
            spellings.append(decoded.translate(_SLASHES))

    for spelling in spellings:
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


def _made_relative(path: str, workspace: str | None) -> str:
    """Return an absolute path inside `workspace` as a relative one, any other path unchanged."""
    if workspace is None or not (path.startswith(("/", "\\")) or _DRIVE.match(path)):
        return path

    root, parts = _parts(workspace), _parts(path)
    if _anchor(workspace) != _anchor(path) or not root or parts[: len(root)] != root:
        return path

    trailing = "/" if path.endswith("/") and len(parts) > len(root) else ""
    return "/".join(parts[len(root) :]) + trailing or "."


def _parts(path: str) -> list[str]:
    """Return the names in `path`; a drive is a name, which is compared without case."""
    parts = [part for part in path.translate(_SLASHES).split("/") if part not in ("", ".")]
    return [parts[0].lower(), *parts[1:]] if parts and _DRIVE.match(parts[0]) else parts


def _anchor(path: str) -> str:
    """Return what makes `path` absolute: a drive, a share or the root."""
    slashes = path.translate(_SLASHES)
    return "drive" if _DRIVE.match(path) else "share" if slashes.startswith("//") else slashes[:1]
