"""Find the git repository that a folder belongs to, without starting git; cheap: hooks ask."""

import os

__all__ = ["repository_above"]


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
