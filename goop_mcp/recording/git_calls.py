"""Run git to read a repository: bounded in time and output.

Nothing of the repository runs without a person's trust, see `Git.reader`.

Loaded before everything else of a recorded run, so that git works while the rest is loaded. For the
same reason it knows paths as texts: `pathlib` is loaded meanwhile.
"""

import os
import selectors
import stat
import subprocess
import time
from typing import Final, NamedTuple, Self

from goop_mcp.errors import GoopError
from goop_mcp.processes import end_marked, kill_group, marked, new_mark
from goop_mcp.recording.configured_programs import (
    SETTINGS,
    RepositoryPrograms,
    flattened,
    plain_configuration,
    read_programs,
    read_small,
)
from goop_mcp.recording.rooms import furnish, make_room, remove_room
from goop_mcp.workspace.git_process import NO_FETCH, NOTHING_RUNS, git_program

__all__ = [
    "LISTING",
    "SECONDS",
    "FileIdentity",
    "Git",
    "GitCall",
    "NoTreeError",
    "Place",
    "answers",
    "asked_git",
    "identity_of",
    "is_ours",
    "repository_of",
]

SECONDS: Final = 30.0
"""The time limit of everything that one look at a repository asks of git."""

_MOST_OUTPUT: Final = 64 * 1024 * 1024
_BLOCK: Final = 256 * 1024
_OPTIONS: Final = (
    *NOTHING_RUNS,
    "--no-replace-objects",
    # With other values, a file of the same size and time counts as the same, whoever set the time.
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.ignoreStat=false",
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
_ALWAYS: Final = {**NO_FETCH, "GIT_OPTIONAL_LOCKS": "0"}
_LINK: Final = "gitdir: "
_LONGEST_LINK: Final = 64 * 1024
_PLACE: Final = (
    "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "index",
    "--git-path", "objects", "--git-common-dir", "--git-dir",
)  # fmt: skip

LISTING: Final = ("ls-files", "-v", "-s", "-c", "-m", "-d", "-o", "--exclude-standard", "-z")
"""Lists the files of the index, and of these those that differ on disk; and untracked ones.

Git runs filters for it, so that only a `Git.reader` is asked.
"""


class NoTreeError(GoopError):
    """Raised where a state has no digest; the text is one clause for `WorkTree.why`."""


class Place(NamedTuple):
    """Where a repository is; `head` and `head_tree` are "" on a branch without a commit."""

    top: str
    index_file: str
    objects: str
    common: str
    git: str
    head: str = ""
    head_tree: str = ""


class FileIdentity(NamedTuple):
    """What distinguishes a file from another one at its path, or from a later content."""

    device: int
    number: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, about: os.stat_result) -> Self:
        """Return the identity of a file that the system described."""
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


class EarlyListing(NamedTuple):
    """A listing that was started before git answers where the repository is.

    It is that of the work tree `top` if git's own index is `index_file` and that file is still
    `identity`, None for no file.
    """

    call: "GitCall"
    top: str
    index_file: str
    identity: FileIdentity | None


class _Shared:
    """What all calls of one look have in common."""

    def __init__(self) -> None:
        program = git_program()
        if program is None:
            raise NoTreeError("git is not installed")

        self.program = program
        self.until = 0.0
        self.running: list[GitCall] = []
        self.rooms: list[str] = []


