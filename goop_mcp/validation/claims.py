"""What an envelope says is true of the world outside of it.

The core only lists it; others look whether it is so.
"""

from dataclasses import dataclass
from typing import Literal

__all__ = [
    "NO_CLAIMS",
    "Claims",
    "CommitClaim",
    "FileClaim",
    "FileClaimKind",
    "MemoryClaim",
    "StateClaim",
    "StateName",
    "TaskClaim",
]

FileClaimKind = Literal["present", "created", "modified", "gone", "touched", "promised", "optional"]
StateName = Literal["phase", "spec_locked", "interview_complete", "wave", "total_waves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClaim:
    """A file the envelope names; `where` is the place of its path, an XPath or JSON pointer, as in every claim.

    "present" it has to be there, "created" and "modified" it has to be a file of its own that is there, and of the
    latter git has to know a change, "gone" it must not be, "touched" the envelope does not say which of the two,
    "promised" it has to be there once the session has ended, "optional" it may be there or not. With `loose` the path
    may also be meant relative to the folder of the session, or to one in which another file of the envelope lies. A
    path that is only `reported` is part of a story; any other one will be read or written, and must not lead out.
    """

    path: str
    where: str
    kind: FileClaimKind
    loose: bool = False
    reported: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitClaim:
    """A commit by its id, as far as it was written, and its message; "" where the envelope gives none."""

    sha: str
    where: str
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryClaim:
    """A memory that was saved under `title`."""

    title: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskClaim:
    """A task by its id, in any spelling; `wave` is the current one, None where the envelope does not say."""

    id: str
    where: str
    wave: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateClaim:
    """A value of the project's state. Waves count from 0."""

    name: StateName
    value: str | int | bool
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Everything one envelope claims, each kind in the order of the envelope.

    `session` is the id of the session that the promised files belong to, None where there is none.
    """

    files: tuple[FileClaim, ...] = ()
    commits: tuple[CommitClaim, ...] = ()
    memories: tuple[MemoryClaim, ...] = ()
    tasks: tuple[TaskClaim, ...] = ()
    state: tuple[StateClaim, ...] = ()
    session: str | None = None


NO_CLAIMS = Claims()
