"""Decide from the text of a path whether it may be opened in a project."""

from goop_mcp.errors import PathRefusedError
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.paths import path_problem

__all__ = ["is_too_long", "relative_parts"]

MOST_BYTES_OF_A_NAME = 255
MOST_BYTES_OF_A_PATH = 4095
_RESERVED = frozenset(
    {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}
    | {f"{port}{number}" for port in ("COM", "LPT") for number in "123456789¹²³"}
)


def relative_parts(path: str) -> tuple[str, ...]:
    """Return the names in `path`, relative to the project with `/`; () for the project itself.

    Raises PathRefusedError for an empty path, one that may lead out on any system, and names that
    some system does not support: over 255 bytes, or a device of Windows. A path has at most 4,095
    bytes.
    """
    if not path.strip():
        raise PathRefusedError(
            "the path is empty; expected a path relative to the project, such as docs/plan.md"
        )

    problem = path_problem(path, where="")
    if problem is not None and problem.rule.id == "path/outside-workspace":
        raise PathRefusedError(problem.hit.message)
    if "\\" in path:
        raise _refused(path, "it holds a backslash", "'/' between names")

    parts = tuple(part for part in path.split("/") if part not in ("", "."))
    for name in parts:
        try:
            size = len(name.encode())
        except UnicodeEncodeError:
            raise _refused(
                path, "a name in it is half a character", "text that UTF-8 can hold"
            ) from None

        if size > MOST_BYTES_OF_A_NAME:
            expected = f"at most {MOST_BYTES_OF_A_NAME}"
            raise _refused(path, f"a name in it has {size:,} bytes", expected)
        if name.partition(".")[0].rstrip(" ").upper() in _RESERVED:
            raise _refused(path, f"{name!r} is a device on Windows", "another name")

    if (length := len("/".join(parts).encode())) > MOST_BYTES_OF_A_PATH:
        raise _refused(path, f"it has {length:,} bytes", f"at most {MOST_BYTES_OF_A_PATH:,}")
    return parts


def is_too_long(path: str) -> bool:
    """Whether no system supports this path: over 4,095 bytes, or over 255 in one name."""
    names = [name.encode(errors="replace") for name in path.split("/")]
    return len(b"/".join(names)) > MOST_BYTES_OF_A_PATH or any(
        len(name) > MOST_BYTES_OF_A_NAME for name in names
    )


def _refused(path: str, reason: str, expected: str) -> PathRefusedError:
    return PathRefusedError(
        f"path {excerpt(path, 60)!r} cannot be used: {reason}; expected {expected}"
    )