class Git:
    """Runs git in one folder, for one look at the repository after another.

    As a context manager it ends whatever still runs, and what that started. `room` is the folder of
    a `reader` for the time until then, "" for any other.
    """

    def __init__(self, folder: str, *, of: "Git | None" = None, **variables: str) -> None:
        self.folder = folder
        self.room = ""
        self.known: Place | None = None
        self.early: EarlyListing | None = None
        self._asked: GitCall | None = None
        self._settings: GitCall | None = None
        self._reader: tuple[Place, Git] | None = None
        self._shared: _Shared = _Shared() if of is None else of._shared
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ALWAYS
        self._environment: dict[str, str] = (kept if of is None else of._environment) | variables
        if of is None:
            # The time limit is shared: one that was made `of` another does not begin it again.
            self.may_take(SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End whatever still runs; later calls start again."""
        while self._shared.running:
            self._shared.running.pop().end()
        while self._shared.rooms:
            remove_room(self._shared.rooms[-1])
            self._shared.rooms.pop()
        self._asked = self._settings = self._reader = self.early = None

    def may_take(self, seconds: float) -> None:
        """End every call `seconds` from now."""
        self._shared.until = time.monotonic() + seconds

    def at(self, folder: str, **variables: str) -> "Git":
        """Return git in another folder; what that one starts ends with this one."""
        return Git(folder, of=self, **variables)

    def run(self, *arguments: str, source: int = subprocess.DEVNULL) -> bytes:
        """Return what git prints; raise NoTreeError for any exit status but 0."""
        return answers(self.start(*arguments, source=source))[0]

    def start(self, *arguments: str, source: int = subprocess.DEVNULL) -> "GitCall":
        """Start git with `source` as standard input, and return it while it runs."""
        command = [self._shared.program, *_OPTIONS, "-C", self.folder, *arguments]
        mark = new_mark()
        try:
            # Arguments of this package, and paths after --: no shell is used.
            process = subprocess.Popen(  # noqa: S603
                command,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=marked(self._environment, mark),
                bufsize=0,
                start_new_session=True,
            )
            call = GitCall(process, arguments[0], self._shared, mark)
            self._shared.running.append(call)
        except (KeyboardInterrupt, SystemExit):
            # A signal that came while it was being started: only the mark names the process.
            end_marked(mark)
            raise
        return call

    def ask(self) -> None:
        """Ask where the repository around the folder is, and what its files are, at once.

        `place` and `early` have the answers. Where the repository is, is known from the last look
        or follows from the folders; git's own answer decides whether the listing is of any use.
        """
        if self._asked is not None:
            return

        # A listing of the last look is about files that may have changed since, and so may the
        # configuration.
        self.early = self._settings = self._reader = None
        expected = self.known or _expected(self.folder)
        self._asked = self.start(*_PLACE, "HEAD", "HEAD^{tree}")
        if expected is None:
            return
        content = plain_configuration(expected.git, expected.common)
        if content is None:
            self._settings = self.start(*SETTINGS)
            return

        reader = self._reading(expected, content)
        self._reader = expected, reader
        identity = identity_of(expected.index_file)
        listing = reader.start(*LISTING)
        self.early = EarlyListing(listing, expected.top, expected.index_file, identity)

    def place(self) -> Place:
        """Return where the repository around the folder is, and keep it as `known`."""
        self.ask()
        asked, self._asked = self._asked, None
        try:
            lines = answers(asked)[0] if asked is not None else b""
        except NoTreeError:
            # On a branch without a commit the question for HEAD fails.
            try:
                lines = self.run(*_PLACE)
            except NoTreeError:
                raise NoTreeError("the project is in no git work tree that can be read") from None

        self.known = Place(*os.fsdecode(lines).split("\n")[:-1])
        return self.known

    def programs(self, common: str) -> RepositoryPrograms:
        """Return all programs in the configuration of the repository, as a person trusts them.

        `common` is its folder, as in `Place`. Raises NoTreeError.
        """
        return read_programs(os.fsdecode(self.run(*SETTINGS)), common, checks_out=True)

    def reader(self, place: Place, *, nested: str = "") -> "Git":
        """Return git that may compare the files of the work tree at `place`.

        It reads the configuration as it is now, and not what is written there later. Raises
        NoTreeError where that names programs which no person trusts; `nested` is the folder of a
        repository in the project, "" for its own.
        """
        early, self._reader = self._reader, None
        if early is not None:
            known, reader = early
            expected = (place.top, place.git, place.common)
            if (known.top, known.git, known.common) == expected:
                return reader

        asked, self._settings = self._settings, None
        content = None if asked else plain_configuration(place.git, place.common)
        if content is None:
            listing = os.fsdecode(answers(asked or self.start(*SETTINGS))[0])
            if why := read_programs(listing, place.common).refusal(nested=nested):
                raise NoTreeError(why)
            content = flattened(listing)

        return self._reading(place, content)

    def _reading(self, place: Place, content: bytes) -> "Git":
        room = make_room(self._shared.rooms)
        furnish(room, content, place.common)
        # With the folders by their names, git looks for none: it would pass over a damaged
        # repository to that of a folder above, whose configuration was not read.
        reader = self.at(
            place.top,
            GIT_DIR=place.git,
            GIT_COMMON_DIR=room,
            GIT_OBJECT_DIRECTORY=place.objects,
            GIT_WORK_TREE=place.top,
        )
        reader.room = room
        return reader


class GitCall:
    """One process of git; `name` is its subcommand."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", name: str, shared: _Shared, mark: str
    ) -> None:
        self.process, self.name = process, name
        self.output = bytearray()
        self._shared, self._mark = shared, mark

    @property
    def seconds_left(self) -> float:
        """How long it may still run."""
        return self._shared.until - time.monotonic()

    def end(self) -> None:
        """End it with all that it started, such as filters, and wait for it."""
        if self.process.returncode is None:
            kill_group(self.process)
        # Where it had ended by itself, nothing is left to look for.
        if self.process.wait() < 0:
            end_marked(self._mark)
        self._close()

    def answer(self) -> bytes:
        """Return what it printed until its output ended; raise NoTreeError unless it succeeded."""
        try:
            # It has closed its output, and is about to end.
            status = self.process.wait(max(self.seconds_left, 0))
        except subprocess.TimeoutExpired:
            self.end()
            raise NoTreeError("git did not answer in time") from None

        self._close()
        if status != 0:
            raise NoTreeError(f"git refused `git {self.name}`")
        return bytes(self.output)

    def _close(self) -> None:
        if self.process.stdout is not None:
            self.process.stdout.close()
        if self in self._shared.running:
            self._shared.running.remove(self)


