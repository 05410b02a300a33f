"""The folders of spawned agents, `docs/.scratch/sessions/<id>/`, with five files each.

The layout is that of the xml-handoff-protocol, section 5.1.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from goop_mcp.errors import DocumentUnreadableError, PathRefusedError
from goop_mcp.protocols.agent_request.sessions import is_session_id
from goop_mcp.validation.findings import excerpt
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.files import FileKind, ProjectFiles
from goop_mcp.workspace.json_text import JsonDefect, parse_object
from goop_mcp.workspace.layout import SESSION_FILES, SESSIONS_FOLDER, session_folder
from goop_mcp.workspace.replacing import create_file

__all__ = ["SessionFolder", "create_session", "list_sessions", "read_session", "read_sessions"]

_STATE, _PROMPT, _RESULT, _OUTPUT, _LOG = SESSION_FILES


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFolder:
    """The content of a session's folder.

    `status` is that of state.json, None if absent. `result` is result.json, None while it is
    missing or empty. `errors` are messages about missing and unreadable files.
    """

    id: str
    files: tuple[str, ...] = ()
    status: str | None = None
    prompt: str | None = None
    result: Mapping[str, JsonValue] | None = None
    errors: tuple[str, ...] = ()


def create_session(
    files: ProjectFiles,
    id: str,
    *,
    prompt: str,
    created_at: str,
    agent: str | None = None,
    status: str = "CREATED",
    result: Mapping[str, JsonValue] | None = None,
    output: str = "",
) -> str:
    """Create the folder of session `id` with its five files and return its path.

    Existing files stay. The agent writes result.json, which begins as an empty object; `status`,
    `result` and `output` are those of a session that has ended already. Raises PathRefusedError for
    an id of another form than YYYYMMDD-HHMMSS-slug, and UnwritableFileError.
    """
    if not is_session_id(id):
        raise PathRefusedError(
            f"session {excerpt(id, 60)!r} has another form; expected YYYYMMDD-HHMMSS-slug"
        )

    folder = session_folder(id)
    state = {"session_id": id, "status": status, "agent": agent, "created_at": created_at}
    contents = {
        _STATE: json.dumps(state, indent=2, ensure_ascii=False) + "\n",
        _PROMPT: prompt,
        _RESULT: json.dumps(result or {}, indent=2 if result else None, ensure_ascii=False) + "\n",
        _OUTPUT: output,
        _LOG: "",
    }
    # Each file is created only if it is missing, so that a repeated call completes a session.
    for name, text in contents.items():
        create_file(files, f"{folder}/{name}", text.encode())

    return folder


def list_sessions(files: ProjectFiles) -> tuple[str, ...]:
    """Return the names of all session folders, sorted: by time if they have the usual form."""
    names = []
    for name in files.names(SESSIONS_FOLDER):
        with suppress(PathRefusedError):
            if files.kind(f"{SESSIONS_FOLDER}/{name}") is FileKind.FOLDER:
                names.append(name)

    return tuple(names)


def read_session(files: ProjectFiles, id: str) -> SessionFolder:
    """Return the content of the folder of session `id`, with a message for each unusable file.

    Raises PathRefusedError for an id that is not a valid folder name.
    """
    folder = session_folder(id)
    if not files.exists(folder):
        return SessionFolder(id=id, errors=(f"there is no session {id} below {SESSIONS_FOLDER}",))

    present = tuple(name for name in SESSION_FILES if name in files.names(folder))
    errors = [f"{name} is missing in session {id}" for name in SESSION_FILES if name not in present]
    state = _object(files, f"{folder}/{_STATE}", errors)
    result = _object(files, f"{folder}/{_RESULT}", errors)
    if result is not None and not result:
        errors.append(f"{_RESULT} is empty in session {id}")

    status = (state or {}).get("status")

    return SessionFolder(
        id=id,
        files=present,
        status=status if isinstance(status, str) else None,
        prompt=_text(files, f"{folder}/{_PROMPT}", errors),
        result=result or None,
        errors=tuple(errors),
    )


def read_sessions(files: ProjectFiles, ids: Sequence[str]) -> tuple[SessionFolder, ...]:
    """Return the sessions in the order of `ids`; a missing folder or result is not fatal (H-46)."""
    return tuple(read_session(files, id) for id in ids)


def _text(files: ProjectFiles, path: str, errors: list[str]) -> str | None:
    try:
        return files.read_text(path)
    except (DocumentUnreadableError, PathRefusedError) as error:
        errors.append(str(error))
        return None


def _object(files: ProjectFiles, path: str, errors: list[str]) -> Mapping[str, JsonValue] | None:
    text = _text(files, path, errors)
    parsed = parse_object(text) if text is not None else None
    if isinstance(parsed, JsonDefect):
        errors.append(
            f"{path} cannot be read at line {parsed.line}, column {parsed.column}: {parsed.message}"
        )
        return None

    return parsed
