"""The log of a session with the decisions of the gate (H-39)."""

from collections.abc import Sequence

from goop_mcp.errors import GoopError

__all__ = ["SessionLogError", "append_to_log"]


class SessionLogError(GoopError, OSError):
    """Raised when the log of a session cannot be written; the text names the file."""


def append_to_log(path: str, lines: Sequence[str]) -> None:
    """Append `lines` to the file `path`, created if necessary. Raises SessionLogError."""
    try:
        # Importing pathlib would double the start time of the gate.
        with open(path, "a", encoding="utf-8") as log:  # noqa: PTH123
            log.write("".join(f"{line}\n" for line in lines))
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise SessionLogError(
            f"the log {path!r} cannot be written ({reason}); name another file"
        ) from error
