"""The claims of an envelope about the project.

This package only lists them; the evidence checks verify them.
"""

import re
from functools import cache
from typing import Literal

from msgspec.structs import replace

from goop_mcp.structs import DataStruct

__all__ = [
    "MOST_FILES",
    "NO_CLAIMS",
    "CheckClaim",
    "Claims",
    "CommitClaim",
    "FileClaim",
    "FileClaimKind",
    "MemoryClaim",
    "StateClaim",
    "StateName",
    "StatusClaim",
    "TaskClaim",
    "run_named_in",
]

MOST_FILES = 500
"""How many files of one envelope are compared with evidence."""

_MOST_COMMITS, _MOST_MEMORIES = 50, 100

FileClaimKind = Literal["present", "created", "modified", "gone", "touched", "promised", "optional"]
StateName = Literal["phase", "spec_locked", "interview_complete", "wave", "total_waves"]


class FileClaim(DataStruct, frozen=True, kw_only=True):
    """A file that the envelope names.

    `where` is the XPath or JSON pointer of its path, as in every claim. A "present" file has to
    exist. A "created" or "modified" one has to exist as a regular file, and git has to know a
    change of a "modified" one. A "gone" file must not exist. For "touched" the envelope does not
    state which of these it is. A "promised" file has to exist once the session has ended, an
    "optional" one may exist. With `loose` the path may also be relative to the folder of the
    session, or to a folder of another file of the envelope. A path that is only `reported` is part
    of a description; any other one will be read or written, and must not lead out of the workspace.
    """

    path: str
    where: str
    kind: FileClaimKind
    loose: bool = False
    reported: bool = False


class CommitClaim(DataStruct, frozen=True, kw_only=True):
    """A commit by its id, which may be abbreviated, and its message, "" if there is none."""

    sha: str
    where: str
    message: str = ""


class MemoryClaim(DataStruct, frozen=True, kw_only=True):
    """A memory that was saved under `title`."""

    title: str
    where: str


class TaskClaim(DataStruct, frozen=True, kw_only=True):
    """A task by its id, in any spelling; `wave` is the current one, None if unknown."""

    id: str
    where: str
    wave: int | None = None


class StateClaim(DataStruct, frozen=True, kw_only=True):
    """A value of the project's state. Waves count from 0."""

    name: StateName
    value: str | int | bool
    where: str


class CheckClaim(DataStruct, frozen=True, kw_only=True):
    """A check that was run, such as tests or a linter, by the name that the envelope gives it.

    `passed` is what the envelope says, and `text` what it says about the result. `run` is the
    recorded run that it names as proof, "" if it names none.
    """

    name: str
    passed: bool
    text: str
    where: str
    run: str = ""


class StatusClaim(DataStruct, frozen=True, kw_only=True):
    """How the work stands: the word of the envelope, and whether it lets the work go on as done."""

    word: str
    done: bool
    where: str


class Claims(DataStruct, frozen=True, kw_only=True):
    """All claims of one envelope, each kind in the order of the envelope.

    `session` is the id of the session that the promised files belong to, None if there is none.
    `complete` is whether the envelope says that the task is done, and `lists_files` whether it has
    a place for the files that the agent changed. `status` is None where it has no legal one.
    `blockers` are what keeps the work from going on, in words. `texts` count results and belong to
    none of the `checks`: what each is called, such as "summary", and the text.
    """

    files: tuple[FileClaim, ...] = ()
    commits: tuple[CommitClaim, ...] = ()
    memories: tuple[MemoryClaim, ...] = ()
    tasks: tuple[TaskClaim, ...] = ()
    state: tuple[StateClaim, ...] = ()
    checks: tuple[CheckClaim, ...] = ()
    session: str | None = None
    complete: bool = False
    lists_files: bool = False
    status: StatusClaim | None = None
    blockers: tuple[str, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()

    def compared(self) -> "Claims":
        """Return these claims with the files, commits and memories that are compared.

        An envelope of 2 MiB may name 20,000 files: the first of each kind are.
        """
        return replace(
            self,
            files=self.files[:MOST_FILES],
            commits=self.commits[:_MOST_COMMITS],
            memories=self.memories[:_MOST_MEMORIES],
        )


NO_CLAIMS = Claims()


def run_named_in(text: str) -> str:
    """Return the id of the first recorded run that `text` names, "" if it names none.

    For forms of a report whose checks have no attribute for it.
    """
    # Most texts name none, and compiling takes longer than looking for the beginning.
    if "r-" not in text:
        return ""

    found = _run_id().search(text)
    return "" if found is None else found[0]


@cache
def _run_id() -> re.Pattern[str]:
    return re.compile(r"\br-[0-9a-f]{12}\b")
