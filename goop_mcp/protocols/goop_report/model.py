"""The typed model of a `<goop_report>` (goop-report-schema, Response Envelope Structure)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Self

from goop_mcp.structs import DataStruct
from goop_mcp.validation.plain_values import model_from, plain_values

__all__ = [
    "Artifacts",
    "Check",
    "Commit",
    "Counter",
    "Extension",
    "FileAction",
    "FileChange",
    "Handoff",
    "MemoryType",
    "NextAction",
    "Phase",
    "Report",
    "SavedMemory",
    "State",
    "Status",
]


class Status(StrEnum):
    """How the task stands (G-09)."""

    COMPLETE = "COMPLETE"
    PARTIAL = "PARTIAL"
    BLOCKED = "BLOCKED"
    CHECKPOINT = "CHECKPOINT"


class Phase(StrEnum):
    """The phase the work belongs to (G-14).

    DISCUSS counts in projects of profile v1 only (D-28).
    """

    PLAN = "plan"
    SPECIFY = "specify"
    EXECUTE = "execute"
    ACCEPT = "accept"
    RESEARCH = "research"
    DISCUSS = "discuss"


class FileAction(StrEnum):
    """What happened to a file (G-22, G-23)."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"


class MemoryType(StrEnum):
    """Kinds of memory an envelope can name (G-26, P-07)."""

    DECISION = "decision"
    OBSERVATION = "observation"
    NOTE = "note"


class Counter(DataStruct, frozen=True, kw_only=True):
    """A position within a total, both from 0; None where a number is unreadable (G-16, G-17)."""

    current: int | None
    total: int | None


class State(DataStruct, frozen=True, kw_only=True):
    """Where in the workflow the agent was (G-14 to G-20)."""

    phase: Phase | None
    wave: Counter | None = None
    task: Counter | None = None
    spec_locked: bool | None = None
    interview_complete: bool | None = None


class FileChange(DataStruct, frozen=True, kw_only=True):
    """A file the agent says it touched; `path` as written, never opened (G-22)."""

    path: str | None
    action: FileAction | None
    description: str = ""


class Commit(DataStruct, frozen=True, kw_only=True):
    """A commit the agent says it made (G-24)."""

    sha: str | None
    message: str = ""


class Artifacts(DataStruct, frozen=True, kw_only=True):
    """Files changed and commits made."""

    files: tuple[FileChange, ...] = ()
    commits: tuple[Commit, ...] = ()


class SavedMemory(DataStruct, frozen=True, kw_only=True):
    """A memory the agent claims to have saved; `importance` is 0 to 1 or None (G-26, G-27)."""

    type: MemoryType | None
    importance: float | None
    title: str = ""


class Check(DataStruct, frozen=True, kw_only=True):
    """A verification that was run; `evidence` is its text (G-28).

    `run` is the id of the recorded run that proves it, None where none is named.
    """

    name: str | None
    passed: bool | None
    evidence: str = ""
    run: str | None = None


class NextAction(DataStruct, frozen=True, kw_only=True):
    """Who continues, and with what (G-30). `agent` is None where none is named."""

    agent: str | None
    text: str = ""


class Handoff(DataStruct, frozen=True, kw_only=True):
    """What comes next.

    `blockers` is None when there is no blocker, however that is expressed (D-30, D-91).
    """

    ready: bool | None = None
    next_action: NextAction | None = None
    files_to_read: tuple[str, ...] = ()
    blockers: str | None = None
    suggest_new_session: bool | None = None
    next_command: str | None = None


class Extension(DataStruct, frozen=True, kw_only=True):
    """What the schema does not have (D-38).

    `name` is the element's name, with the sections it stands in before it (`handoff/hint`); `#text`
    stands for text outside of any element. `content` is its text, or its XML where it holds more
    than text.
    """

    name: str
    content: str
    is_xml: bool = False


class Report(DataStruct, frozen=True, kw_only=True):
    """A `<goop_report>`.

    None stands for a value that is absent or could not be read, never for a default.

    `artifacts`, `memory` and `verification` are None when the section is absent and empty when it
    is there without content. `partial` marks a report that was cut off; nothing may be routed on it
    (D-16).
    """

    version: str | None
    status: Status | None
    agent: str | None
    task_id: str | None = None
    task_name: str | None = None
    state: State | None = None
    summary: str | None = None
    artifacts: Artifacts | None = None
    memory: tuple[SavedMemory, ...] | None = None
    verification: tuple[Check, ...] | None = None
    handoff: Handoff | None = None
    extensions: tuple[Extension, ...] = ()
    partial: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON values under the specification's names.

        `extensions` maps each name to the list of its contents, in order.
        """
        values = plain_values(self)
        extensions: dict[str, list[str]] = {}
        for extension in self.extensions:
            extensions.setdefault(extension.name, []).append(extension.content)

        values["extensions"] = extensions

        # A check that cites no run is written as it was before runs could be cited.
        for check in values["verification"] or ():
            if check["run"] is None:
                del check["run"]

        return values

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Return the report that `to_dict` wrote; its extensions are text, ordered by name.

        Raises ValueError, which names the place.
        """
        if not isinstance(values, Mapping):
            raise ValueError("the report is not an object; expected what to_dict wrote")

        written = values.get("extensions", {})
        if not isinstance(written, Mapping) or not all(
            isinstance(each, list) for each in written.values()
        ):
            raise ValueError("extensions is not an object of lists; expected what to_dict wrote")

        extensions = [
            {"name": name, "content": each}
            for name, contents in written.items()
            for each in contents
        ]

        return model_from(cls, {**values, "extensions": extensions})
