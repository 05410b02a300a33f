"""The digest of a work tree: the id of a git tree object with all files as they are on disk.

Status, times and the commit say too little: a file may be untracked, changed twice within one
second, or committed without a change of its content. So git itself writes the tree, from a copy of
its index and into a folder of objects that is removed again: the repository is only read.

Hooks and the file system monitor of the repository do not run, nothing is fetched and no lock is
taken. Filters that the user's git configuration names for changed files do run, as for `git add`;
those of the repository's own only where a person trusts them, see `configured_programs`.
"""

import os
import stat
from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple, Self

from goop_mcp.command_words import is_value
from goop_mcp.evidence.recorded_runs import MOST_CHANGES, RecordedRun, WorkTree
from goop_mcp.recording.git_calls import (
    LISTING,
    SECONDS,
    FileIdentity,
    Git,
    GitCall,
    NoTreeError,
    Place,
    answers,
    is_ours,
    repository_of,
)

__all__ = [
    "TreeLook",
    "digest_work_tree",
    "files_changed_since",
    "folder_of_project",
    "main_work_tree",
    "top_of_work_tree",
    "unseen_changes",
]

_MOST_FILES: Final = 20_000
_MOST_BYTES: Final = 200 * 1024 * 1024
_MOST_REPOSITORIES: Final = 100
_NAMED: Final = 3
_BLOCK: Final = 1024 * 1024
_ENTRY_PARTS: Final = 4
_RAW_PARTS: Final = 5
_GITLINK: Final = "160000"
_STATE: Final = ".goopspec"


class _Listing(NamedTuple):
    """What differs from the index, and what is special in it.

    `changed` are files that differ or are untracked, of which `removed` are not on disk.
    `repositories` are the folders of nested repositories and submodules, and `moved` those whose
    commit is another one. `state` are the tracked files of .goopspec. Of files that are marked
    `assumed` (assume-unchanged) or `skipped` (skip-worktree), git does not see changes.
    """

    changed: Sequence[str]
    removed: Sequence[str]
    repositories: Sequence[str]
    moved: Sequence[str]
    state: Sequence[str]
    assumed: Sequence[str]
    skipped: Sequence[str]

    @property
    def is_clean(self) -> bool:
        """Whether the index describes the disk, .goopspec aside."""
        return not (self.changed or self.moved)


def digest_work_tree(
    project: Path, *, scopes: Sequence[tuple[str, ...]] = (), seconds: float = SECONDS
) -> WorkTree:
    """Return the state of the files of the work tree that `project` is in.

    The whole work tree counts, also where the project is a folder of it, without the project's
    .goopspec. Ignored files and what filters normalise are not seen. `scopes` are lists of paths,
    relative to the project, that get digests of their own. Never raises: a state without a digest
    says why.
    """
    with TreeLook(project, scopes=scopes, seconds=seconds) as look:
        return look.tree()


class TreeLook:
    """One look at the files of the work tree that `project` is in, in two steps.

    `read_files` returns when every file was compared or read: from then on, files may change. What
    is left only concerns a copy of the index and new objects, and `tree` waits for it; see
    `digest_work_tree`. `git` is one that was asked for the repository before, or looked at it,
    which saves time.
    """

    def __init__(
        self,
        project: Path,
        *,
        scopes: Sequence[tuple[str, ...]] = (),
        seconds: float = SECONDS,
        git: Git | None = None,
    ) -> None:
        self._folder, self._scopes, self._seconds = project.resolve(), scopes, seconds
        self._git = git
        self._read: _ReadFiles | None = None
        self._why = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._git is not None:
            self._git.end()

    def begin(self) -> None:
        """Start git, which compares the files while the caller does other things. Never raises."""
        try:
            if self._git is None:
                self._git = Git(str(self._folder))
            self._git.may_take(self._seconds)
            self._git.ask()
        except (NoTreeError, OSError) as error:
            self._why = _reason(error)

    def read_files(self) -> None:
        """Compare or read every file. Never raises."""
        self.begin()
        if self._git is None or self._why:
            return
        try:
            self._read = _read_files(self._git, self._folder)
        except (NoTreeError, OSError) as error:
            self._why = _reason(error)

    def tree(self, *, lists_changes: bool = True) -> WorkTree:
        """Return the state of the files; to be called once.

        Without `lists_changes`, the files that differ from the commit are not listed.
        """
        if self._read is None and not self._why:
            self.read_files()
        if self._read is None or self._git is None:
            return WorkTree(why=self._why)

        try:
            # The command may have run for hours meanwhile.
            self._git.may_take(self._seconds)

            git, place = self._read.git, self._read.place
            digest = answers(self._read.written)[0].decode("ascii").strip()
            if not digest:
                raise NoTreeError("git refused `git write-tree`")

            is_committed = digest == place.head_tree
            changes = (
                _changes(git, place, self._read.state) if lists_changes and not is_committed else []
            )
            parts: dict[tuple[str, ...], str] = {}
            within = self._folder.relative_to(place.top).as_posix() if self._scopes else "."
            for paths in self._scopes:
                named = [
                    f":(top,literal){path if within == '.' else f'{within}/{path}'}".rstrip("/")
                    for path in paths
                ]
                # Few checks name paths, and a command that is about to start would wait for it to
                # be loaded.
                listed = git.run("ls-files", "-s", "-z", "--", *named)
                parts[paths] = str(import_module("hashlib").sha256(listed).hexdigest())

            return WorkTree(
                digest=digest,
                head=place.head,
                changes=tuple(changes[:MOST_CHANGES]),
                changes_whole=is_committed or (lists_changes and len(changes) <= MOST_CHANGES),
                scopes=parts,
            )
        except (NoTreeError, OSError) as error:
            return WorkTree(why=_reason(error))


