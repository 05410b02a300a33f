"""What the folders show of a git repository, without starting git; cheap, because hooks ask."""

import os
from collections.abc import Iterable
from typing import Final

from goop_mcp.services.small_files import read_whole

__all__ = ["may_hold", "repository_above"]

_LARGEST_INDEX: Final = 8 * 1024 * 1024


def repository_above(folder: str) -> str | None:
    """Return the nearest folder with an entry `.git`, from `folder` upwards, None without one."""
    try:
        # `os.path` instead of pathlib, which is slow to import.
        folder = os.path.realpath(folder)
    except (OSError, ValueError):
        # No folder can have this path.
        return None

    # A broken link counts as well: it marks where a repository is meant to be.
    while not os.path.lexists(f"{folder}{os.sep}.git"):
        parent, _ = os.path.split(folder)
        if parent == folder:
            return None
        folder = parent

    return folder


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
