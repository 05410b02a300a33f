"""The layout of a project: documents, folders, sessions, and which files may be written."""

import re
from typing import Final

from goop_mcp.errors import PathRefusedError
from goop_mcp.validation.findings import excerpt
from goop_mcp.workspace.paths import relative_parts

__all__ = [
    "ADL",
    "BLUEPRINT",
    "CHECKPOINTS_FOLDER",
    "CHRONICLE",
    "DATABASE",
    "DOCUMENTS",
    "FOLDER",
    "GOOPSPEC_DATABASE",
    "HANDOFF",
    "HISTORY_FOLDER",
    "HOOK_SETTINGS",
    "KNOWLEDGE_BASE",
    "PEOPLES_DOCUMENTS",
    "READING_ORDER",
    "REQUIREMENTS",
    "RESEARCH",
    "SCHEMAS_FOLDER",
    "SESSIONS_FOLDER",
    "SESSION_FILES",
    "SPEC",
    "STATE",
    "archived_document",
    "document_path",
    "document_places",
    "document_uri",
    "is_named_session",
    "is_plain_folder",
    "may_create",
    "may_write",
    "session_archive",
    "session_folder",
]

FOLDER: Final = ".goopspec"
STATE: Final = "state.json"
SPEC: Final = "SPEC.md"
BLUEPRINT: Final = "BLUEPRINT.md"
CHRONICLE: Final = "CHRONICLE.md"
REQUIREMENTS: Final = "REQUIREMENTS.md"
RESEARCH: Final = "RESEARCH.md"
HANDOFF: Final = "HANDOFF.md"
KNOWLEDGE_BASE: Final = "PROJECT_KNOWLEDGE_BASE.md"
ADL: Final = "ADL.md"
DATABASE: Final = "goop.db"
HOOK_SETTINGS: Final = "hooks.json"
GOOPSPEC_DATABASE: Final = "goopspec.db"
"""The database of GoopSpec 1.x; it is read and never written."""

DOCUMENTS: Final = (
    SPEC,
    BLUEPRINT,
    CHRONICLE,
    REQUIREMENTS,
    RESEARCH,
    HANDOFF,
    KNOWLEDGE_BASE,
    ADL,
    STATE,
)
"""The documents of a project, in the order in which they are listed."""

READING_ORDER: Final = (STATE, KNOWLEDGE_BASE, SPEC, CHRONICLE, BLUEPRINT)
"""What an agent reads before it starts (P-05); it searches memory after the second document."""

PEOPLES_DOCUMENTS: Final = (SPEC, BLUEPRINT, REQUIREMENTS)
"""The documents that people write and the gates read."""

CHECKPOINTS_FOLDER: Final = f"{FOLDER}/checkpoints"
HISTORY_FOLDER: Final = f"{FOLDER}/history"
SESSIONS_FOLDER: Final = "docs/.scratch/sessions"
SCHEMAS_FOLDER: Final = ".claude/schemas"
"""The folder in which the tools of a project expect the schema of a handoff."""

SESSION_FILES: Final = ("state.json", "prompt.md", "result.json", "output.log", "session.log")
"""The files in the folder of a spawned agent (H-42)."""

_RESOURCES = "goop://project/"
_DEFAULT_WORKFLOW = "default"
_OF_A_PHASE = frozenset({SPEC, BLUEPRINT, CHRONICLE, RESEARCH})
_PLAIN_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TAKEN_FOLDERS = frozenset(
    {"archive", "checkpoints", "history", "phases", "quick", "sessions", "team"}
)

_NAMED_SESSION = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9-]*[a-z0-9]))*")
_LEAST_OF_A_NAME, _MOST_OF_A_NAME = 2, 50
_OURS = re.compile(
    rf"""{re.escape(FOLDER)}/(?:sessions/[a-z0-9-]{{2,50}}/)?(?:
        state(?:\.broken-[0-9]{{1,18}})?\.json
        | (?:CHRONICLE|HANDOFF|ADL)(?:\.conflict-[0-9]{{1,18}})?\.md
        | archive/(?:CHRONICLE|ADL)-[0-9]{{4}}-[0-9]{{2}}\.md
        | checkpoints/[A-Za-z0-9_-]{{1,100}}\.json
    )""",
    re.VERBOSE,
)
_CREATED_ONCE = re.compile(
    rf"""{re.escape(FOLDER)}/(?:
        (?:sessions/[a-z0-9-]{{2,50}}/)?(?:SPEC|BLUEPRINT|REQUIREMENTS)\.md
        | archive/round-[0-9]{{1,9}}/(?:SPEC|BLUEPRINT|CHRONICLE|HANDOFF|REQUIREMENTS)\.md
        | \.gitignore
        | hooks\.json
    )""",
    re.VERBOSE,
)
_SCHEMA_FILE = re.compile(rf"{re.escape(SCHEMAS_FOLDER)}/[a-z0-9.-]{{1,100}}\.xsd")
_SESSION_FILE = re.compile(
    rf"{re.escape(SESSIONS_FOLDER)}/[0-9]{{8}}-[0-9]{{6}}-[a-z0-9-]+/(?:{'|'.join(SESSION_FILES)})"
)
_SESSION_ARCHIVE = re.compile(
    rf"{re.escape(SESSIONS_FOLDER)}/[A-Za-z0-9][A-Za-z0-9._-]{{0,199}}\.tar\.gz"
)


