"""Whether the files that define a command, such as a Makefile, may have changed since a task began.

A file is compared with the commit at which the task began; git only reads objects for it. The files
of a project are read here as data and never run.
"""

import os
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.workspace.claimed_changes import NONE_CHANGED
from goop_mcp.workspace.claimed_commits import is_id
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.git import GitError, Repository

__all__ = ["ChangedDefinitions"]

_MOST_BYTES: Final = 256 * 1024
_MOST_FILES: Final = 500
# Of files that were made while the record of the beginning was written.
_SLACK_NS: Final = 1_000_000_000
_LONG_ID: Final = 64

# Of these files only a part says what a target runs; the rest, such as dependencies, changes often.
_PARTS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "package.json": (("scripts",),),
    "composer.json": (("scripts",),),
    "deno.json": (("tasks",),),
    "pyproject.toml": tuple(
        ("tool", name) for name in ("hatch", "mise", "nox", "pdm", "pixi", "poe", "rye", "tox")
    ),
}
# The form of the name of a file, and of what it takes in: compiled where such a file is read.
_INCLUDES: Final = (
    (r"(?i)(?:gnu)?makefile(?:\..*)?|.*\.ma?k", r"(?m)^[ \t]*(?:-|s)?include[ \t]+([^#\n]+)"),
    (
        r"(?i)\.?justfile|.*\.just",
        r"(?m)^(?:import|mod)\??[ \t]+(?:\w+[ \t]+)?['\"]([^'\"\n]+)['\"]",
    ),
    (r"(?i)taskfile.*\.ya?ml", r":[ \t]*['\"]?([\w./-]+\.ya?ml)\b"),
    (r".*\.gradle(?:\.kts)?", r"apply[ \t(]+from[ \t:=]+['\"]([^'\"\n]+)['\"]"),
)
_VARIABLE: Final = r"\$[({][^)}]*[)}]/?"


class ChangedDefinitions:
    """Finds definitions of commands that may have changed since a task began.

    `base` is the commit at which it began; without one, the checked-out commit counts. `changed`
    are the files that had changes without a commit then, as in `check_changes`, and `began` is the
    moment, in nanoseconds since 1970, None if unknown. Nothing is asked of git after `until`, a
    `time.monotonic()`.
    """

    def __init__(
        self,
        files: ProjectFiles,
        *,
        base: str | None,
        changed: Mapping[str, tuple[int, int]] = NONE_CHANGED,
        began: int | None = None,
        until: float | None = None,
    ) -> None:
        self._files, self._changed_before, self._began = files, changed, began
        self._commit = base if base is not None and is_id(base) else "HEAD"
        self._repository = Repository(files.root, until=until)
        self._known: dict[tuple[str, ...], str | None] = {}

    def __call__(self, paths: Sequence[str]) -> str | None:
        """Return the first of `paths`, or of what these take in, that may have changed.

        "" if none has, None if that is not known. Paths are relative to the project; those that
        lead elsewhere, or to nothing, are left out.
        """
        key = tuple(paths)
        if key not in self._known:
            try:
                self._known[key] = self._first_changed(paths)
            except GitError:
                self._known[key] = None
        return self._known[key]

    def _first_changed(self, paths: Sequence[str]) -> str:
        found = dict(self._existing(paths))
        # What nobody touched since the task began need not be compared: most often that is all.
        suspects = {
            path: status
            for path, status in found.items()
            if self._began is None or status.st_ctime_ns >= self._began - _SLACK_NS
        }
        if not suspects:
            return ""

        committed = self._repository.blobs(self._commit, tuple(suspects))
        return next(
            (
                path
                for path, status in suspects.items()
                if (status.st_size, status.st_mtime_ns) != self._changed_before.get(path)
                and not self._is_as(path, status, committed.get(path))
            ),
            "",
        )

    def _existing(self, paths: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
        """Yield those of `paths` that are files of the project, and the files that they take in."""
        # The list grows while it is read: what is taken in may take in more.
        pending = list(paths)
        seen: set[str] = set()
        for named in pending:
            with suppress(GoopError, OSError, ValueError):
                path = self._files.relative(named.removeprefix(f"{self._files.root}/"))
                if path in seen or len(seen) >= _MOST_FILES:
                    continue
                # Where it is a link, both the link and its target decide.
                status = os.lstat(self._files.root.joinpath(path))
                target = "/".join(self._files.resolve(path))
                if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                    seen.add(path)
                    yield path, status
                    pending += [target, *self._included(path)]

    def _included(self, path: str) -> Iterator[str]:
        folder, name = posixpath.split(path)
        for of, form in _INCLUDES:
            if re.fullmatch(of, name) is None:
                continue
            text = (self._files.read_bytes(path, most=_MOST_BYTES) or b"").decode(errors="replace")
            for match in re.finditer(form, text):
                # What a variable holds is not known: most often the folder of the project.
                for word in re.sub(_VARIABLE, "", match[1]).split():
                    yield from self._matching(word)
                    yield from self._matching(posixpath.join(folder, word))

    def _matching(self, pattern: str) -> Iterator[str]:
        """Yield the files that the last part of `pattern` names, which may hold a `*`."""
        folder, last = posixpath.split(pattern)
        if "*" not in last:
            yield pattern
            return

        name = re.compile(".*".join(map(re.escape, last.split("*"))))
        for each in self._files.names(folder or "."):
            if name.fullmatch(each):
                yield posixpath.join(folder, each)

    def _is_as(self, path: str, status: os.stat_result, blob: str | None) -> bool:
        """Return whether the file has the content of `blob`, None for none, in what defines it."""
        if blob is None:
            return False
        if stat.S_ISLNK(status.st_mode):
            return _blob_of(os.fsencode(self._files.root.joinpath(path).readlink()), blob) == blob

        content = self._files.read_bytes(path)
        # A repository may keep its text files with other line ends than the disk.
        if content is None or blob in (
            _blob_of(content, blob),
            _blob_of(content.replace(b"\r\n", b"\n"), blob),
        ):
            return content is not None

        parts = _PARTS.get(posixpath.basename(path))
        if parts is None or len(content) > _MOST_BYTES:
            return False
        committed = self._repository.content(blob, most=_MOST_BYTES)
        try:
            return committed is not None and _read(path, content, parts) == _read(
                path, committed, parts
            )
        except (ValueError, RecursionError):
            return False


def _blob_of(content: bytes, like: str) -> str:
    """Return the id of a blob in the form of `like`: repositories use SHA-1 or SHA-256."""
    name = "sha256" if len(like) == _LONG_ID else "sha1"
    # Most often nothing is compared, and this is not loaded.
    made = import_module("hashlib").new(name, b"blob %d\0" % len(content), usedforsecurity=False)
    made.update(content)
    return str(made.hexdigest())


def _read(path: str, content: bytes, parts: Sequence[Sequence[str]]) -> list[object]:
    """Return the values of `parts` in a JSON or TOML file. Raises ValueError."""
    reader = import_module("tomllib" if path.endswith(".toml") else "json")
    whole: object = reader.loads(content.decode("utf-8"))
    values: list[object] = []
    for keys in parts:
        value = whole
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        values.append(value)

    return values
