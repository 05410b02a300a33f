"""The digest of a work tree: the id of a git tree object with all files as they are on disk.

Status, times and the commit say too little: a file may be untracked, changed twice within one
second, or committed without a change of its content. So git itself writes the tree, from a copy of
its index and into a folder of objects that is removed again: the repository is only read.

Hooks and the file system monitor of the repository do not run, nothing is fetched and no lock is
taken. Filters that the user's git configuration names for changed files do run, as for `git add`.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Timer
from typing import Final, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.evidence.recorded_runs import MOST_CHANGES, RecordedRun, WorkTree

__all__ = [
    "digest_work_tree",
    "files_changed_since",
    "folder_of_project",
    "main_work_tree",
    "top_of_work_tree",
]

SECONDS: Final = 30.0
"""The time limit of one digest."""

_MOST_FILES: Final = 20_000
_MOST_BYTES: Final = 200 * 1024 * 1024
_MOST_REPOSITORIES: Final = 100
_MOST_OUTPUT: Final = 64 * 1024 * 1024
_BLOCK: Final = 1024 * 1024
_ENTRY_PARTS: Final = 4
_RAW_PARTS: Final = 5
_GITLINK: Final = "160000"
_STATE: Final = ".goopspec"
_OPTIONS: Final = (
    "--no-pager",
    "--no-replace-objects",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "core.fsmonitor=false",
    # Conversions of line ends and nested repositories are written to stderr for each file.
    "-c",
    "core.safecrlf=false",
    "-c",
    "advice.addEmbeddedRepo=false",
    "-c",
    "safe.bareRepository=explicit",
)
# Not GIT_DIR, GIT_INDEX_FILE and the like: git sets them for its own hooks, and a run that is
# started in one is about the files on disk all the same.
_KEPT: Final = (
    "PATH",
    "HOME",
    "USERPROFILE",
    "SYSTEMROOT",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
)
_ALWAYS: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


class _NoTreeError(GoopError):
    """Raised where a state has no digest; the text is one clause for `WorkTree.why`."""


class _Place(NamedTuple):
    """Where a repository is; `head` and `head_tree` are "" on a branch without a commit."""

    top: Path
    index_file: Path
    objects: Path
    common: Path
    git: Path
    head: str = ""
    head_tree: str = ""


class _Listing(NamedTuple):
    """What differs from the index, and what is special in it.

    `changed` are files on disk that differ or are untracked, `repositories` the folders of nested
    repositories and submodules. `is_clean` is whether the index describes the disk, and
    `has_state` whether git sees files of .goopspec, tracked or not.
    """

    changed: Sequence[str]
    repositories: Sequence[str]
    is_clean: bool
    has_state: bool
    tracks_state: bool


def digest_work_tree(
    project: Path, *, scopes: Sequence[tuple[str, ...]] = (), seconds: float = SECONDS
) -> WorkTree:
    """Return the state of the files of the work tree that `project` is in.

    The whole work tree counts, also where the project is a folder of it, without the project's
    .goopspec. Ignored files, files marked as assume-unchanged and what filters normalise are not
    seen. `scopes` are lists of paths, relative to the project, that get digests of their own.
    Never raises: a state without a digest says why.
    """
    folder = project.resolve()
    try:
        git = _Git(folder, until=time.monotonic() + seconds)
        place = git.place()
        with tempfile.TemporaryDirectory(prefix="goop-tree-", ignore_cleanup_errors=True) as room:
            return _digest(git, place, folder, Path(room), scopes)
    except _NoTreeError as error:
        return WorkTree(why=str(error))
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return WorkTree(why=f"the state of the files could not be read ({reason})")


def files_changed_since(project: Path, run: RecordedRun, now: WorkTree) -> tuple[str, ...]:
    """Return the files, by path, that differ between the tree of `run` and the tree `now`.

    Empty where that is not known: one of them has no digest, or a commit is gone.
    """
    then = run.after
    if not (then.digest and now.digest) or then.digest == now.digest:
        return ()

    between: dict[str, tuple[str, str]] = {}
    if then.head != now.head:
        if not (then.head and now.head):
            return ()
        try:
            git = _Git(project.resolve(), until=time.monotonic() + SECONDS)
            raw = git.run("diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev",
                          then.head, now.head)  # fmt: skip
        except (_NoTreeError, OSError):
            return ()
        between = {path: (old, new) for path, old, new in _raw_entries(raw)}

    before, after = dict(then.changes), dict(now.changes)
    differing = []
    for path in sorted({*before, *after, *between}):
        # A file in neither list is as in its commit, for which an unequal diff has the blob.
        committed_then, committed_now = between.get(path, ("=", "="))
        if before.get(path, committed_then) != after.get(path, committed_now):
            differing.append(path)

    return tuple(differing)


def main_work_tree(folder: Path) -> Path | None:
    """Return the main work tree if `folder` is in a linked one; None otherwise, or if unknown."""
    try:
        place = _Git(folder.resolve(), until=time.monotonic() + SECONDS).place()
    except (_NoTreeError, OSError):
        return None

    if place.common == place.git or place.common.name != ".git":
        return None

    # The project may be a folder of the work tree: it is the same folder of the other one.
    return place.common.parent / folder.resolve().relative_to(place.top)


def top_of_work_tree(folder: Path) -> Path | None:
    """Return the top of the work tree around `folder`, None without one. Starts no process."""
    start = folder.resolve()
    return next((each for each in (start, *start.parents) if (each / ".git").exists()), None)


def folder_of_project(folder: Path) -> Path:
    """Return the nearest folder with .goopspec up to the top of the work tree, else `folder`."""
    start = folder.resolve()
    top = top_of_work_tree(start) or start
    inside = [start, *(each for each in start.parents if each.is_relative_to(top))]

    return next((each for each in inside if (each / _STATE).is_dir()), start)


def _digest(
    git: "_Git", place: _Place, folder: Path, room: Path, scopes: Sequence[tuple[str, ...]]
) -> WorkTree:
    index = room / "index"
    _copy_index(place.index_file, index)
    inside = folder.relative_to(place.top).as_posix()
    state = _STATE if inside == "." else f"{inside}/{_STATE}"
    git = git.at(place.top, index=index, objects=place.objects, room=room)

    # In most cases the index is as the files are, and then its tree is written when that is known.
    with git.started("write-tree") as unchanged:
        listing = _list(git, state)
        _refuse_too_much(place.top, listing.changed)
        _refuse_dirty_repositories(git, place.top, listing.repositories)
        written = unchanged.answer() if listing.is_clean and not listing.tracks_state else b""

    if not listing.is_clean:
        _add(git, state if listing.has_state else None)
    if not written:
        if listing.has_state:
            git.run("rm", "-f", "-r", "-q", "--sparse", "--cached", "--ignore-unmatch", "--",
                    f":(top,literal){state}")  # fmt: skip
        written = git.run("write-tree")
    digest = written.decode("ascii").strip()

    changes = [] if digest == place.head_tree else _changes(git, place, state)
    parts = {paths: _scope(git, folder, paths) for paths in scopes}

    return WorkTree(
        digest=digest,
        head=place.head,
        changes=tuple(changes[:MOST_CHANGES]),
        changes_whole=len(changes) <= MOST_CHANGES,
        scopes=parts,
    )


def _add(git: "_Git", state: str | None) -> None:
    """Bring the index up to the files on disk; `state` is removed from it afterwards."""
    everything = ("add", "-A", "--sparse", "--", ":/")
    if state is not None:
        # The database need not be hashed only to be left out. Git refuses to exclude a folder that
        # is ignored although files in it are tracked.
        with suppress(_NoTreeError):
            git.run(*everything, f":(top,exclude,literal){state}")
            return

    git.run(*everything)


def _copy_index(source: Path, target: Path) -> None:
    """Copy the index with its time, if there is one.

    Git compares a file again if it is not older than the index: with a newer time, a change within
    the same tick of the clock as the last `git add` would be missed.
    """
    try:
        with source.open("rb") as file:
            about = os.fstat(file.fileno())
            with target.open("wb") as copy:
                shutil.copyfileobj(file, copy, _BLOCK)
    except FileNotFoundError:
        return

    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))


def _list(git: "_Git", state: str) -> _Listing:
    raw = git.run("ls-files", "-t", "-s", "-c", "-m", "-d", "-o", "--exclude-standard", "-z")
    changed: dict[str, None] = {}
    repositories: dict[str, None] = {}
    is_clean, has_state, tracks_state = True, False, False

    for entry in raw.split(b"\0"):
        if not entry:
            continue

        tag, _, rest = entry.partition(b" ")
        about, tab, path = rest.partition(b"\t") if tag != b"?" else (b"", b"", rest)
        del tab
        name = os.fsdecode(path)
        if name.startswith(f"{state}/"):
            has_state = True
            tracks_state = tracks_state or tag != b"?"
            continue

        if tag == b"?":
            is_clean = False
            if name.endswith("/"):
                repositories.setdefault(name.rstrip("/"))
            else:
                changed.setdefault(name)
        elif about.startswith(_GITLINK.encode()):
            repositories.setdefault(name)
            is_clean = is_clean and tag in (b"H", b"S")
        elif tag not in (b"H", b"S"):
            # Modified, removed or unmerged.
            is_clean = False
            changed.setdefault(name)

        if len(changed) > _MOST_FILES:
            break

    return _Listing(tuple(changed), tuple(repositories), is_clean, has_state, tracks_state)


def _refuse_too_much(top: Path, changed: Sequence[str]) -> None:
    if len(changed) > _MOST_FILES:
        raise _NoTreeError(
            f"more than {_MOST_FILES:,} files are changed or untracked; ignore what is generated in"
            " .gitignore"
        )

    size = 0
    for name in changed:
        with suppress(OSError):
            size += (top / name).lstat().st_size
        if size > _MOST_BYTES:
            raise _NoTreeError(
                f"the changed and untracked files have more than {_MOST_BYTES // 1024**2} MB;"
                " ignore what is generated in .gitignore"
            )


def _refuse_dirty_repositories(git: "_Git", top: Path, names: Sequence[str]) -> None:
    """Refuse nested repositories whose content is more than the commit that a tree names."""
    if len(names) > _MOST_REPOSITORIES:
        raise _NoTreeError(f"it has more than {_MOST_REPOSITORIES} submodules or repositories")

    for name in names:
        # A submodule that was not checked out has no content of its own.
        if not (top / name / ".git").exists():
            continue

        try:
            status = git.at(top / name).run(
                "status", "--porcelain=v2", "--branch", "--ignore-submodules=none",
                "--untracked-files=normal"
            )  # fmt: skip
        except _NoTreeError:
            raise _NoTreeError(f"the nested repository {name!r} cannot be read") from None

        lines = status.splitlines()
        if b"# branch.oid (initial)" in lines:
            raise _NoTreeError(f"the nested repository {name!r} has no commit")
        if any(not line.startswith(b"# ") for line in lines):
            raise _NoTreeError(
                f"the nested repository {name!r} has changes of its own; commit them, or ignore the"
                " folder in .gitignore"
            )


def _changes(git: "_Git", place: _Place, state: str) -> list[tuple[str, str]]:
    """Return path and blob of what differs from the commit, in the order of the paths."""
    if place.head:
        raw = git.run("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev",
                      "HEAD")  # fmt: skip
        entries = [(path, new) for path, _, new in _raw_entries(raw)]
    else:
        entries = []
        for entry in git.run("ls-files", "-s", "-z").split(b"\0"):
            about, _, path = entry.partition(b"\t")
            if len(words := about.split()) == _ENTRY_PARTS - 1:
                entries.append((_shown(path), words[1].decode("ascii")))

    return sorted(each for each in entries if not each[0].startswith(f"{state}/"))


def _raw_entries(raw: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield path, old and new blob of each entry of a raw diff, "" for a file that is not there."""
    pieces = raw.split(b"\0")
    for about, path in zip(pieces[::2], pieces[1::2], strict=False):
        words = about.decode("ascii", "replace").split()
        if len(words) == _RAW_PARTS:
            old, new = ("" if not each.strip("0") else each for each in words[2:4])
            yield _shown(path), old, new


