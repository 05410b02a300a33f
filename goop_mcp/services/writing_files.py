"""Write a document to a file that a person names."""

import os
from collections.abc import Iterable
from pathlib import Path

from goop_mcp.errors import GoopError, UnwritableFileError

__all__ = ["write_file"]


def write_file(file: str, document: Iterable[str], *, force: bool) -> None:
    """Write the pieces of `document` to `file` in UTF-8, atomically; replace a file with `force`.

    Raises UnwritableFileError, whose text names the file and states the fix.
    """
    path = Path(file)
    if not force and os.path.lexists(path):
        raise UnwritableFileError(
            f"{file!r} is there already; name another file, or write over it with --force"
        )

    # Written next to the target and renamed: a failure leaves the old file as it was.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")

    try:
        with temporary.open("x", encoding="utf-8", newline="") as stream:
            stream.writelines(document)

        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, GoopError):
            raise

        reason = (error.strerror or "unknown reason").lower()

        raise UnwritableFileError(
            f"{file!r} cannot be written ({reason}); name another file"
        ) from error