def document_path(name: str, *, session: str | None = None) -> str:
    """Return the path of the document `name` of the project, or of its named `session`.

    Raises PathRefusedError for an invalid session id.
    """
    if session is None:
        return f"{FOLDER}/{name}"
    if not is_named_session(session):
        raise PathRefusedError(
            f"session {excerpt(session, 60)!r} is not valid; expected 2 to {_MOST_OF_A_NAME} of"
            " a-z, 0-9 and '-', beginning and ending with a letter or digit"
        )

    return f"{FOLDER}/sessions/{session}/{name}"


def archived_document(name: str, *, round: int) -> str:
    """Return the path of the copy of the document `name` in the archive of a round."""
    return f"{FOLDER}/archive/round-{round}/{name}"


def document_uri(name: str) -> str:
    """Return the URI of the resource that shows the document `name`."""
    return f"{_RESOURCES}{name}"


def document_places(
    name: str, *, workflow: str | None = None, phase: str | None = None, has_default: bool = False
) -> tuple[str, ...]:
    """Return the paths of the document `name` in order of precedence; the first that exists counts.

    The folder of a workflow other than `default` precedes the root, that of a phase follows it.
    HANDOFF.md in the root comes first, because that is the one we write. A name that cannot be a
    folder adds no path. With `has_default` the workflow `default` has a folder too, as in projects
    of GoopSpec 1.x with a database.
    """
    root = document_path(name)
    if name == STATE:
        return (root,)

    # A workflow with the name of another folder of the project has no folder of its own.
    has_folder = (
        workflow is not None
        and workflow != _DEFAULT_WORKFLOW
        and is_plain_folder(workflow)
        and workflow.lower() not in _TAKEN_FOLDERS
    )
    own = (f"{FOLDER}/{workflow}/{name}",) if has_folder else ()
    of_default = (
        (f"{FOLDER}/{_DEFAULT_WORKFLOW}/{name}",)
        if has_default and workflow == _DEFAULT_WORKFLOW
        else ()
    )
    of_phase = name in _OF_A_PHASE and phase is not None and is_plain_folder(phase)
    last = (f"{FOLDER}/phases/{phase}/{name}",) if of_phase else ()

    return (root, *own, *of_default) if name == HANDOFF else (*own, root, *last, *of_default)


def is_plain_folder(text: str) -> bool:
    """Whether `text`, the name of a workflow or phase, is a valid folder name on every system."""
    try:
        return _PLAIN_FOLDER.fullmatch(text) is not None and relative_parts(text) == (text,)
    except PathRefusedError:
        return False


def is_named_session(text: str) -> bool:
    """Whether `text` is a valid name of a session below `.goopspec/sessions`."""
    # Measured first: the pattern has no bound of its own.
    return (
        _LEAST_OF_A_NAME <= len(text) <= _MOST_OF_A_NAME
        and _NAMED_SESSION.fullmatch(text) is not None
    )


def session_folder(id: str) -> str:
    """Return the folder of the session of a spawned agent.

    Raises PathRefusedError for an id that is not a plain folder name; an unusual form is accepted
    here and reported as a finding elsewhere.
    """
    if len(relative_parts(id)) != 1 or "/" in id:
        raise PathRefusedError(
            f"session {excerpt(id, 60)!r} is not a folder name; expected YYYYMMDD-HHMMSS-slug"
        )

    return f"{SESSIONS_FOLDER}/{id}"


def session_archive(id: str) -> str:
    """Return the path of the archive of a finished session.

    Raises as `session_folder`.
    """
    return f"{session_folder(id)}.tar.gz"


def may_write(path: str) -> bool:
    """Whether this program may replace the file `path`, relative to the project."""
    return any(pattern.fullmatch(path) for pattern in (_OURS, _SESSION_FILE))


def may_create(path: str) -> bool:
    """Whether this program may create the missing file `path`, relative to the project."""
    return may_write(path) or any(
        pattern.fullmatch(path) for pattern in (_CREATED_ONCE, _SCHEMA_FILE, _SESSION_ARCHIVE)
    )
