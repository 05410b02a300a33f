"""Files and commits given as text where elements belong: what a line certainly means (D-94)."""

import re

from goop_mcp.protocols.goop_report.model import Commit, FileAction, FileChange
from goop_mcp.structs import DataStruct

__all__ = ["ProseClaims", "action_of", "commit_in", "is_path", "read_prose"]

_MOST_LINES = 1_000
_LONGEST_LINE = 4_096
_ACTIONS = {
    "created": FileAction.CREATED,
    "added": FileAction.CREATED,
    "new": FileAction.CREATED,
    "modified": FileAction.MODIFIED,
    "changed": FileAction.MODIFIED,
    "updated": FileAction.MODIFIED,
    "edited": FileAction.MODIFIED,
    "deleted": FileAction.DELETED,
    "removed": FileAction.DELETED,
}
# As git itself lists what changed.
_LETTERS = {"A": FileAction.CREATED, "M": FileAction.MODIFIED, "D": FileAction.DELETED}
_MARKER = re.compile(r"(?:[-*+\u2022]|\d{1,3}[.)])[ \t]")
_SHA = re.compile(r"[0-9a-fA-F]{7,64}")
# English words of seven letters or more that consist of a to f only, like a sha.
_WORDS = frozenset({"acceded", "defaced", "effaced"})
_EXTENSION = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}")
_DASHES = frozenset({"-", "\u2013", "\u2014", ":"})


class ProseClaims(DataStruct, frozen=True, kw_only=True):
    """What the lines of a text claim; `rest` are the lines that claim nothing beyond doubt.

    `suspicious` is True when a line of `rest` names something like a file or a commit all the same.
    """

    files: tuple[FileChange, ...] = ()
    commits: tuple[Commit, ...] = ()
    rest: tuple[str, ...] = ()
    suspicious: bool = False


def read_prose(text: str) -> ProseClaims:
    """Return the files (`- path (action)`) and commits (`sha message`) that `text` claims."""
    files: list[FileChange] = []
    commits: list[Commit] = []
    rest: list[str] = []
    suspicious = False

    for number, line in enumerate(text.split("\n")):
        bare = line.strip()
        marker = _MARKER.match(bare)
        if marker is not None:
            bare = bare[marker.end() :].strip()
        if not bare:
            continue

        # A wrong claim would be checked against the workspace and rejected. A line must therefore
        # be certain to count; the rest is kept as text and only marked as suspicious.
        readable = number < _MOST_LINES and len(bare) <= _LONGEST_LINE
        if readable and (commit := commit_in(bare)) is not None:
            commits.append(commit)
        elif readable and (file := _file_in(bare)) is not None:
            files.append(file)
        else:
            rest.append(line)
            words = bare[:_LONGEST_LINE].split()
            suspicious = suspicious or any(
                is_path(_plain(word)) or _is_sha(_plain(word)) for word in words
            )

    return ProseClaims(
        files=tuple(files), commits=tuple(commits), rest=tuple(rest), suspicious=suspicious
    )


def commit_in(line: str) -> Commit | None:
    """Return the commit of a line that begins with its id, None where it does not."""
    first, _, message = line.strip().partition(" ")
    sha = _plain(first.rstrip(":"))
    if not _is_sha(sha):
        return None

    words = message.split()

    return Commit(
        sha=sha, message=" ".join(words[1:] if words[:1] and words[0] in _DASHES else words)
    )


def _file_in(line: str) -> FileChange | None:
    """Return the file of a line: a path, with an action before or after it, or without one."""
    words = line.split()
    first, rest = words[0], words[1:]
    if (
        # As git lists changes, `M src/a.py`, or with the action written out before the path.
        (action := _LETTERS.get(first) or action_of(first)) is not None
        and len(rest) == 1
        and is_path(_plain(rest[0]))
    ):
        return FileChange(path=_plain(rest[0]), action=action)

    path = _plain(first.rstrip(":") if not _plain(first).endswith(":") else first[:-1])
    if not is_path(path):
        return None
    if not rest:
        return FileChange(path=path, action=None)

    described = rest[1:] if rest[0] in _DASHES else rest
    action = action_of(described[0]) if described else None
    # Without a dash or an action, the words after a path make it the beginning of a sentence.
    if rest[0] in _DASHES or action is not None:
        text = (
            described if action is None else [word for word in described[1:] if word not in _DASHES]
        )
        return FileChange(path=path, action=action, description=" ".join(text))

    return None


def action_of(word: str) -> FileAction | None:
    """Return the file action that `word` names, with or without brackets; None for others."""
    return _ACTIONS.get(word.strip("()[]:,;*_`").lower())


def is_path(word: str) -> bool:
    """Return whether `word` is certainly a path: a slash between names, or an extension."""
    if not word or word.startswith(("http:", "https:", "<")):
        return False

    name = word.rpartition("/")[2]
    # An extension begins with a letter and follows a name: `1.2` and `.` are not paths.
    dot = name.rfind(".")
    extension = dot > 0 and _EXTENSION.fullmatch(name[dot:]) is not None
    return extension or ("/" in word and word.strip("/.") != "" and word[0] not in "(+")


def _is_sha(word: str) -> bool:
    """Return whether `word` can only be the id of a commit."""
    return _SHA.fullmatch(word) is not None and word.lower() not in _WORDS


def _plain(word: str) -> str:
    return word.strip("`*,;")
