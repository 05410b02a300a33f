"""Find the transcripts that hosts keep: of one project, of all, or those in a folder."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.services.audit.opencode_storage import database_sessions, stored_sessions
from goop_mcp.services.audit.sources import Source
from goop_mcp.workspace.regular_files import open_regular

__all__ = ["Found", "Places", "find_transcripts", "home_places"]

_HEAD: Final = 1024 * 1024
_MOST_SEEN: Final = 200_000
_CWD: Final = re.compile(rb'"cwd":\s?("(?:[^"\\]|\\.){0,4000}")')
# Claude Code names the folder of a project by its path; a long one gets a digest at its end.
_LONGEST_NAME: Final = 200
_NOT_PLAIN: Final = re.compile(r"[^A-Za-z0-9]")


class Places(NamedTuple):
    """Where the hosts keep their transcripts on this machine."""

    claude_code: Path
    codex: Path
    opencode: Path


class Found(NamedTuple):
    """The transcripts, the newest first, and where they were looked for.

    `complete` is False where a folder has more files than are looked at.
    """

    sources: tuple[Source, ...]
    looked_in: tuple[str, ...]
    complete: bool


def home_places(environment: Mapping[str, str]) -> Places:
    """Return the folders of the hosts, as `environment` names them."""
    home = environment.get("HOME") or environment.get("USERPROFILE") or str(Path.home())
    data = environment.get("XDG_DATA_HOME") or f"{home}/.local/share"
    return Places(
        Path(environment.get("CLAUDE_CONFIG_DIR") or f"{home}/.claude"),
        Path(environment.get("CODEX_HOME") or f"{home}/.codex"),
        Path(data, "opencode"),
    )


def find_transcripts(places: Places, *, project: Path | None, folder: Path | None = None) -> Found:
    """Return the transcripts of `project`, of all projects if it is None, or those in `folder`.

    `folder` may also be one file. A folder or file that cannot be read is left out.
    """
    if folder is not None:
        seen = _Walk()
        sources = [*_in_folder(folder, seen)]
        return _sorted(sources, (str(folder),), seen)

    seen = _Walk()
    sources = [
        *_of_claude_code(places.claude_code / "projects", project, seen),
        *_of_codex(places.codex, project, seen),
        *_of_opencode(places.opencode, project, seen),
    ]
    looked = (places.claude_code / "projects", places.codex / "sessions", places.opencode)
    return _sorted(sources, tuple(map(str, looked)), seen)


def _sorted(sources: list[Source], looked_in: tuple[str, ...], walk: "_Walk") -> Found:
    # The newest first: where not all are read, these say most.
    sources.sort(key=lambda each: (-each.changed, each.path, each.session))
    return Found(tuple(sources), looked_in, walk.left > 0)


class _Walk:
    """Lists files below folders, without following links, and not endlessly."""

    def __init__(self) -> None:
        self.left = _MOST_SEEN

    def files(self, folder: Path, matches: Callable[[str], bool]) -> Iterator[str]:
        for parent, folders, names in os.walk(folder):
            folders.sort()
            self.left -= len(names)
            if self.left <= 0:
                return
            yield from (os.path.join(parent, name) for name in sorted(names) if matches(name))  # noqa: PTH118


def _of_claude_code(projects: Path, project: Path | None, walk: _Walk) -> Iterator[Source]:
    names = {_encoded(each) for each in _spellings(project)}
    try:
        folders = sorted(each for each in projects.iterdir() if each.is_dir())
    except OSError:
        return

    for folder in folders:
        own = any(_is_name_of(folder.name, name) for name in names)
        inside = any(folder.name.startswith(f"{name}-"[:_LONGEST_NAME]) for name in names)
        if project is not None and not own and not inside:
            continue
        for path in walk.files(folder, lambda name: name.endswith(".jsonl")):
            if project is None or _is_about(path, project, own=own):
                yield from _source("claude-code", path)


def _encoded(path: str) -> str:
    return _NOT_PLAIN.sub("-", path)


def _is_name_of(folder: str, name: str) -> bool:
    return folder == name if len(name) <= _LONGEST_NAME else folder.startswith(name[:_LONGEST_NAME])


def _spellings(project: Path | None) -> set[str]:
    if project is None:
        return set()
    return {str(project.absolute()), str(project.resolve())}


def _is_about(path: str, project: Path, *, own: bool) -> bool:
    """Whether the transcript is of the project; `own` is whether its folder has that name.

    Two projects may share the name of a folder: `a-b` and `a/b`.
    """
    cwd = _cwd_of(path)
    if cwd is None:
        return own
    if _is_inside(cwd, project):
        return True
    return own and all(_encoded(cwd) != _encoded(each) for each in _spellings(project))


def _is_inside(cwd: str, project: Path) -> bool:
    return any(
        cwd == each or cwd.startswith(each.rstrip("/\\") + os.sep) for each in _spellings(project)
    )


def _cwd_of(path: str) -> str | None:
    """Return the first folder that the transcript names as that of its session."""
    found = _CWD.search(_head(path))
    try:
        cwd = json.loads(found[1]) if found is not None else None
    except ValueError:
        return None
    return cwd if isinstance(cwd, str) else None


def _head(path: str) -> bytes:
    try:
        with os.fdopen(open_regular(path), "rb") as reader:
            return reader.read(_HEAD)
    except OSError:
        return b""


def _of_codex(home: Path, project: Path | None, walk: _Walk) -> Iterator[Source]:
    for folder in (home / "sessions", home / "archived_sessions"):
        for path in walk.files(folder, _is_rollout):
            cwd = _cwd_of(path) if project is not None else None
            if project is None or (cwd is not None and _is_inside(cwd, project)):
                yield from _source("codex", path)


def _is_rollout(name: str) -> bool:
    return name.startswith("rollout-") and name.endswith(".jsonl")


def _of_opencode(data: Path, project: Path | None, walk: _Walk) -> Iterator[Source]:
    def is_wanted(directory: str) -> bool:
        return project is None or _is_inside(directory, project)

    databases = sorted(data.glob("opencode*.db")) if data.is_dir() else []
    for database in databases:
        yield from database_sessions(str(database), is_wanted)
    yield from stored_sessions(walk.files(data / "storage" / "session", _is_json), is_wanted)


def _is_json(name: str) -> bool:
    return name.endswith(".json")


def _in_folder(folder: Path, walk: _Walk) -> Iterator[Source]:
    """Yield what may be a transcript below `folder`, or the file itself."""
    if folder.is_file():
        if folder.suffix == ".db":
            yield from database_sessions(str(folder), lambda _: True)
        else:
            yield from _source("", str(folder))
        return

    storage = f"{os.sep}storage{os.sep}"
    for path in walk.files(folder, lambda name: name.endswith((".jsonl", ".json", ".db"))):
        if path.endswith(".db"):
            yield from database_sessions(path, lambda _: True)
        elif path.endswith(".jsonl") or storage not in path:
            yield from _source("", path)
    sessions = (
        each for each in walk.files(folder, _is_json) if f"{storage}session{os.sep}" in each
    )
    yield from stored_sessions(sessions, lambda _: True)


def _source(host: str, path: str) -> Iterator[Source]:
    try:
        state = Path(path).lstat()
    except OSError:
        return
    yield Source(host, path, "", state.st_size, state.st_mtime)
