"""Read a session of OpenCode: its export, or what our plugin sends of it.

A session is an object with `info` (its `version`) and `messages`, each with `info` (its `role`) and
`parts`. A command that failed is "completed" there, with its status in `metadata.exit`.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from goop_mcp.evidence.activity import AgentActivity, FileAction
from goop_mcp.evidence.readers.blocks import objects, text_at
from goop_mcp.evidence.readers.building import ActivityBuilder
from goop_mcp.evidence.readers.unknown_shapes import may_hide_work
from goop_mcp.validation.feedback import OPENING

__all__ = [
    "HOST",
    "TESTED_VERSIONS",
    "begins_task",
    "read_opencode",
    "read_opencode_export",
    "role_of",
    "session_of_export",
    "stop_word_of_session",
    "texts_of",
]

HOST: Final = "opencode"

TESTED_VERSIONS: Final = ("1.18.33",)
"""The versions whose sessions were recorded; others are read in the same way (D-105)."""

_FILE_TOOLS: Final[Mapping[str, FileAction]] = {
    "write": "written",
    "edit": "edited",
    "multiedit": "edited",
}
_DELEGATING: Final = ("task",)
_NOT_ENDED: Final = ("pending", "running")
_ABORTED: Final = ("abort", "interrupt", "cancel")
_HIGHEST_STATUS = 255
_SHOWN = 50
# Parts that show no work, or of work that stands in other parts as well; others are searched.
_HARMLESS: Final = frozenset(
    {"agent", "compaction", "file", "reasoning", "retry", "snapshot", "step-finish", "step-start"}
    | {"text"}
)
_OWN: Final = frozenset(
    {"bash", "read", "write", "edit", "multiedit", "patch", "apply_patch", "grep", "glob", "list"}
    | {"webfetch", "websearch", "codesearch", "todowrite", "todoread", "skill", "question", "lsp"}
    | {"invalid"}
)
"""Tools of the host itself; any other one comes from a plugin or an MCP server."""


def read_opencode_export(content: bytes, *, report: str | None) -> AgentActivity:
    """Return what the agent did, from the output of `opencode export`. Never raises."""
    session = session_of_export(content)
    if session is None:
        return AgentActivity(
            host=HOST, why_incomplete="the session is not a JSON object", unreadable=True
        )
    return read_opencode(session, report=report)


def session_of_export(content: bytes) -> Mapping[str, object] | None:
    """Return the session in the output of `opencode export`, None if there is none."""
    # The command prints a line of its own first.
    begin = content.find(b"{")
    try:
        session = json.loads(content[begin:] if begin >= 0 else content)
    except (ValueError, RecursionError):
        return None

    return session if isinstance(session, Mapping) else None


def stop_word_of_session(session: Mapping[str, object]) -> str | None:
    """Return the word for why the model stopped in the last message, None if there is none."""
    messages = objects(session.get("messages"))
    info = messages[-1].get("info") if messages else None
    if not isinstance(info, Mapping):
        return None
    error = info.get("error")
    name = text_at(error, "name") if isinstance(error, Mapping) else ""
    return name or text_at(info, "finish") or None


def read_opencode(session: Mapping[str, object], *, report: str | None) -> AgentActivity:
    """Return what the agent did in `session` up to its `report`, the text of its last message.

    The plugin sets `cut` in a session of which it left out the beginning. Without `report` the
    session is read to its end. Never raises: what cannot be read makes it incomplete, and so does
    what has an unknown form and may show work (D-105).
    """
    info = session.get("info")
    version = info.get("version") if isinstance(info, Mapping) else None
    version = version[:50] if isinstance(version, str) else ""
    messages = objects(session.get("messages"))

    problem = ""
    if session.get("cut") is True:
        problem = "only the end of the session was read"

    end = len(messages)
    if report is None:
        last = messages[-1] if messages else {}
        ends = role_of(last) == "assistant" and bool("".join(texts_of(last)).strip())
        problem = problem or ("" if ends else "the session ends without a message")
    else:
        bare = "".join(report.split())
        found = max(
            (at for at, each in enumerate(messages) if role_of(each) == "assistant"), default=-1
        )
        # A later message without it, such as one that was interrupted, is not a report.
        if found < 0 or not bare or bare not in "".join("".join(texts_of(messages[found])).split()):
            problem = problem or "the session does not hold the report"
        else:
            end = found + 1

    builder = ActivityBuilder()
    begun = False
    for number, message in enumerate(messages[:end], 1):
        if role_of(message) == "user":
            if begins_task(message):
                builder.begin_task()
                begun = True
        elif role_of(message) == "assistant":
            _read_message(builder, message, number)

    if not begun:
        problem = problem or "the beginning of the task is missing"

    return builder.finish(
        host=HOST,
        version=version,
        problem=problem,
        delegating=_DELEGATING,
        own=_OWN,
        from_start=True,
    )


def role_of(message: Mapping[str, object]) -> object:
    """Return the role of a message: "user", "assistant", or what else the file has there."""
    info = message.get("info")
    return info.get("role") if isinstance(info, Mapping) else None


def texts_of(message: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts that the agent or the user wrote, without those that the host added."""
    for part in objects(message.get("parts")):
        text = part.get("text")
        own = part.get("type") == "text" and part.get("synthetic") is not True
        if own and isinstance(text, str):
            yield text