def asked_git(folder: str) -> Git | None:
    """Return git that was asked for the repository around `folder`; None without git.

    The answer comes while the caller does other things.
    """
    try:
        git = Git(folder)
    except NoTreeError:
        return None
    try:
        git.ask()
    except (NoTreeError, OSError):
        git.end()
        return None
    except BaseException:
        # A signal: the caller does not know it yet.
        git.end()
        raise
    return git


def answers(*calls: GitCall) -> list[bytes]:
    """Return what each of `calls` prints, read while all of them run.

    Raises NoTreeError for any exit status but 0, output without end, and at the time limit.
    """
    with selectors.DefaultSelector() as selector:
        for call in calls:
            selector.register(call.process.stdout or -1, selectors.EVENT_READ, call)

        while selector.get_map():
            ready = selector.select(max(min(call.seconds_left for call in calls), 0))
            if not ready:
                for call in calls:
                    call.end()
                raise NoTreeError("git did not answer in time")

            for key, _ in ready:
                # A hostile work tree may have any number of names.
                if len(key.data.output) > _MOST_OUTPUT:
                    key.data.end()
                    raise NoTreeError("the work tree has too many files")
                data = os.read(key.fd, _BLOCK)
                key.data.output += data
                if not data:
                    selector.unregister(key.fileobj)

    return [call.answer() for call in calls]


def identity_of(path: str) -> FileIdentity | None:
    """Return what distinguishes the file at `path`, None if there is none."""
    try:
        return FileIdentity.of(os.lstat(path))
    except OSError:
        return None


def repository_of(folder: str) -> tuple[str, str] | None:
    """Return git's folder for the work tree `folder`, and the one with the configuration.

    They differ in linked work trees. None where neither can be read. Starts no process.
    """
    git = f"{folder}{os.sep}.git"
    try:
        # A submodule or a linked work tree: one line names the folder.
        link = os.fsdecode(read_small(git, most=_LONGEST_LINK))
        if not link.startswith(_LINK):
            return None
        git = _from(folder, link.removeprefix(_LINK))
    except OSError:
        # The folder itself, in most cases; what is neither has no entries.
        pass
    try:
        link = os.fsdecode(read_small(f"{git}{os.sep}commondir", most=_LONGEST_LINK))
    except FileNotFoundError:
        return os.path.realpath(git), os.path.realpath(git)
    except OSError:
        return None

    return os.path.realpath(git), os.path.realpath(_from(git, link))


def _from(folder: str, path: str) -> str:
    """Return `path`, which git wrote as one line, as seen from `folder`."""
    path = path.rstrip("\r\n")
    return path if path[:1] == os.sep or path[1:2] == ":" else f"{folder}{os.sep}{path}"


def _expected(folder: str) -> Place | None:
    """Return where the work tree around `folder` is, as it is in most cases."""
    top = os.path.realpath(folder)
    while identity_of(git := f"{top}{os.sep}.git") is None:
        top = top.rpartition(os.sep)[0]
        if not top:
            return None

    # A file there leads to the folder of a submodule or of a linked work tree: git knows. It also
    # knows whether to read the repository of another user.
    index_file = f"{git}{os.sep}index"
    if identity_of(index_file) is None or not _is_whole(git):
        return None

    return Place(top, index_file, f"{git}{os.sep}objects", git, git)


def _is_whole(git: str) -> bool:
    """Return whether `git` is a folder of the user that leads to no other one."""
    about = os.lstat(git)
    leads = os.path.lexists(f"{git}{os.sep}commondir")
    return stat.S_ISDIR(about.st_mode) and _is_own(about) and not leads


def is_ours(path: str) -> bool:
    """Return whether the user of this process owns what is at `path`, as git asks it."""
    return _is_own(os.lstat(path))


def _is_own(about: os.stat_result) -> bool:
    return not hasattr(os, "geteuid") or about.st_uid == os.geteuid()
