"""Whether the `.git` of a folder leads to a repository that knows nothing of the folder.

A `.git` file names any folder of the machine, and inside a repository links and alternates name any
other. In a project that somebody else made, they could make us tell which commits another
repository holds and what they say.
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
    """Tell whether the `.git` in `folder` leads out of the project `within` to a repository that does not know it.

    Working trees and submodules have such a file too; their repository names them in turn. Without a `.git` git looks
    in the folders above, which no checkout brings along.
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
        # Out there nobody but its owner writes: a repository that names this folder means it.
        return not _knows(target, git)
    except (OSError, ValueError):
        return True


def _knows(repository: Path, git: Path) -> bool:
    """Tell whether `repository` names `git` as that of one of its working trees, or of a submodule."""
    if (repository / "gitdir").is_file():
        return (repository / _read(repository / "gitdir").strip()).resolve() == git.resolve()
    if (repository / "config").is_file():
        worktree = _WORKTREE.search(_read(repository / "config"))
        return (
            worktree is not None
            and (repository / worktree[1].strip()).resolve() == git.parent.resolve()
        )

    return False


def _has_foreign_parts(repository: Path, within: Path) -> bool:
    """Tell whether objects of `repository` lie outside of `within`: by links, alternates or a common folder."""
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
        if any(not each.is_relative_to(root) for each in _places_of(objects)):
            return True

        known.add(objects.resolve())
        waiting += [each for each in _alternates(objects) if each not in known]

    return False


def _alternates(objects: Path) -> Iterator[Path]:
    file = objects / "info" / "alternates"
    if file.exists():
        for line in _read(file).splitlines():
            if line.startswith('"'):
                raise ValueError(
                    "git reads escapes in quotes, so the name of the folder is another one"
                )

            if line.strip():
                yield (objects / line.strip()).resolve()


def _places_of(objects: Path) -> Iterator[Path]:
    """Yield where a folder of objects lies, and where links at the places of objects in it lead."""
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
        raise OSError(f"{file.name} is no file")

    with file.open("rb") as opened:
        content = opened.read(_LONGEST + 1)

    if len(content) > _LONGEST:
        raise OSError(f"{file.name} is longer than git writes it")
    return os.fsdecode(content)
