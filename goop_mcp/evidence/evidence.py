"""Evidence: what a caller knows about an agent's work, for `validate(..., evidence=…)`."""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from msgspec import field
from msgspec.structs import replace

from goop_mcp.evidence.activity import (
    ENTRIES,
    NO_ACTIVITY,
    AgentActivity,
    ObservedCommand,
    ObservedFile,
)
from goop_mcp.evidence.recorded_runs import RecordedRun, RunSource, WorkTree
from goop_mcp.structs import DataStruct

__all__ = ["Evidence", "EvidenceSource", "Observed", "activity_of"]

_CALLER: Final = "caller"


class Evidence(DataStruct, frozen=True, kw_only=True):
    """What a caller knows apart from the report.

    `activity` is what a reader made of a transcript. `commands` and `files` are for callers that
    ran the commands themselves, or have only lists of them; they are added to the activity, and
    without one they count as everything that the agent did. `base` is the id of the commit at which
    the task began, None if unknown; `Expectations.base` counts first. `changed` are the tracked
    files that had changes without a commit at that time: the path from the project's folder, with
    size in bytes and modification time in nanoseconds. `began` is that time in nanoseconds since
    1970, by the clock of the files, None if unknown. `runs` are runs of the recorder, oldest
    first, and `tree` is the present state of the files; or `runs` is a function that returns both
    for the checks of a report.
    """

    activity: AgentActivity | None = None
    commands: tuple[ObservedCommand, ...] = ()
    files: tuple[ObservedFile, ...] = ()
    base: str | None = None
    changed: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    began: int | None = None
    runs: tuple[RecordedRun, ...] | RunSource = ()
    tree: WorkTree | None = None

    def __post_init__(self) -> None:
        """Refuse values of the wrong type, which would blame the agent for the caller's mistake."""
        wanted = (
            ("activity", (self.activity,), (AgentActivity, type(None))),
            ("commands", self.commands, (ObservedCommand,)),
            ("files", self.files, (ObservedFile,)),
            ("runs", () if callable(self.runs) else self.runs, (RecordedRun,)),
            ("tree", (self.tree,), (WorkTree, type(None))),
            ("changed", (self.changed,), (Mapping,)),
            ("began", (self.began,), (int, type(None))),
        )
        for name, values, kinds in wanted:
            for value in values:
                if not isinstance(value, kinds):
                    raise TypeError(
                        f"{name} of Evidence holds {type(value).__name__}; expected"
                        f" {kinds[0].__name__}"
                    )


EvidenceSource = Evidence | AgentActivity | Callable[[], "Evidence | AgentActivity | None"]
"""What `evidence=` takes: a value, or a function that is called once per reply and returns one."""


class Observed(NamedTuple):
    """What the rules look at: `everything` is whether nothing was left out for its size."""

    activity: AgentActivity
    base: str | None = None
    everything: bool = True
    runs: tuple[RecordedRun, ...] | RunSource = ()
    tree: WorkTree | None = None
    changed: Mapping[str, tuple[int, int]] = {}
    began: int | None = None


def activity_of(evidence: "EvidenceSource | Observed | None") -> Observed:
    """Return what was observed, in order, at most `ENTRIES` of each kind."""
    if isinstance(evidence, Observed):
        return evidence

    try:
        known = evidence() if callable(evidence) else evidence
    except Exception as error:
        # The agent cannot help it where a reader fails: its report counts as not checked.
        why = f"the evidence could not be read ({type(error).__name__})"
        return Observed(replace(NO_ACTIVITY, why_incomplete=why))

    if known is None:
        return Observed(NO_ACTIVITY)
    if isinstance(known, AgentActivity):
        known = Evidence(activity=known)
    if not isinstance(known, Evidence):
        raise TypeError(
            f"evidence is {type(known).__name__}; expected Evidence, AgentActivity, a function that"
            " returns one of them, or None"
        )

    activity = known.activity
    if activity is None and not (known.commands or known.files) and (known.runs or known.tree):
        # Recorded runs say nothing about what else the agent did.
        activity = NO_ACTIVITY
    if activity is None:
        activity = AgentActivity(host=_CALLER, complete=True)

    commands = sorted((*activity.commands, *known.commands), key=_position)
    files = sorted((*activity.files, *known.files), key=_position)
    most = max(len(commands), len(files), len(activity.tools), len(activity.memories))

    # The last entries decide; that the earlier ones are not looked at must accuse nobody.
    bounded = replace(
        activity,
        commands=tuple(commands[-ENTRIES:]),
        files=tuple(files[-ENTRIES:]),
        tools=activity.tools[-ENTRIES:],
        memories=activity.memories[-ENTRIES:],
    )

    # The same object says that nothing is known, and not that something failed.
    bounded = NO_ACTIVITY if activity is NO_ACTIVITY else bounded

    return Observed(
        bounded, known.base, most <= ENTRIES, known.runs, known.tree, known.changed, known.began
    )


def _position(entry: ObservedCommand | ObservedFile) -> int:
    return entry.position
