"""Where everything lies in a project: names of documents, folders, sessions; and which of them we may write."""

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
    "GIT_IGNORE",
    "GOOPSPEC_DATABASE",
    "HANDOFF",
    "HISTORY_FOLDER",
    "KNOWLEDGE_BASE",
    "READING_ORDER",
    "REQUIREMENTS",
    "RESEARCH",
    "SCHEMAS_FOLDER",
    "SESSIONS_FOLDER",
    "SESSION_FILES",
    "SPEC",
    "STATE",
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
GIT_IGNORE: Final = ".gitignore"
GOOPSPEC_DATABASE: Final = "goopspec.db"
"""Where GoopSpec 1.x keeps its state; it is read and never written."""

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
"""What surfaces show of a project (INTERFACES, section 6)."""

READING_ORDER: Final = (STATE, KNOWLEDGE_BASE, SPEC, CHRONICLE, BLUEPRINT)
"""What an agent reads before it starts (P-05); the search in memory stands between the second and the third."""

CHECKPOINTS_FOLDER: Final = f"{FOLDER}/checkpoints"
HISTORY_FOLDER: Final = f"{FOLDER}/history"
SESSIONS_FOLDER: Final = "docs/.scratch/sessions"
SCHEMAS_FOLDER: Final = ".claude/schemas"
"""Where the tools of a project look for the schema of a handoff (xml-handoff-protocol)."""

SESSION_FILES: Final = ("state.json", "prompt.md", "result.json", "output.log", "session.log")
"""What the folder of a spawned agent holds (H-42)."""

_RESOURCES = "goop://project/"
_DEFAULT_WORKFLOW = "default"
_OF_A_PHASE = frozenset({SPEC, BLUEPRINT, CHRONICLE, RESEARCH})
_PLAIN_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TAKEN_FOLDERS = frozenset(
    {"archive", "checkpoints", "history", "phases", "quick", "sessions", "team"}
)

_NAMED_SESSION = re.compile(r"[a-z0-9](?:[a-z0-9]|-(?=[a-z0-9-]*[a-z0-9]))*")
_MOST_OF_A_NAME = 50
_OURS = re.compile(
    rf"""{re.escape(FOLDER)}/(?:sessions/[a-z0-9-]{{2,50}}/)?(?:
        state\.json
        | (?:CHRONICLE|HANDOFF|ADL)(?:\.conflict-[0-9]{{1,18}})?\.md
        | archive/(?:CHRONICLE|ADL)-[0-9]{{4}}-[0-9]{{2}}\.md
        | checkpoints/[A-Za-z0-9_-]{{1,100}}\.json
    )""",
    re.VERBOSE,
)
_LAID_DOWN = re.compile(
    rf"""{re.escape(FOLDER)}/(?:
        (?:sessions/[a-z0-9-]{{2,50}}/)?(?:SPEC|BLUEPRINT|REQUIREMENTS)\.md
        | \.gitignore
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
    """Return where the document `name` lies, that of the named `session` instead of the project's where one is given.

    Raises PathRefusedError for an id that is none.
    """
    return (
        f"{FOLDER}/{name}" if session is None else f"{FOLDER}/sessions/{_checked(session)}/{name}"
    )


def document_uri(name: str) -> str:
    """Return the address of the resource that shows the document `name` (INTERFACES, section 6)."""
    return f"{_RESOURCES}{name}"


def document_places(
    name: str, *, workflow: str | None = None, phase: str | None = None, has_default: bool = False
) -> tuple[str, ...]:
    """Return where the document `name` of the project is looked for; the first place that has one counts.

    The folder of a workflow other than `default` goes before the root, that of a phase behind it (WORKFLOW, section 5).
    HANDOFF.md in the root goes first: it is the one that is written. A name that cannot be a folder's adds no place.
    With `has_default`, as where GoopSpec 1.x keeps its state in a database, the workflow `default` has a folder too.
    """
    root = document_path(name)
    if name == STATE:
        return (root,)

    own = (f"{FOLDER}/{workflow}/{name}",) if workflow is not None and _has_folder(workflow) else ()
    of_default = (
        (f"{FOLDER}/{_DEFAULT_WORKFLOW}/{name}",)
        if has_default and workflow == _DEFAULT_WORKFLOW
        else ()
    )
    of_phase = name in _OF_A_PHASE and phase is not None and is_plain_folder(phase)
    last = (f"{FOLDER}/phases/{phase}/{name}",) if of_phase else ()

    return (root, *own, *of_default) if name == HANDOFF else (*own, root, *last, *of_default)


def is_plain_folder(text: str) -> bool:
    """Return whether `text`, a name of a workflow or a phase, can name one folder on every system."""
    try:
        return _PLAIN_FOLDER.fullmatch(text) is not None and relative_parts(text) == (text,)
    except PathRefusedError:
        return False


def is_named_session(text: str) -> bool:
    """Return whether `text` can name a session below `.goopspec/sessions` (WORKFLOW, section 5)."""
    # First and last letter
    return 2 <= len(text) <= _MOST_OF_A_NAME and _NAMED_SESSION.fullmatch(text) is not None  # noqa: PLR2004


def session_folder(id: str) -> str:
    """Return the folder of a spawned agent's session; whether `id` has the usual form is a finding, not asked here.

    Raises PathRefusedError for an id that is no plain name of a folder.
    """
    if len(relative_parts(id)) != 1 or "/" in id:
        raise PathRefusedError(
            f"session {excerpt(id, 60)!r} is no name of a folder; expected YYYYMMDD-HHMMSS-slug"
        )

    return f"{SESSIONS_FOLDER}/{id}"


def session_archive(id: str) -> str:
    """Return the file that the folder of a finished session is packed into.

    Raises as `session_folder`.
    """
    return f"{session_folder(id)}.tar.gz"


def may_write(path: str) -> bool:
    """Return whether `path`, relative to the project, is one of the files that this program ever writes over."""
    return any(pattern.fullmatch(path) for pattern in (_OURS, _SESSION_FILE))


def may_create(path: str) -> bool:
    """Return whether `path` is one of the files that this program may lay down where nothing is yet."""
    return may_write(path) or any(
        pattern.fullmatch(path) for pattern in (_LAID_DOWN, _SCHEMA_FILE, _SESSION_ARCHIVE)
    )


def _has_folder(workflow: str) -> bool:
    return (
        workflow != _DEFAULT_WORKFLOW
        and is_plain_folder(workflow)
        and workflow.lower() not in _TAKEN_FOLDERS
    )


def _checked(session: str) -> str:
    if not is_named_session(session):
        raise PathRefusedError(
            f"session {excerpt(session, 60)!r} is no id; expected 2 to {_MOST_OF_A_NAME} of a-z,"
            " 0-9 and '-', beginning and ending with a letter or digit"
        )

    return session
