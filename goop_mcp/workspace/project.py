"""All documents of a project, read at one moment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from goop_mcp.errors import DocumentUnreadableError, PathRefusedError
from goop_mcp.workspace.documents.blueprint import Blueprint, read_blueprint
from goop_mcp.workspace.documents.chronicle import Chronicle, read_chronicle
from goop_mcp.workspace.documents.handoff import Handoff, read_handoff
from goop_mcp.workspace.documents.requirements import InterviewFacts, read_requirements
from goop_mcp.workspace.documents.spec import Spec, read_spec
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import (
    BLUEPRINT,
    CHRONICLE,
    DOCUMENTS,
    FOLDER,
    HANDOFF,
    READING_ORDER,
    REQUIREMENTS,
    SPEC,
    document_path,
)
from goop_mcp.workspace.state import ProjectState, StateFault, read_state

__all__ = ["Project", "read_project"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What a project's folder says. A document that is absent or unreadable is None.

    `exists` tells whether there is a folder at all. `present` and `missing` are names of documents; `missing` looks at
    the reading order only. `unreadable` are sentences for people.
    """

    exists: bool
    state: ProjectState | None = None
    state_fault: StateFault | None = None
    spec: Spec | None = None
    blueprint: Blueprint | None = None
    chronicle: Chronicle | None = None
    handoff: Handoff | None = None
    interview: InterviewFacts | None = None
    present: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """What the project is called: by state.json, else by its contract or its plan."""
        if self.state is not None and self.state.project:
            return self.state.project
        titles = [each.name for each in (self.spec, self.blueprint, self.interview) if each is not None]
        return next(filter(None, titles), None)


def read_project(files: ProjectFiles, *, session: str | None = None) -> Project:
    """Read all documents of the project, or of its named `session`; creates nothing. An unreadable one stops no other.

    Raises PathRefusedError for a session that is no id.
    """
    unreadable: list[str] = []
    present = tuple(name for name in DOCUMENTS if _is_there(files, document_path(name, session=session)))

    def read(name: str, reader: Callable[[str], T]) -> T | None:
        try:
            text = files.read_text(document_path(name, session=session))
        except (DocumentUnreadableError, PathRefusedError) as error:
            unreadable.append(str(error))
            return None
        return None if text is None else reader(text)

    state = _state(files, session)
    return Project(
        exists=files.exists(FOLDER),
        state=state if isinstance(state, ProjectState) else None,
        state_fault=state if isinstance(state, StateFault) else None,
        spec=read(SPEC, read_spec),
        blueprint=read(BLUEPRINT, read_blueprint),
        chronicle=read(CHRONICLE, read_chronicle),
        handoff=read(HANDOFF, read_handoff),
        interview=read(REQUIREMENTS, read_requirements),
        present=present,
        missing=tuple(name for name in READING_ORDER if name not in present),
        unreadable=tuple(unreadable),
    )


def _is_there(files: ProjectFiles, path: str) -> bool:
    try:
        return files.exists(path)
    except PathRefusedError:
        return True


def _state(files: ProjectFiles, session: str | None) -> ProjectState | StateFault | None:
    try:
        return read_state(files, session=session)
    except PathRefusedError as error:
        return StateFault(message=str(error), line=1, column=1)
