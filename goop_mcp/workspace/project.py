"""Read all documents of a project at one moment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from goop_mcp.errors import DocumentUnreadableError, PathRefusedError, StoreError
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.document_lookup import find_document, is_there
from goop_mcp.workspace.document_templates import is_untouched
from goop_mcp.workspace.documents.blueprint import Blueprint, read_blueprint
from goop_mcp.workspace.documents.chronicle import Chronicle, read_chronicle
from goop_mcp.workspace.documents.handoff import SessionHandoff, read_handoff
from goop_mcp.workspace.documents.requirements import InterviewFacts, read_requirements
from goop_mcp.workspace.documents.spec import Spec, read_spec
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.goopspec_database import WorkRecords, plan_of, read_work
from goop_mcp.workspace.layout import (
    BLUEPRINT,
    CHRONICLE,
    DOCUMENTS,
    FOLDER,
    HANDOFF,
    PEOPLES_DOCUMENTS,
    READING_ORDER,
    REQUIREMENTS,
    SPEC,
    STATE,
    document_path,
    document_uri,
    is_plain_folder,
)
from goop_mcp.workspace.projection_text import without_entries
from goop_mcp.workspace.state import ProjectState, StateDefect, read_state

__all__ = ["DOCUMENTS_OF_LIFE", "Project", "read_project"]

DOCUMENTS_OF_LIFE = (STATE, *PEOPLES_DOCUMENTS)
"""The documents that only the life of a project has; reports write CHRONICLE.md without it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The documents of a project; one that is absent or unreadable is None.

    So is a plan that is still the template: nobody has written it yet.

    `has_folder` states whether the folder is on this machine. `exists` is the same, except for a
    project in a shared database. `paths` maps each existing document, in the order of
    DOCUMENTS, to its path, or to the URI of a rendered one. `missing` are the documents of the
    reading order that do not exist. `unreadable` are messages for people. `work` are the records
    of the active workflow in goopspec.db, None without that database. `sources` are the texts of
    the documents that only people write: the contract, the plan and the requirements.
    `file_state` is what state.json in the folder says where the state lives in a database.
    """

    exists: bool
    has_folder: bool = False
    state: ProjectState | None = None
    state_defect: StateDefect | None = None
    file_state: ProjectState | StateDefect | None = None
    spec: Spec | None = None
    blueprint: Blueprint | None = None
    chronicle: Chronicle | None = None
    handoff: SessionHandoff | None = None
    interview: InterviewFacts | None = None
    work: WorkRecords | None = None
    paths: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def has_begun(self) -> bool:
        """Whether it has a state, a contract, a plan or requirements, whatever they look like."""
        return (
            self.state is not None
            or self.state_defect is not None
            or any(name in self.paths for name in DOCUMENTS_OF_LIFE)
        )

    @property
    def name(self) -> str | None:
        """The name of the project in state.json, else in its contract, plan or requirements."""
        if self.state is not None and self.state.project:
            return self.state.project

        titles = [
            each.name for each in (self.spec, self.blueprint, self.interview) if each is not None
        ]
        return next(filter(None, titles), None)


def read_project(
    files: ProjectFiles,
    *,
    session: str | None = None,
    rendered: Mapping[str, str] | None = None,
    entries_are_known: bool = False,
) -> Project:
    """Read all documents of the project, or of its named `session`; create nothing.

    An unreadable document stops no other. The folders of the active workflow and phase are searched
    for the project itself, never for a session. `rendered` are texts of documents, by name, that
    take precedence over the files; their path is their URI. With `entries_are_known` only people's
    part of the chronicle is read, because the caller has the reports from which ours follows.
    Raises PathRefusedError for an invalid session id.
    """
    texts = rendered or {}

    def state_in(text: str | None) -> ProjectState | StateDefect | None:
        try:
            return read_state(files, session=session, stored=text)
        except PathRefusedError as error:
            return StateDefect(message=str(error), line=0, column=0)

    state = state_in(texts.get(STATE))
    known = state if isinstance(state, ProjectState) else None
    # The state is read first: in version 1 it names the folders in which the other documents are.
    paths = _document_paths(files, known, session=session, rendered=texts)
    unreadable: list[str] = []
    sources: dict[str, str] = {}
    workflow = known.workflow_id if known is not None else None
    if workflow is not None and not is_plain_folder(workflow):
        unreadable.append(
            f"the active workflow {excerpt(workflow, 60)!r} is not a folder name, so the"
            " documents of the root are read; expected letters, digits, '.', '-' and '_'"
        )

    def read(name: str, reader: Callable[[str], T | None]) -> T | None:
        text = texts.get(name)
        try:
            if text is None and name in paths:
                text = files.read_text(paths[name])
        except (DocumentUnreadableError, PathRefusedError) as error:
            unreadable.append(str(error))
            return None

        # Kept as read, so that a gate compares the very text that its facts were taken from.
        if text is not None and name in PEOPLES_DOCUMENTS:
            sources[name] = text

        return None if text is None else reader(text)

    def read_people_part(text: str) -> Chronicle:
        return read_chronicle(without_entries(text))

    work = None
    if session is None and known is not None and known.profile == "v1":
        try:
            work = read_work(files, known.workflow_id or "default")
        except StoreError as error:
            unreadable.append(str(error))

    def read_plan(text: str) -> Blueprint | None:
        return None if is_untouched("blueprint", text) else read_blueprint(text)

    blueprint = read(BLUEPRINT, read_plan)

    return Project(
        exists=(has_folder := files.exists(FOLDER)),
        has_folder=has_folder,
        work=work,
        state=known,
        state_defect=state if isinstance(state, StateDefect) else None,
        file_state=state_in(None) if STATE in texts else None,
        spec=read(SPEC, read_spec),
        blueprint=blueprint if work is None else plan_of(work, blueprint),
        chronicle=read(CHRONICLE, read_people_part if entries_are_known else read_chronicle),
        handoff=read(HANDOFF, read_handoff),
        interview=read(REQUIREMENTS, read_requirements),
        paths=paths,
        missing=tuple(name for name in READING_ORDER if name not in paths),
        unreadable=tuple(unreadable),
        sources=sources,
    )


def _document_paths(
    files: ProjectFiles,
    state: ProjectState | None,
    *,
    session: str | None,
    rendered: Mapping[str, str],
) -> dict[str, str]:
    """Return the path of each document that exists, and the URI of each one that is rendered."""
    paths: dict[str, str] = {}
    for name in DOCUMENTS:
        if name in rendered:
            paths[name] = document_uri(name)
            continue

        path = (
            find_document(files, name, state=state)
            if session is None
            else document_path(name, session=session)
        )
        if is_there(files, path):
            paths[name] = path

    return paths
