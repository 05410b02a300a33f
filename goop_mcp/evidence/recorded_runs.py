"""Runs of checks that goop-mcp itself started, and the state of the files they belong to.

Pure: `goop_mcp.recording` makes these values, the rules compare them with the claims of a report.
They are named tuples, as a hook loads this module with every transcript that it judges.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from goop_mcp.validation.claims import CheckClaim

__all__ = [
    "MOST_CHANGES",
    "MOST_TAIL_BYTES",
    "NO_RUNS",
    "NO_TREE",
    "UNKNOWN_COUNTS",
    "KnownRuns",
    "MacState",
    "RecordedRun",
    "RunCounts",
    "RunOutcome",
    "RunSource",
    "WorkTree",
]

MOST_TAIL_BYTES: Final = 4096
"""How many bytes of UTF-8 of an output are kept: its end, redacted."""

MOST_CHANGES: Final = 2000
"""How many files that differ from the commit are kept with a run."""

MacState = Literal["valid", "wrong", "unknown key"]
RunOutcome = Literal["passed", "failed", "nothing", "unfinished", "vacuous", "unproven", "unknown"]


class RunCounts(NamedTuple):
    """The tests of one run, None where nobody counted them.

    `executed` are all that ran, without the skipped ones. `source` is where the counts come from:
    "output", or the name of a result file. `coverage` are the covered lines in percent, 0 to 100,
    as the coverage file has them.
    """

    executed: int | None = None
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    errors: int | None = None
    source: str = ""
    coverage: float | None = None


UNKNOWN_COUNTS: Final = RunCounts()


class WorkTree(NamedTuple):
    """The content of all files of a work tree at one moment.

    `digest` is the id of a git tree object with the files as they were on disk, without .goopspec;
    "" where there is none, and then `why` says why in one clause. `head` is the id of the commit
    that was checked out, "" on a branch without one. `changes` are (path, blob) of the files that
    differed from it, by path, the blob "" for a file that was gone; at most MOST_CHANGES, and
    `changes_whole` is False if there were more. `scopes` are the digests of parts of the tree, by
    the paths that name the part.
    """

    digest: str = ""
    why: str = ""
    head: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    changes_whole: bool = True
    # Shared by all trees without scopes, and never changed.
    scopes: Mapping[tuple[str, ...], str] = {}


# The default says that nobody looked, which is not the same as "no repository".
NO_TREE: Final = WorkTree(why="the state of the files is not known")


class RecordedRun(NamedTuple):
    """One run of a command by the recorder.

    `id` is "r-" and 12 hexadecimal digits, of which the first four name the key of its MAC. `name`
    is that of the check, such as "tests". `argv` are the program and its arguments, redacted where
    they hold secrets; `cwd` is the working directory relative to the project, "." for its top.
    `pinned` is whether the command came from a .goopspec/checks.toml that a person trusts, and
    `paths` the part of the project on which it depends, () for all of it.

    `outcome` is what the run shows: "nothing" if it executed no test, "unfinished" if a signal or
    the time limit ended it or it could not be started, "vacuous" if the command can show nothing,
    "unproven" if it ended well and rests neither on a known runner nor on a command that a person
    trusts, "unknown" if its exit code is not that of the check; `why` gives the reason in one
    clause. `defined_by` are the files of the project that decide what it runs, where that is the
    target of a build tool or a program of the project: paths from the project, of files that may
    not exist. `kinds` are the kinds of checks that it is, such as "tests", `program` is what
    messages call the command, and `program_version` its version as its installer noted it, "" if
    unknown.

    `exit_code` is 0 to 255, None if a `signal` ended it; `timed_out` is whether that was our own at
    the time limit. `failed_to_start` is why the program could not be started, "" if it was.
    `started_at` and `ended_at` are ISO 8601 in UTC, for people only, because clocks jump; `seconds`
    is measured with a clock that does not. `output_sha256` and `output_bytes` are of everything
    that it printed to standard output and standard error, in the order of its arrival; `tail` is
    the redacted end of it. `variables` are the names of environment variables that can change what
    a runner does and were set.

    `before` and `after` are the trees when it began and ended. `counts` are the tests of the run;
    `passed_names` and `skipped_names` their names where a result file gives them, and
    `names_whole` is False if there were too many to keep. `stale_result` is whether a result file
    was named that the run had not written.

    `mac` authenticates all of this with the key named `key` of the user's state folder, and
    `mac_state` is what its verification here showed.
    """

    id: str
    name: str
    argv: tuple[str, ...]
    cwd: str = "."
    pinned: bool = False
    paths: tuple[str, ...] = ()
    outcome: RunOutcome = "unknown"
    why: str = ""
    kinds: tuple[str, ...] = ()
    defined_by: tuple[str, ...] = ()
    program: str = ""
    program_version: str = ""
    exit_code: int | None = None
    signal: int | None = None
    timed_out: bool = False
    failed_to_start: str = ""
    started_at: str = ""
    ended_at: str = ""
    seconds: float = 0.0
    output_sha256: str = ""
    output_bytes: int = 0
    tail: str = ""
    variables: tuple[str, ...] = ()
    before: WorkTree = NO_TREE
    after: WorkTree = NO_TREE
    counts: RunCounts = UNKNOWN_COUNTS
    passed_names: tuple[str, ...] = ()
    skipped_names: tuple[str, ...] = ()
    names_whole: bool = True
    stale_result: str = ""
    session: str | None = None
    agent: str | None = None
    task: str | None = None
    version: str = ""
    key: str = ""
    mac: str = ""
    mac_state: MacState = "valid"

    # A run that never had a tree moved nowhere: why it has none is reported instead.
    @property
    def tree_moved(self) -> bool:
        """Whether files changed while it ran, so that it proves neither state."""
        return bool(self.before.digest) and self.before.digest != self.after.digest


class KnownRuns(NamedTuple):
    """What is known of the recorded runs of a project when a report is judged.

    `runs` are oldest first. `tree` is the present state of the files, and `changed` maps the id of
    a run to the files that differ between its tree and the present one, as far as they are known.
    `keys` are the names of the keys of this machine: a run that names one of them and is not among
    `runs` was never recorded here. `unread` is why the runs could not be read, "" if they were.
    """

    runs: tuple[RecordedRun, ...] = ()
    tree: WorkTree = NO_TREE
    changed: Mapping[str, tuple[str, ...]] = {}
    keys: frozenset[str] = frozenset()
    unread: str = ""


NO_RUNS: Final = KnownRuns()

RunSource: TypeAlias = Callable[["Sequence[CheckClaim]"], KnownRuns]
"""Finds the runs that may belong to checks; called once, and only where checks are claimed."""