def files_changed_since(project: Path, run: RecordedRun, now: WorkTree) -> tuple[str, ...]:
    """Return the files, by path, that differ between the tree of `run` and the tree `now`.

    Empty where that is not known: one of them has no digest, or a commit is gone.
    """
    then = run.after
    if not (then.digest and now.digest) or then.digest == now.digest:
        return ()

    between: dict[str, tuple[str, str]] = {}
    if then.head != now.head:
        if not (is_value(then.head) and is_value(now.head)):
            return ()
        try:
            with Git(str(project.resolve())) as git:
                raw = git.run("diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev",
                              then.head, now.head)  # fmt: skip
        except (NoTreeError, OSError):
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


def unseen_changes(folder: Path) -> str:
    """Return why git may not show each change in the work tree of `folder`, "" if it does.

    Those of submodules count by what is in them, which `git status --ignore-submodules=dirty` does
    not look at.
    """
    try:
        with Git(str(folder.resolve())) as git:
            place = git.place()
            listing = _listing(git.reader(place).run(*LISTING), None)
            _refuse_hidden(Path(place.top), listing)
            _refuse_dirty_repositories(git, Path(place.top), listing.repositories)
    except (NoTreeError, OSError) as error:
        return _reason(error)

    return ""


def main_work_tree(folder: Path) -> Path | None:
    """Return the main work tree if `folder` is in a linked one; None otherwise, or if unknown."""
    try:
        with Git(str(folder.resolve())) as git:
            place = git.place()
    except (NoTreeError, OSError):
        return None

    common = Path(place.common)
    if place.common == place.git or common.name != ".git":
        return None

    # The project may be a folder of the work tree: it is the same folder of the other one.
    return common.parent / folder.resolve().relative_to(place.top)


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


class _ReadFiles(NamedTuple):
    """Files that were read: `git` has an index that describes them, `written` is about to end."""

    git: Git
    place: Place
    state: str
    written: GitCall


def _reason(error: NoTreeError | OSError) -> str:
    if isinstance(error, NoTreeError):
        return str(error)
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    return f"the state of the files could not be read ({reason})"


def _read_files(git: Git, folder: Path) -> _ReadFiles:
    place = git.place()
    if not os.path.lexists(f"{place.top}{os.sep}.git"):
        # A hostile one leads to the top of the machine, with every file as one of the project.
        raise NoTreeError("its work tree is set to another folder (core.worktree)")

    reader = git.reader(place)
    room = Path(reader.room)
    index, objects = room / "index", room / "objects"
    identity = _copy_index(place.index_file, index)
    objects.mkdir()
    look = reader.at(
        place.top,
        GIT_INDEX_FILE=str(index),
        GIT_OBJECT_DIRECTORY=str(objects),
        GIT_ALTERNATE_OBJECT_DIRECTORIES=_as_entry(place.objects),
    )
    early, listed = git.early, None
    # What was listed before is of use if it is about the files and the index that were copied.
    if early and early[1:] == (place.top, place.index_file, identity):
        listed = early.call
    listed = listed or look.start(*LISTING)
    written = look.start("write-tree")

    top = Path(place.top)
    inside = folder.relative_to(top).as_posix()
    state = _STATE if inside == "." else f"{inside}/{_STATE}"
    listing = _listing(answers(listed)[0], state)
    _refuse_hidden(top, listing)
    folders = _refuse_too_much(top, listing.changed)
    # A file may have become a repository.
    made = tuple(each for each in folders if os.path.lexists(top / each / ".git"))
    # They have an index and objects of their own.
    _refuse_dirty_repositories(git, top, (*listing.repositories, *made))

    # In most cases the index is as the files are, and then its tree is that of the files.
    if not listing.is_clean or listing.state:
        # It holds the lock of the index that is to be changed now; one with conflicts has no tree.
        with suppress(NoTreeError):
            answers(written)
        gone = {*listing.removed, *listing.state, *folders, *_beyond_links(top, listing.changed)}
        present = {*listing.changed, *listing.moved} - gone
        _update(look, room / "names", gone, present | {*made})
        written = look.start("write-tree")

    return _ReadFiles(look, place, state, written)


