"""The documents of a project as they lie in its folder. Their text is what people and agents wrote: data."""

from collections.abc import Mapping
from types import MappingProxyType

from goop_mcp.errors import DocumentMissingError, UnknownNameError
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.layout import (
    ADL,
    BLUEPRINT,
    CHRONICLE,
    DOCUMENTS,
    HANDOFF,
    KNOWLEDGE_BASE,
    REQUIREMENTS,
    RESEARCH,
    SPEC,
    STATE,
)
from goop_mcp.workspace.places import find_current_document, is_there

__all__ = ["is_project_document", "read_project_document"]

_LAID_DOWN = "goop-mcp init lays it down"
_OPTIONAL = "it is optional, and whoever needs it writes it"
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        STATE: _LAID_DOWN,
        SPEC: _LAID_DOWN,
        BLUEPRINT: _LAID_DOWN,
        REQUIREMENTS: _LAID_DOWN,
        CHRONICLE: "it begins with the first recorded report",
        ADL: "it begins with the first recorded decision",
        HANDOFF: "a session handoff writes it",
        RESEARCH: _OPTIONAL,
        KNOWLEDGE_BASE: _OPTIONAL,
    }
)


def is_project_document(files: ProjectFiles, name: str) -> bool:
    """Return whether there is something under the document's `name`, be it readable or not."""
    return is_there(files, find_current_document(files, name))


def read_project_document(files: ProjectFiles, name: str) -> str:
    """Return the text of the document `name` as it stands.

    Raises UnknownNameError for a name that is none of the nine, DocumentMissingError with what to do where there is
    none, and WorkspaceError for a file that leads out of the project, is no UTF-8 or too large.
    """
    if name not in DOCUMENTS:
        raise UnknownNameError("document of a project", name, DOCUMENTS)
    path = find_current_document(files, name)
    text = files.read_text(path)
    if text is None:
        raise DocumentMissingError(f"there is no {path} in this project; {_REMEDIES[name]}")
    return text
