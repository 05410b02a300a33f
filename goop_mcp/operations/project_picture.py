"""A project at one moment: its documents and what its database holds of reports, drawn together."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from goop_mcp.operations.workplace import Workplace
from goop_mcp.store.interface import Reading
from goop_mcp.store.records import MemoryFilter, NewReport, StoredMemory, StoredReport
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workflow.gates import GateFacts
from goop_mcp.workspace.drift import gate_facts
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import CHRONICLE, HANDOFF, document_uri
from goop_mcp.workspace.project import Project, read_project
from goop_mcp.workspace.recorded import Records, read_records
from goop_mcp.workspace.rendered import recorded_documents, render_documents
from goop_mcp.workspace.state import ProjectState

__all__ = ["HANDOFF_KIND", "ProjectPicture", "SessionSources", "envelope_of", "take_picture"]

HANDOFF_KIND = "handoff"
"""The kind of the events that HANDOFF.md is made of."""

_MOST_MEMORIES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSources:
    """What a session handoff is made of; reports and memories are those since the last one, oldest first."""

    picture: "ProjectPicture"
    reports: Sequence[StoredReport] = ()
    memories: Sequence[StoredMemory] = ()


@dataclass(frozen=True, kw_only=True)
class ProjectPicture:
    """What the folder says, and what the reports up to `revision` say, newest first: of each task its last ones."""

    project: Project
    reports: tuple[StoredReport, ...] = ()
    revision: int = 0

    @cached_property
    def records(self) -> Records:
        """What the reports say together."""
        return read_records(self.reports)

    @cached_property
    def facts(self) -> GateFacts:
        """What the gates look at."""
        return gate_facts(self.project, self.records)

    def with_reports(self, reading: Reading, new: NewReport) -> "ProjectPicture":
        """Return the picture with the reports that others have recorded since, and `new` as the newest."""
        later = reading.reports(after_revision=self.revision)
        values = {each.name: getattr(new, each.name) for each in fields(new)}
        newest = StoredReport(id=0, revision=reading.revision() + 1, **values)
        return replace(self, reports=(newest, *later, *self.reports))

    def with_state(self, state: ProjectState) -> "ProjectPicture":
        """Return the picture with another state.json."""
        return replace(self, project=replace(self.project, state=state))

    def with_chronicle(self) -> "ProjectPicture":
        """Return the picture with a CHRONICLE.md where there was none: one that is about to be written."""
        missing = tuple(name for name in self.project.missing if name != CHRONICLE)
        return replace(self, project=replace(self.project, missing=missing))

    def without_handoff(self) -> "ProjectPicture":
        """Return the picture with no HANDOFF.md: one that is about to be replaced."""
        return replace(self, project=replace(self.project, handoff=None))

    def since_handoff(self, reading: Reading) -> SessionSources:
        """Return what the next session handoff is made of."""
        handoffs = [each.revision for each in reading.events(document=HANDOFF) if each.kind == HANDOFF_KIND]
        last = max(handoffs, default=0)
        memories = [each for each in reading.memories(MemoryFilter(), limit=_MOST_MEMORIES) if each.revision > last]
        return SessionSources(picture=self, reports=reading.reports(after_revision=last)[::-1], memories=memories[::-1])


def take_picture(workplace: Workplace) -> ProjectPicture:
    """Return the project as it is now; nothing is created. Raises StoreError."""
    project = read_project(workplace.files)
    if not workplace.store.exists():
        return ProjectPicture(project=project)

    def ask(reading: Reading) -> ProjectPicture:
        shown = project if workplace.writes_files else _with_rendered(project, reading, workplace.files)
        return ProjectPicture(project=shown, reports=tuple(reading.last_reports()), revision=reading.revision())

    return workplace.store.read(ask)


def _with_rendered(project: Project, reading: Reading, files: ProjectFiles) -> Project:
    """Return the project with what is recorded in its documents, or where there is no folder with their addresses.

    Without what people keep there is nothing that the texts could disagree with, and long ones take time to read.
    """
    if project.exists:
        return read_project(files, rendered=render_documents(reading, files))
    return replace(project, paths={name: document_uri(name) for name in recorded_documents(reading)})


def envelope_of(report: StoredReport) -> Mapping[str, JsonValue]:
    """Return the envelope of a recorded report as JSON values."""
    values = json.loads(report.envelope)
    return values if isinstance(values, Mapping) else {}