def _update(git: Git, file: Path, gone: Set[str], present: Set[str]) -> None:
    """Take `gone` out of the index and bring it up to what is `present` on disk.

    `file` is where their names are written. `git add` would look into each submodule, with the
    programs that its configuration names.
    """
    removing, adding = ("--force-remove",), ("--add", "--remove", "--replace")
    for names, options in ((gone, removing), (present, adding)):
        if names:
            # A file that became a folder comes before what is in it.
            file.write_bytes(b"".join(os.fsencode(each) + b"\0" for each in sorted(names)))
            with file.open("rb") as source:
                git.run("update-index", *options, "-z", "--stdin", source=source.fileno())


def _beyond_links(top: Path, names: Sequence[str]) -> Iterator[str]:
    """Yield those of `names` on whose path a folder is a link: they are none of the project."""
    links: dict[str, bool] = {}
    for name in names:
        at = 0
        while (at := name.find("/", at + 1)) > 0:
            folder = name[:at]
            if folder not in links:
                links[folder] = (top / folder).is_symlink()
            if links[folder]:
                yield name
                break


def _copy_index(source: str, target: Path) -> FileIdentity | None:
    """Copy the index with its time, if there is one; return what was copied.

    Git compares a file again if it is not older than the index: with a newer time, a change within
    the same tick of the clock as the last `git add` would be missed.
    """
    try:
        with Path(source).open("rb") as file:
            about = os.fstat(file.fileno())
            with target.open("wb") as copy:
                while block := file.read(_BLOCK):
                    copy.write(block)
    except FileNotFoundError:
        return None

    os.utime(target, ns=(about.st_atime_ns, about.st_mtime_ns))
    return FileIdentity.of(about)


def _listing(raw: bytes, state: str | None) -> _Listing:
    """Read the answer to `LISTING`; `state` is the folder that does not count."""
    changed: dict[str, None] = {}
    removed: dict[str, None] = {}
    repositories: dict[str, None] = {}
    moved: dict[str, None] = {}
    tracked_state: dict[str, None] = {}
    assumed: dict[str, None] = {}
    skipped: dict[str, None] = {}

    for entry in raw.split(b"\0"):
        if not entry:
            continue

        tag, _, rest = entry.partition(b" ")
        about, tab, path = rest.partition(b"\t") if tag != b"?" else (b"", b"", rest)
        del tab
        name = os.fsdecode(path)
        is_repository = about.startswith(_GITLINK.encode()) or name.endswith("/")
        if state is not None and name.startswith(f"{state}/"):
            if tag != b"?":
                tracked_state.setdefault(name)
            continue

        if is_repository:
            name = name.rstrip("/")
            repositories.setdefault(name)
        if tag.islower():
            assumed.setdefault(name)
        elif tag == b"S":
            skipped.setdefault(name)
        elif tag != b"H":
            # Modified, removed, unmerged or untracked.
            (moved if is_repository else changed).setdefault(name)
            if tag == b"R":
                removed.setdefault(name)

        if len(changed) > _MOST_FILES:
            break

    return _Listing(
        changed=tuple(changed),
        removed=tuple(removed),
        repositories=tuple(repositories),
        moved=tuple(moved),
        state=tuple(tracked_state),
        assumed=tuple(assumed),
        skipped=tuple(skipped),
    )


def _refuse_hidden(top: Path, listing: _Listing, *, nested: str = "") -> None:
    """Refuse files that are marked so that git does not look for changes."""
    # Of a sparse checkout the other files are not there, and their marks hide nothing.
    there = tuple(_present(str(top), listing.skipped))
    for names, mark in ((listing.assumed, "assume-unchanged"), (there, "skip-worktree")):
        if names:
            excerpt = import_module("goop_mcp.validation.findings").excerpt
            shown = ", ".join(repr(excerpt(f"{nested}{each}")) for each in names[:_NAMED])
            more = len(names) - _NAMED
            raise NoTreeError(
                shown
                + (f" and {more} more" if more > 0 else "")
                + f" {'is' if len(names) == 1 else 'are'} marked {mark}, so that git sees no change"
                f" there; take the mark off: git update-index --no-{mark} FILE"
            )


