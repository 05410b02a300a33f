"""One configuration file of a host: read, replace and remove it as a whole."""

import contextlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from goop_mcp.errors import (
    DocumentUnreadableError,
    GoopError,
    PathRefusedError,
    UnwritableFileError,
)
from goop_mcp.hosts.catalogue import FileLocation
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.folders import open_folder
from goop_mcp.workspace.replacing import replace_file, sha256

__all__ = ["ConfigurationError", "Target", "find_target"]

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class ConfigurationError(GoopError, ValueError):
    """Raised when a host's configuration cannot be changed safely; nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file below `root`, a project or a folder of the user; `shown` is its name in messages.

    Nothing outside of `root` is read or written: links that lead out of it are refused.
    """

    root: Path
    name: str
    shown: str

    @property
    def path(self) -> Path:
        """The path of the file, which need not exist."""
        return self.root / self.name

    @property
    def digest(self) -> str:
        """An identifier of this file, unique on the machine, that can be part of a file name."""
        return sha256(os.fsencode(os.path.realpath(self.path)))[:24]

    def read(self) -> bytes | None:
        """Return the content, None when the file does not exist; raise ConfigurationError."""
        try:
            return ProjectFiles(self.root).read_bytes(self.name)
        except PathRefusedError:
            raise self.refusal(
                "leads out of its folder through a link; put the file itself there"
            ) from None
        except DocumentUnreadableError as error:
            raise ConfigurationError(f"{self.shown} cannot be used: {error}") from None

    def refuse_unwritable(self) -> None:
        """Raise ConfigurationError when the file cannot be written: read-only, or not a file."""
        files = ProjectFiles(self.root)
        kind = files.kind(self.name)
        if kind is FileKind.FILE:
            # The mode counts as well: a superuser could write to a file that is meant to stay.
            if not self.path.stat().st_mode & _WRITABLE or not os.access(self.path, os.W_OK):
                raise self.refusal("is read-only; make it writable first")
            return
        if kind is not FileKind.MISSING:
            raise self.refusal("is not a file; move away what has its name")

        # For a new file, the nearest existing folder decides.
        there = next(parent for parent in self.path.parents if os.path.lexists(parent))
        name = (
            there.relative_to(self.root).as_posix()
            if there.is_relative_to(self.root)
            else str(there)
        )
        if not there.is_dir():
            raise self.refusal(f"cannot be written: {name} is not a folder; move it away")
        if not os.access(there, os.W_OK | os.X_OK):
            folder = "its folder" if name == "." else f"the folder {name}"
            raise self.refusal(f"cannot be written: {folder} is read-only; make it writable first")

    def missing_folders(self) -> tuple[str, ...]:
        """Return the folders that have to be created for the file, the outermost first."""
        parents = [
            parent.as_posix() for parent in reversed(Path(self.name).parents) if parent != Path()
        ]
        return tuple(parent for parent in parents if not (self.root / parent).is_dir())

    def write(self, data: bytes) -> None:
        """Replace the content by `data`; raise ConfigurationError, with the old content intact."""
        files = ProjectFiles(self.root)
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            replace_file(files, "/".join(files.resolve(self.name)), data, allowed=lambda _: True)
        except (UnwritableFileError, PathRefusedError) as error:
            raise ConfigurationError(str(error)) from error
        except OSError as error:
            raise self.refusal(
                f"cannot be written: {(error.strerror or str(error)).lower()}"
            ) from error

    def remove(self, folders: Sequence[str] = ()) -> None:
        """Remove the file, and those of `folders` that are empty then; raise ConfigurationError."""
        parts = ProjectFiles(self.root).resolve(self.name)
        try:
            with open_folder(ProjectFiles(self.root).root, parts[:-1]) as folder:
                folder.unlink(parts[-1])
        except OSError as error:
            raise self.refusal(
                f"cannot be removed: {(error.strerror or str(error)).lower()}"
            ) from error

        self.remove_folders(folders)

    def remove_folders(self, folders: Sequence[str]) -> None:
        """Remove those of `folders` that are empty, the innermost first."""
        for folder_name in reversed(folders):
            # A folder that somebody else uses by now is not empty, and stays.
            with contextlib.suppress(OSError):
                (self.root / folder_name).rmdir()

    def refusal(self, why: str) -> ConfigurationError:
        """Return an error with this file's name and `why` it cannot be used."""
        return ConfigurationError(f"{self.shown} {why}")


def find_target(location: FileLocation, *, project: Path, environment: Mapping[str, str]) -> Target:
    """Return the file that `location` stands for: the first name that exists, else the last."""
    base = project if location.base is None else location.base(environment)
    name = next((name for name in location.names if (base / name).is_file()), location.names[-1])
    if location.base is None:
        return Target(root=base, name=name, shown=name)

    home = environment.get("HOME") or environment.get("USERPROFILE") or str(Path.home())
    if base.is_relative_to(home):
        # The root is the home folder because personal configuration files are often links to other
        # files below it, in a repository of dotfiles for example.
        relative = (base / name).relative_to(home).as_posix()
        return Target(root=Path(home), name=relative, shown=f"~/{relative}")

    return Target(root=base, name=name, shown=str(base / name))
