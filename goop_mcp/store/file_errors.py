"""Translate errors of the operating system about files into errors for people, with the fix."""

import errno

from goop_mcp.errors import StoreError, StoreFullError, StoreReadOnlyError

__all__ = ["file_error"]

_FULL = "no space is left for {name}; nothing was written: free some disk space and try again"
_READ_ONLY = "{name} is not writable; give this user write permission on the file and on its folder"
_TOO_MANY = (
    "too many files are open to use {name}; close some, or raise the limit (ulimit -n), and try"
    " again"
)
_LINK = (
    "{name} is a symbolic link, which is not followed; put the file itself there, or name another"
    " database"
)
_NO_FOLDER = "the folder of {name} does not exist; create it, or name another database"

_ERRORS: dict[int, tuple[type[StoreError], str]] = {
    errno.ENOSPC: (StoreFullError, _FULL),
    errno.EDQUOT: (StoreFullError, _FULL),
    errno.EFBIG: (StoreFullError, _FULL),
    errno.EACCES: (StoreReadOnlyError, _READ_ONLY),
    errno.EPERM: (StoreReadOnlyError, _READ_ONLY),
    errno.EROFS: (StoreReadOnlyError, _READ_ONLY),
    errno.EMFILE: (StoreError, _TOO_MANY),
    errno.ENFILE: (StoreError, _TOO_MANY),
    errno.ELOOP: (StoreError, _LINK),
    errno.ENOENT: (StoreError, _NO_FOLDER),
    errno.ENOTDIR: (StoreError, _NO_FOLDER),
}


def file_error(error: OSError | int, name: str) -> StoreError:
    """Return the error for the file shown as `name`; `error` may be a bare errno."""
    number = error if isinstance(error, int) else error.errno or 0
    kind, text = _ERRORS.get(number, (StoreError, ""))
    if text:
        return kind(text.format(name=name))

    reason = errno.errorcode.get(number, "an unknown error")

    return StoreError(f"{name} cannot be used ({reason}); check the disk, or name another database")