def _present(top: str, names: Sequence[str]) -> Iterator[str]:
    """Yield those of `names`, sorted, that are on disk; looks for each folder once."""
    absent = None
    for name in names:
        if absent is not None and name.startswith(absent):
            continue
        if os.path.lexists(f"{top}{os.sep}{name}"):
            yield name
            continue
        absent = None
        folder = name.rpartition("/")[0]
        while folder and not os.path.lexists(f"{top}{os.sep}{folder}"):
            absent = f"{folder}/"
            folder = folder.rpartition("/")[0]


def _refuse_too_much(top: Path, changed: Sequence[str]) -> list[str]:
    """Refuse more than can be read in time; return which of `changed` are folders by now."""
    if len(changed) > _MOST_FILES:
        raise NoTreeError(
            f"more than {_MOST_FILES:,} files are changed or untracked; ignore what is generated in"
            " .gitignore"
        )

    size, folders = 0, []
    for name in changed:
        with suppress(OSError):
            about = (top / name).lstat()
            size += about.st_size
            if stat.S_ISDIR(about.st_mode):
                folders.append(name)
        if size > _MOST_BYTES:
            raise NoTreeError(
                f"the changed and untracked files have more than {_MOST_BYTES // 1024**2} MB;"
                " ignore what is generated in .gitignore"
            )

    return folders


def _refuse_dirty_repositories(git: Git, top: Path, names: Sequence[str]) -> None:
    """Refuse nested repositories whose content is more than the commit that a tree names."""
    # The list grows: git itself would look into those of a nested one without asking what they run.
    waiting = list(names)
    for name in waiting:
        if len(waiting) > _MOST_REPOSITORIES:
            raise NoTreeError(f"it has more than {_MOST_REPOSITORIES} submodules or repositories")

        # A submodule that was not checked out has no content of its own.
        folder = top / name
        if not (folder / ".git").exists():
            continue
        found = repository_of(str(folder))
        if found is None:
            raise NoTreeError(f"the nested repository {name!r} cannot be read")

        place = Place(str(folder), "", f"{found[1]}{os.sep}objects", found[1], found[0])
        inner = git.at(str(folder), GIT_WORK_TREE=str(folder))
        try:
            reader = inner.reader(place, nested=name)
            # Whether it reads that of another user, git decides where it finds it by itself.
            reader = reader if is_ours(found[0]) else inner
        except OSError:
            raise NoTreeError(f"the nested repository {name!r} cannot be read") from None
        waiting += (f"{name}/{each}" for each in _clean_repositories(inner, reader, name))


def _clean_repositories(git: Git, reader: Git, name: str) -> Sequence[str]:
    """Return the repositories in the nested one `name`, which must be as its commit is.

    `reader` compares its files, and `git` only reads objects.
    """
    # A submodule may be set to be ignored, and would hide that its commit is another one.
    against_commit = ("diff-index", "--cached", "--raw", "-z", "--ignore-submodules=none", "HEAD")
    listed, staged = reader.start(*LISTING), git.start(*against_commit)
    try:
        listing = _listing(answers(listed)[0], None)
    except NoTreeError:
        raise NoTreeError(f"the nested repository {name!r} cannot be read") from None
    try:
        is_staged = bool(answers(staged)[0])
    except NoTreeError:
        raise NoTreeError(f"the nested repository {name!r} has no commit") from None

    _refuse_hidden(Path(git.folder), listing, nested=f"{name}/")
    if is_staged or not listing.is_clean:
        raise NoTreeError(
            f"the nested repository {name!r} has changes of its own; commit them, or ignore the"
            " folder in .gitignore"
        )

    return listing.repositories


def _changes(git: Git, place: Place, state: str) -> list[tuple[str, str]]:
    """Return path and blob of what differs from the commit, in the order of the paths."""
    if place.head:
        # By its id: a reader knows no branches.
        raw = git.run("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev",
                      place.head, "--")  # fmt: skip
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


def _as_entry(text: str) -> str:
    """Return a path as an entry of a list of folders, quoted where it holds what parts entries."""
    if os.pathsep not in text and not text.startswith('"'):
        return text
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{quoted}"'
