"""Detect a `.git` that leads to a foreign repository.

A `.git` file can name any folder of the machine, and links and alternates inside a repository can
name any other. In a project of somebody else they could make us disclose which commits another
repository has, and their subjects.
"""

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

__all__ = ["leads_elsewhere"]

_LONGEST: Final = 256 * 1024
_MOST_ENTRIES: Final = 20_000
_MOST_ALTERNATES: Final = 50
_WORKTREE: Final = re.compile(r"^[ \t]*worktree[ \t]*=[ \t]*\"?([^\"\r\n]+)", re.MULTILINE)


def leads_elsewhere(folder: Path, within: Path) -> bool:
    """Whether the `.git` in `folder` leads out of the project `within` to a foreign repository.

    Working trees and submodules have a `.git` file too; their repository refers back to them, which
    makes it a known one. Without a `.git`, git searches the parent folders, which are not part of a
    checkout.
    """
    git = folder / ".git"
    try:
        if git.is_symlink():
            return True
        if git.is_dir():
            return _has_foreign_parts(git, within)
        if not git.is_file():
            return False

        named = _read(git).partition("gitdir:")[2].strip()
        target = (folder / named).resolve()
        if target.is_relative_to(within.resolve()):
            return _has_foreign_parts(target, within)
        # Only its owner writes outside the project: a repository out there that refers back to
        # this folder does so on purpose. A working tree is named in its folder of the repository, a
        # submodule in the configuration.
        if (target / "gitdir").is_file():
            return (target / _read(target / "gitdir").strip()).resolve() != git.resolve()
        if (target / "config").is_file():
            worktree = _WORKTREE.search(_read(target / "config"))
            return (
                worktree is None or (target / worktree[1].strip()).resolve() != git.parent.resolve()
            )

        return True
    except (OSError, ValueError):
        # What cannot be understood is treated as foreign.
        return True


def _has_foreign_parts(repository: Path, within: Path) -> bool:
    """Whether objects of `repository` are outside `within`: by links, alternates, common folder."""
    root, common = within.resolve(), repository
    if (repository / "commondir").exists():
        common = (repository / _read(repository / "commondir").strip()).resolve()
    if not (repository.resolve().is_relative_to(root) and common.resolve().is_relative_to(root)):
        return True

    # Alternates have alternates in turn, and git follows them all.
    known, waiting = set[Path](), [common / "objects"]

    while waiting:
        objects = waiting.pop()
        if len(known) > _MOST_ALTERNATES:
            return True
        if any(not each.is_relative_to(root) for each in _targets_of(objects)):
            return True

        known.add(objects.resolve())
        file = objects / "info" / "alternates"
        for line in _read(file).splitlines() if file.exists() else ():
            if line.startswith('"'):
                # Git reads escapes in quotes, so that this names another folder than it seems to.
                return True
            if line.strip() and (alternate := (objects / line.strip()).resolve()) not in known:
                waiting.append(alternate)

    return False


def _targets_of(objects: Path) -> Iterator[Path]:
    """Yield the real path of a folder of objects, and the targets of links to objects in it."""
    yield objects.resolve()
    for place in (objects, objects / "info", objects / "pack"):
        if place.is_symlink():
            yield place.resolve()

    for place in (objects, objects / "pack"):
        if place.is_dir():
            with os.scandir(place) as entries:
                yield from (
                    Path(each.path).resolve()
                    for each in islice(entries, _MOST_ENTRIES)
                    if each.is_symlink()
                )


def _read(file: Path) -> str:
    if not file.is_file():
        raise OSError(f"{file.name} is not a file")

    with file.open("rb") as opened:
        content = opened.read(_LONGEST + 1)

    if len(content) > _LONGEST:
        raise OSError(f"{file.name} is longer than git writes it")
    return os.fsdecode(content)