def begins_task(message: Mapping[str, object]) -> bool:
    """Whether the user, or the agent that delegated, gives the agent something new to do."""
    if any(part.get("type") == "compaction" for part in objects(message.get("parts"))):
        return False

    text = "\n".join(texts_of(message)).strip()

    return bool(text) and not text.startswith(OPENING)


def _read_message(builder: ActivityBuilder, message: Mapping[str, object], number: int) -> None:
    source = f"session message {number}"
    # The host lists the files that a step changed after the commands of the step. Placed before
    # them, a command that changes files and then tests them is not older than its own changes.
    before = builder.reserve_position()

    if not isinstance(message.get("parts"), list):
        builder.note_unknown(f"messages of an unknown form ({source})")

    for part in objects(message.get("parts")):
        kind = text_at(part, "type")
        if kind == "tool":
            _read_tool(builder, part, source)
        elif kind not in _HARMLESS and kind != "patch" and may_hide_work(part, ()):
            builder.note_unknown(f"parts of an unknown kind, {kind[:_SHOWN]!r}")
        elif kind == "patch":
            files = part.get("files")
            for at, path in enumerate(files if isinstance(files, list) else ()):
                if isinstance(path, str):
                    call = f"{part.get('id')} {number} {at}"
                    builder.add_file(call, path, "edited", source=source, position=before)
                    builder.end_call(call, ok=True)


def _read_tool(builder: ActivityBuilder, part: Mapping[str, object], source: str) -> None:
    call, name, state = part.get("callID"), part.get("tool"), part.get("state")
    if not isinstance(call, str) or not isinstance(name, str) or not isinstance(state, Mapping):
        builder.note_unknown(f"calls of an unknown form ({source})")
        return

    # Providers may begin again to count their calls with each message.
    call = f"{source} {call}"
    given = state.get("input")
    given = given if isinstance(given, Mapping) else {}
    status, error = state.get("status"), state.get("error")
    error = error if isinstance(error, str) else ""

    if name == "bash":
        line = given.get("command")
        if not isinstance(line, str):
            builder.note_unknown(f"commands of an unknown form ({source})")
        builder.add_command(
            call, line if isinstance(line, str) else "", started=None, source=source
        )
        _end_command(builder, call, state, error)
        return

    if name in _FILE_TOOLS:
        path = given.get("filePath")
        path = path if isinstance(path, str) else ""
        builder.add_file(call, path, _FILE_TOOLS[name], source=source)
    else:
        builder.add_call(call, name, title=given.get("title"), source=source)

    ended = status in ("completed", "error")
    builder.end_call(call, ok=status == "completed" if ended else None, error=error)


def _end_command(
    builder: ActivityBuilder, call: str, state: Mapping[str, object], error: str
) -> None:
    if state.get("status") == "error":
        # Refused by a permission, unless somebody stopped it while it ran.
        began = any(word in error.lower() for word in _ABORTED)
        builder.end_command(call, status=None, output="", whole=False, ran=began)
        return
    if state.get("status") != "completed":
        if state.get("status") not in _NOT_ENDED:
            builder.note_unknown("results of commands of an unknown form")
        builder.end_command(call, status=None, output="", whole=False)
        return

    metadata = state.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    status, output = metadata.get("exit"), state.get("output")
    if "exit" not in metadata:
        builder.note_unknown("results of commands without their exit status")
    known = (
        isinstance(status, int) and not isinstance(status, bool) and 0 <= status <= _HIGHEST_STATUS
    )
    builder.end_command(
        call,
        status=status if known and isinstance(status, int) else None,
        output=output if isinstance(output, str) else "",
        whole=metadata.get("truncated") is False,
    )
