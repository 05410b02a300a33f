"""Look up commits with git, without running anything that the repository contains.

Only `cat-file` and other commands that read objects and the index are used, never those that
compare or write files: no hooks, filters, pagers or signature checks run, nothing is fetched, and
no lock is taken.
"""

import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO

from goop_mcp.errors import GoopError
from goop_mcp.processes import end_marked, kill_group, marked, new_mark
from goop_mcp.workspace.git_links import leads_elsewhere
from goop_mcp.workspace.git_process import NO_FETCH, NOTHING_RUNS, git_program

__all__ = [
    "TIMEOUT",
    "CommitLookup",
    "GitError",
    "GitTooSlowError",
    "Repository",
    "files_state",
]

TIMEOUT = 10.0
"""The time limit of one call of git, in seconds."""

_LARGEST_COMMIT = 256 * 1024
"""The size of the largest commit object that is read for its subject, in bytes."""

_SAFE = (
    *NOTHING_RUNS,
    "--no-replace-objects",
    "-c",
    "core.disambiguate=commit",
    # Any checkout may contain a folder with the files of a repository, whose configuration git
    # would follow although nobody cloned it.
    "-c",
    "safe.bareRepository=explicit",
)
_MOST_WALKED = 5_000
"""How many commits one search for the refs of a commit visits at most."""

_MOST_ANSWERED = 64 * 1024 * 1024
_MOST_COMPLAINED = 16 * 1024
_LARGEST_INDEX = 2 * 1024 * 1024
_MOST_DIFFERING = 500
_STATE_SECONDS = 2.0
_STATE_DIGITS = 16

_COMPARED = (
    "--literal-pathspecs",
    "diff-tree",
    "-r",
    "--name-only",
    "-z",
    "--no-renames",
    "--relative",
)
# What follows the name of a file. The name may hold line feeds, so that it is not in the pattern:
# it is all that stands between two of these.
_STAMP = re.compile(
    r"\0  ctime: \d{1,20}:\d{1,20}\n  mtime: (\d{1,20}):(\d{1,20})\n  dev: [^\n]*\n  uid: [^\n]*\n"
    r"  size: (\d{1,20})\t[^\n]*\n"
)
_REASONS = {
    "not a git repository": "the project is not a git repository",
    "dubious ownership": "the repository belongs to another user, and git refuses to read it",
}
_KEPT = ("PATH", "HOME")
_ALWAYS = {**NO_FETCH, "GIT_OPTIONAL_LOCKS": "0"}


class GitError(GoopError):
    """Raised when git fails; the text is a clause with the reason, without absolute paths."""


