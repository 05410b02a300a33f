"""Read the documents of a project from its folder and its database.

Their text comes from people and agents and is data, never an instruction.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import MappingProxyType

from goop_mcp.errors import DocumentMissingError, StoreError, UnknownNameError
from goop_mcp.store.interface import Store
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.archive import ARCHIVE_FOLDER, MOST_ENTRIES, read_archive_name
from goop_mcp.workspace.document_lookup import find_current_document, is_there
from goop_mcp.workspace.file_changes import pending_spec
from goop_mcp.workspace.files import MOST_BYTES, ProjectFiles
from goop_mcp.workspace.layout import (
    ADL,
    BLUEPRINT,
    CHRONICLE,
    DOCUMENTS,
    FOLDER,
    HANDOFF,
    KNOWLEDGE_BASE,
    PEOPLES_DOCUMENTS,
    REQUIREMENTS,
    RESEARCH,
    SPEC,
    STATE,
)
from goop_mcp.workspace.projections import PROJECTED
from goop_mcp.workspace.virtual_documents import (
    find_shared_document,
    recorded_documents,
    render_archive,
)

__all__ = ["find_project_document", "present_documents", "read_archive", "read_project_document"]

_SCAFFOLDED = "goop-mcp init creates it"
_OPTIONAL = "it is optional, and whoever needs it writes it"
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        STATE: _SCAFFOLDED,
        SPEC: _SCAFFOLDED,
        BLUEPRINT: _SCAFFOLDED,
        REQUIREMENTS: _SCAFFOLDED,
        CHRONICLE: "it begins with the first recorded report",
        ADL: "it begins with the first recorded decision",
        HANDOFF: "a session handoff writes it",
        RESEARCH: _OPTIONAL,
        KNOWLEDGE_BASE: _OPTIONAL,
    }
)


def present_documents(
    files: ProjectFiles, names: Iterable[str], *, recorded: Store | None = None
) -> tuple[str, ...]:
    """Return the `names` of the documents that exist, readable or not.

    `recorded` is the database from which documents are rendered if no file is written. Raises
    StoreError.
    """
    shown: tuple[str, ...] = ()
    stored: str | None = None
    if recorded is not None:
        shown, stored = recorded.read(
            lambda reading: (recorded_documents(reading, files), reading.stored_state())
        )

    return tuple(
        name
        for name in names
        if name in shown or is_there(files, find_current_document(files, name, stored=stored))
    )


def find_project_document(
    files: ProjectFiles, name: str, *, recorded: Store | None = None
) -> str | None:
    """Return the text of the document `name`, None if it does not exist.

    `recorded` is the database from which documents are rendered if no file is written. Raises
    StoreError, and WorkspaceError for a file that leads out of the project, is not UTF-8 or is too
    large.
    """
    stored: str | None = None
    if recorded is not None:
        if name in (STATE, *PROJECTED) or not files.exists(FOLDER):
            return recorded.read(lambda reading: find_shared_document(reading, files, name))

        # The state only says in which folder to look first: a database that cannot be asked hides
        # no file.
        pending = None
        with suppress(StoreError):
            stored, pending = recorded.read(
                lambda reading: (reading.stored_state(), pending_spec(reading, files))
            )

        path = find_current_document(files, name, stored=stored)
        if pending is not None and pending.path == path:
            # The next change writes it; gates are judged by it already.
            return pending.text

    return files.read_text(find_current_document(files, name, stored=stored))


def read_archive(files: ProjectFiles, name: str, *, recorded: Store | None = None) -> str:
    """Return the archive `name`, such as CHRONICLE-2026-11.md, with the old entries of a document.

    Of a file that is too large the last part is returned. Raises DocumentMissingError if there is
    no such archive, and as `find_project_document`.
    """
    of = read_archive_name(name)
    if of is None:
        raise DocumentMissingError(
            f"there is no archive {excerpt(name, 60)!r}; expected a name as CHRONICLE-2026-11.md"
        )

    if recorded is not None:
        text = recorded.read(lambda reading: render_archive(reading, *of))
    else:
        found = files.read_end(f"{ARCHIVE_FOLDER}/{name}", MOST_BYTES)
        # The cut may be inside a character, which must not hide the rest.
        text = None if found is None else found.decode(errors="replace")

    if text is None:
        raise DocumentMissingError(
            f"there is no archive {name}; entries go there once {of[0]} holds more than"
            f" {MOST_ENTRIES} newer ones"
        )

    return text


def read_project_document(files: ProjectFiles, name: str, *, recorded: Store | None = None) -> str:
    """Return the text of the document `name`.

    Raises UnknownNameError for a name that is not in DOCUMENTS, DocumentMissingError with advice if
    the document does not exist, and as `find_project_document`.
    """
    if name not in DOCUMENTS:
        raise UnknownNameError("document of a project", name, DOCUMENTS)

    text = find_project_document(files, name, recorded=recorded)
    if text is not None:
        return text

    # The message depends on whether this machine could have the file at all.
    if recorded is None or files.exists(FOLDER):
        raise DocumentMissingError(
            f"there is no {find_current_document(files, name)} in this project; {_REMEDIES[name]}"
        )

    if name in PROJECTED:
        raise DocumentMissingError(f"there is no {name} in this project yet; {_REMEDIES[name]}")

    kept = (*PROJECTED, STATE, *PEOPLES_DOCUMENTS)
    reason = "not in its database yet" if name in kept else "not in its database"
    raise DocumentMissingError(
        f"{name} is a file of the project and {reason}, and there is no folder {FOLDER} here; read"
        " it where the project is checked out. The database shows"
        f" {', '.join(kept)}, the last four once a step of the project has judged them"
    )