def _shown(path: bytes) -> str:
    # The list is kept as JSON in a database, which takes no half characters.
    return path.decode("utf-8", "backslashreplace")


def _scope(git: "_Git", folder: Path, paths: Sequence[str]) -> str:
    within = folder.relative_to(git.folder).as_posix()
    named = [
        f":(top,literal){path if within == '.' else f'{within}/{path}'}".rstrip("/")
        for path in paths
    ]
    return sha256(git.run("ls-files", "-s", "-z", "--", *named)).hexdigest()


class _Git:
    """Runs git in one folder; every call ends at `until`, a `time.monotonic()`."""

    def __init__(
        self, folder: Path, *, until: float, environment: Mapping[str, str] | None = None
    ) -> None:
        self.folder, self._until = folder, until
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._environment = kept | _ALWAYS if environment is None else dict(environment)

        # A relative entry of PATH depends on the current folder, which could bring its own git.
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        trusted = os.pathsep.join(each for each in folders if Path(each).is_absolute())
        program = shutil.which("git", path=trusted)
        if program is None:
            raise _NoTreeError("git is not installed")
        self._program = program

    def at(
        self,
        folder: Path,
        *,
        index: Path | None = None,
        objects: Path | None = None,
        room: Path | None = None,
    ) -> "_Git":
        """Return git in another folder, with another index and a folder for new objects."""
        environment = {
            name: value
            for name, value in self._environment.items()
            if not name.startswith(("GIT_INDEX", "GIT_OBJECT", "GIT_ALTERNATE"))
        }
        if index is not None and objects is not None and room is not None:
            new = room / "objects"
            new.mkdir()
            environment |= {
                "GIT_INDEX_FILE": str(index),
                "GIT_OBJECT_DIRECTORY": str(new),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": _as_entry(objects),
            }

        return _Git(folder, until=self._until, environment=environment)

    def place(self) -> _Place:
        """Return where the repository around the folder is."""
        asked = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "index",
                 "--git-path", "objects", "--git-common-dir", "--git-dir")  # fmt: skip
        try:
            lines = self.run(*asked, "HEAD", "HEAD^{tree}")
        except _NoTreeError:
            # On a branch without a commit the question for HEAD fails.
            try:
                lines = self.run(*asked)
            except _NoTreeError:
                raise _NoTreeError("the project is in no git work tree that can be read") from None

        top, index, objects, common, git, *heads = os.fsdecode(lines).split("\n")[:-1]
        head, head_tree = heads or ("", "")

        return _Place(
            Path(top), Path(index), Path(objects), Path(common), Path(git), head, head_tree
        )

    def run(self, *arguments: str) -> bytes:
        """Return what git prints; raise _NoTreeError for any exit status but 0."""
        with self.started(*arguments) as call:
            return call.answer()

    @contextmanager
    def started(self, *arguments: str) -> Iterator["_Call"]:
        """Start git and wait for its end; the answer may be asked for meanwhile."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise _NoTreeError("git did not answer in time")

        command = [self._program, *_OPTIONS, "-C", str(self.folder), *arguments]
        # Arguments of this module, and paths after --: no shell is used.
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=self._environment,
            start_new_session=True,
        )
        with _killed_after(left, process), process:
            yield _Call(process, arguments[0], self._until)


class _Call(NamedTuple):
    """Git while it runs a command."""

    process: "subprocess.Popen[bytes]"
    name: str
    until: float

    def answer(self) -> bytes:
        """Return what it prints; raise _NoTreeError for any exit status but 0."""
        # A hostile work tree may have any number of names.
        pipe = self.process.stdout
        answer = b"" if pipe is None else pipe.read(_MOST_OUTPUT + 1)
        if len(answer) > _MOST_OUTPUT:
            _kill(self.process)
            raise _NoTreeError("the work tree has too many files")

        if self.process.wait() != 0:
            late = time.monotonic() >= self.until
            reason = "did not answer in time" if late else f"refused `git {self.name}`"
            raise _NoTreeError(f"git {reason}")
        return answer


@contextmanager
def _killed_after(seconds: float, process: "subprocess.Popen[bytes]") -> Iterator[None]:
    timer = Timer(seconds, _kill, [process])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    # Git may have started filters, so that its whole group is killed.
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _as_entry(path: Path) -> str:
    """Return `path` as an entry of a list of folders, quoted where it holds what parts entries."""
    text = str(path)
    if os.pathsep not in text and not text.startswith('"'):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