class GitTooSlowError(GitError):
    """Raised when git does not answer in time, so that nothing is known about what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLookup:
    """The result of a lookup: each id is found, ambiguous or missing.

    `subjects` maps the ids found to the subject of the commit, None for a commit that was not read;
    `full` maps them to full ids.
    """

    subjects: Mapping[str, str | None] = field(default_factory=dict)
    full: Mapping[str, str] = field(default_factory=dict)
    ambiguous: frozenset[str] = frozenset()
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository of the absolute path `folder`, which is in the project `project`, or is it.

    `until` is the `time.monotonic()` at which all its calls of git end, None for no common end.
    """

    folder: Path
    project: Path | None = None
    until: float | None = None

    def look_up(self, ids: Sequence[str], *, subjects: bool = True) -> CommitLookup:
        """Return which of `ids` (4 to 64 hexadecimal digits each) are commits.

        Starts one process for any number of ids, and another one to read the subjects. Raises
        GitError if git is not installed, there is no repository, or git does not answer in time.
        """
        form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
        lines = self._run(["cat-file", form], ids).decode("ascii", "replace").splitlines()
        if len(lines) != len(ids):
            raise GitError("git gave an answer that was not expected")

        answers = {id: line.split() for id, line in zip(ids, lines, strict=True)}
        found = {id: words for id, words in answers.items() if words[1:2] == ["commit"]}
        small = [words[0] for words in found.values() if int(words[2]) <= _LARGEST_COMMIT]
        answer = self._run(["cat-file", "--batch"], small) if subjects and small else b""

        # Each object is a line with its id and size, its content, and a line feed.
        read: dict[str, str] = {}
        at = 0
        while at < len(answer):
            end = answer.index(b"\n", at)
            id, _, size = answer[at:end].decode("ascii").split()
            head, _, message = answer[end + 1 : end + 1 + int(size)].partition(b"\n\n")
            encoding = next(
                (line[9:] for line in head.split(b"\n") if line.startswith(b"encoding ")), b"utf-8"
            )
            try:
                text = message.decode(encoding.decode("ascii"), "replace")
            except (LookupError, UnicodeDecodeError):
                text = message.decode("utf-8", "replace")

            # The subject is the first paragraph of the message on one line, as git shows it.
            read[id] = " ".join(text.lstrip().partition("\n\n")[0].split())
            at = end + int(size) + 2

        ambiguous = frozenset(id for id, words in answers.items() if words[-1:] == ["ambiguous"])

        return CommitLookup(
            subjects={id: read.get(words[0]) for id, words in found.items()},
            full={id: words[0] for id, words in found.items()},
            ambiguous=ambiguous,
            missing=frozenset(answers.keys() - found.keys() - ambiguous),
        )

    def is_shallow(self) -> bool:
        """Whether this clone lacks older commits.

        Raises GitError as `look_up` does.
        """
        return self._run(["rev-parse", "--is-shallow-repository"], []).strip() == b"true"

    def head(self) -> str | None:
        """Return the full id of the checked-out commit, None if there is none. Raises GitError."""
        # The answer in a repository without a commit is "HEAD missing", and no error.
        form = "--batch-check=%(objectname) %(objecttype)"
        words = self._run(["cat-file", form], ["HEAD"]).decode("ascii", "replace").split()

        return words[0] if words[1:] == ["commit"] else None

    def may_have_hooks(self) -> bool:
        """Return whether git may run a hook in this folder. Raises GitError."""
        settings = self._names(["config", "--list", "-z"], [])
        for setting in settings:
            key, _, value = setting.partition("\n")
            # With the one that switches them off for us.
            if key == "core.hookspath" and value != os.devnull:
                return True
            if key.startswith("hook.") and key.endswith(".command"):
                return True
        common = self._run(["rev-parse", "--git-common-dir"], []).strip()
        with suppress(OSError):
            folder = self.folder / os.fsdecode(common) / "hooks"
            return any(each.suffix != ".sample" for each in folder.iterdir())
        return False

    def texts(self, commit: str, paths: Sequence[str]) -> dict[str, bytes] | None:
        """Return the content of each of `paths`, from this folder, that is a file in `commit`.

        `commit` is an id or HEAD. Links within the repository are followed. None without such a
        commit. Raises GitError.
        """
        names = [f"{commit}^{{commit}}", *(f"{commit}:./{path}" for path in paths)]
        answer, found, at = self._run(["cat-file", "--follow-symlinks", "--batch"], names), {}, 0
        for name in names:
            end = answer.index(b"\n", at)
            words = answer[at:end].split()
            at = end + 1
            # "NAME missing", else a line with a size, that many bytes, and a line feed.
            if not words[-1].isdigit():
                continue
            content = answer[at : at + int(words[-1])]
            at += len(content) + 1
            if words[1:2] in ([b"blob"], [b"commit"]):
                found[name] = content

        if names[0] not in found:
            return None
        return {path: found[n] for path, n in zip(paths, names[1:], strict=True) if n in found}

    def parents(self) -> tuple[str, ...] | None:
        """Return the parents of the checked-out commit, None if there is no commit yet."""
        try:
            ids = (
                self._run(["rev-list", "--parents", "--max-count=1", "HEAD"], [])
                .decode("ascii")
                .split()
            )
        except GitError:
            return None

        return tuple(ids[1:])

    def left_out(self, full_ids: Sequence[str], *, of: Sequence[str]) -> frozenset[str] | None:
        """Return the commits not reachable from the refs or ids `of`; None if there are too many.

        The search stops after `_MOST_WALKED` commits, so that a long history costs no more time.
        """
        found = self._run(
            ["rev-list", f"--max-count={_MOST_WALKED}", *full_ids, "--not", *of], []
        ).split()
        # At the limit the walk was cut, so that a commit missing from it proves nothing.
        if len(found) >= _MOST_WALKED:
            return None
        return frozenset(full_ids) & {id.decode("ascii") for id in found}

    def touched(self, full_ids: Sequence[str], paths: Sequence[str]) -> dict[str, set[str]]:
        """Map each commit to the paths in or below `paths` that it changed against any parent."""
        found: dict[str, set[str]] = {id: set() for id in full_ids}
        names: set[str] = set()

        for piece in self._names([*_COMPARED, "--stdin", "-m", "--root", "--", *paths], full_ids):
            # The output lists the id of each commit before its files. For a merge there is one list
            # for each parent, and the parent's id follows that of the commit.
            id = piece.split(" ", 1)[0]
            if id in found:
                names = found[id]
            else:
                names.add(piece)

        return found

    def changed(self, base: str, paths: Sequence[str]) -> set[str]:
        """Return which of `paths` differ between `base` and the checked-out commit."""
        return set(self._names([*_COMPARED, base, "HEAD", "--", *paths], []))

    def staged(self, paths: Sequence[str]) -> set[str]:
        """Return which of `paths` differ between the checked-out commit and the index."""
        options = [
            "--cached",
            "--name-only",
            "-z",
            "--no-renames",
            "--relative",
            "--ignore-submodules=all",
        ]
        return set(
            self._names(["--literal-pathspecs", "diff-index", *options, "HEAD", "--", *paths], [])
        )

    def stamps(self, paths: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return size and modification time (nanoseconds) that the index holds of tracked `paths`.

        The files themselves are not compared, because that would run the filters that the
        repository configures.
        """
        answer = self._run(["--literal-pathspecs", "ls-files", "--debug", "-z", "--", *paths], [])
        text, at = answer.decode("utf-8", "surrogateescape"), 0
        stamps: dict[str, tuple[int, int]] = {}
        for entry in _STAMP.finditer(text):
            name, at = text[at : entry.start()], entry.end()
            stamps[name] = int(entry[3]), int(entry[1]) * 1_000_000_000 + int(entry[2])

        return stamps

    def blobs(self, commit: str, paths: Sequence[str]) -> dict[str, str]:
        """Return the ids of those of `paths` that are files of `commit`, by path."""
        answer = self._run(["--literal-pathspecs", "ls-tree", "-z", commit, "--", *paths], [])
        found: dict[str, str] = {}
        for entry in answer.decode("utf-8", "surrogateescape").split("\0"):
            about, _, path = entry.partition("\t")
            if about.split()[1:2] == ["blob"]:
                found[path] = about.split()[2]

        return found

    def content(self, blob: str, *, most: int) -> bytes | None:
        """Return the content of a blob by its id, None where it has more than `most` bytes."""
        form = "--batch-check=%(objectsize)"
        size = self._run(["cat-file", form], [blob]).strip()
        if not size.isdigit() or int(size) > most:
            return None
        return self._run(["cat-file", "blob", blob], [])

    def uncommitted(self) -> dict[str, tuple[int, int]] | None:
        """Return size and modification time of the tracked files that differ from the index.

        The paths are those from this folder. None where the repository is too large to look at each
        file, or too many differ. Raises GitError.
        """
        try:
            # The repository may be that of a parent folder. Where `.git` is a file that leads to a
            # repository elsewhere, the index is not looked for.
            parents = (self.folder, *self.folder.parents)
            top = next((each for each in parents if os.path.lexists(each / ".git")), None)
            index = top / ".git" / "index" if top is not None else None
            if index is None or not index.is_file() or index.stat().st_size > _LARGEST_INDEX:
                return None
        except OSError:
            return None

        differing: dict[str, tuple[int, int]] = {}
        for path, stamp in self.stamps(()).items():
            try:
                # As text: thousands of `Path` take longer than looking at the files.
                real = os.lstat(f"{self.folder}{os.sep}{path}")
            except OSError:
                # A file that is gone is not a file that an agent can leave unchanged.
                continue
            if (real.st_size, real.st_mtime_ns) != stamp:
                differing[path] = real.st_size, real.st_mtime_ns
            if len(differing) > _MOST_DIFFERING:
                return None

        return differing

    def untracked(self) -> list[str]:
        """Return the files that git neither tracks nor ignores, from this folder.

        Raises GitError.
        """
        options = ["--others", "--exclude-standard", "-z", "--", ".", ":(exclude).goopspec"]
        return self._names(["ls-files", *options], [])

    def _names(self, arguments: Sequence[str], lines: Sequence[str]) -> list[str]:
        answer = self._run(arguments, lines).decode("utf-8", "surrogateescape")
        return [name for name in answer.split("\0") if name]

    def _run(self, arguments: Sequence[str], lines: Sequence[str]) -> bytes:
        if leads_elsewhere(self.folder, self.project or self.folder):
            raise GitError("its .git leads to another repository, which does not know this folder")

        program = git_program()
        if program is None:
            raise GitError("git is not installed")

        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _ALWAYS
        command = [program, *_SAFE, "-C", str(self.folder), *arguments]
        given = "".join(f"{line}\n" for line in lines).encode("ascii")

        seconds = TIMEOUT
        if self.until is not None:
            seconds = min(TIMEOUT, self.until - time.monotonic())
            if seconds <= 0:
                raise GitTooSlowError("git did not answer in time")

        return _answer(command, environment, given, seconds=seconds)


def files_state(folder: Path) -> str:
    """Return a short text that changes with the commit and the files of the repository.

    It is "" where that is not known within two seconds. The folder .goopspec does not count.
    """
    repository = Repository(folder, until=time.monotonic() + _STATE_SECONDS)
    try:
        tracked = repository.uncommitted()
        untracked = repository.untracked()
        if tracked is None or len(untracked) > _MOST_DIFFERING:
            return ""
        stamps = []
        for path in untracked:
            # One that is gone by now changes the state as well.
            with suppress(OSError):
                real = os.lstat(f"{folder}{os.sep}{path}")
                stamps.append((path, real.st_size, real.st_mtime_ns))
        kept = [each for each in tracked.items() if not each[0].startswith(".goopspec/")]
        state = repr((repository.head(), kept, stamps)).encode("utf-8", "surrogateescape")
    except GitError:
        return ""
    return sha256(state).hexdigest()[:_STATE_DIGITS]


def _answer(
    command: Sequence[str], environment: Mapping[str, str], given: bytes, *, seconds: float
) -> bytes:
    mark = new_mark()
    try:
        # Arguments of this module, ids of hexadecimal digits and literal paths: no shell is used.
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=marked(environment, mark),
            start_new_session=True,
        )
    except OSError as error:
        raise GitError(
            f"git cannot be started ({(error.strerror or 'unknown reason').lower()})"
        ) from None

    late = threading.Event()

    def end() -> None:
        # Git may have started programs, which may hold its output open.
        kill_group(process)
        end_marked(mark)

    def end_late() -> None:
        late.set()
        end()

    timer = threading.Timer(seconds, end_late)
    # In a thread of its own: git answers while it still reads, and neither may wait for the other.
    writer = threading.Thread(target=_write, args=(process, given), daemon=True)
    with process:
        timer.start()
        writer.start()
        answer, complaint = _read(process.stdout, _MOST_ANSWERED), b""
        if len(answer) > _MOST_ANSWERED:
            end()
        else:
            complaint = _read(process.stderr, _MOST_COMPLAINED)
        process.wait()
        timer.cancel()
        writer.join()

    if late.is_set():
        # A program closes its files a moment before it has ended.
        timer.join()
        raise GitTooSlowError(f"git did not answer within {seconds:.2g} s")
    if len(answer) > _MOST_ANSWERED:
        raise GitError("the repository has too many files to look at")
    if process.returncode != 0:
        # The text of git itself is not shown, because it may contain paths of this machine.
        text = complaint.decode("utf-8", "replace")
        reasons = (reason for part, reason in _REASONS.items() if part in text)
        raise GitError(next(reasons, "git refuses to read the repository"))
    return answer


def _write(process: "subprocess.Popen[bytes]", given: bytes) -> None:
    if process.stdin is not None:
        # Git that has ended reads no more, which its exit status explains.
        with suppress(OSError, ValueError):
            process.stdin.write(given)
            process.stdin.close()


def _read(stream: IO[bytes] | None, most: int) -> bytes:
    """Return what is written to `stream` until its end; more than `most` bytes are cut."""
    return b"" if stream is None else stream.read(most + 1)
