"""What the folders show of a git repository, without starting git; cheap, because hooks ask."""

import os
from collections.abc import Iterable
from typing import Final

from goop_mcp.services.small_files import read_whole
from goop_mcp.workspace.repositories import repository_above

__all__ = ["may_hold", "repository_above"]

_LARGEST_INDEX: Final = 8 * 1024 * 1024


def may_hold(repository: str, paths: Iterable[str]) -> bool:
    """Return whether git may know a file whose path ends with one of `paths` in `repository`.

    False only where its list of files is read and names none.
    """
    try:
        # A linked work tree has its list elsewhere, which git knows.
        index = read_whole(f"{repository}{os.sep}.git{os.sep}index", most=_LARGEST_INDEX)
    except OSError:
        return True
    if index is None:
        # Nothing was added yet, unless `.git` is a file.
        return os.path.isfile(f"{repository}{os.sep}.git")  # noqa: PTH113 - slow to import

    return any(path.encode() in index for path in paths)
