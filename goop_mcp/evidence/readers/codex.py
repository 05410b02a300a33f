"""Read a rollout of Codex: JSON Lines, one for each item of a conversation.

The model's calls (`response_item`) give the order, the host's own items (`item_completed`) the
outcome: a command is one of them once it has ended, also one that went on in the background. Both
carry the id of the call. A patch in a shell line is a change of files there and no command.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from goop_mcp.evidence.activity import AgentActivity, FileAction
from goop_mcp.evidence.readers.building import ActivityBuilder, find_hidden_work, text_of
from goop_mcp.validation.feedback import OPENING

__all__ = ["HOST", "TESTED_VERSIONS", "ends_with_report", "is_rollout", "read_codex"]

HOST: Final = "codex"

TESTED_VERSIONS: Final = ("0.169.0",)
"""The versions whose rollouts were recorded; `make record-hosts` records another one."""

_FIRST: Final = b'"type":"session_meta"'
# Long instructions and snapshots of the host lie between the lines that count.
_COUNTED: Final = (b'"response_item"', b'"item_completed"', b'"session_meta"', b'"compacted"')
_SHELLS: Final = frozenset({"exec_command", "shell", "shell_command", "local_shell"})
_PATCHES: Final = frozenset({"apply_patch"})
_DELEGATING: Final = frozenset({"spawn_agent", "send_input", "followup_task", "send_message"})
_OWN: Final = frozenset(
    {"write_stdin", "update_plan", "view_image", "request_user_input", "get_goal", "create_goal"}
    | {"update_goal", "wait_agent", "close_agent", "resume_agent", "list_agents", "wait"}
    | {"ToolSearch", "tool_search", "web_search", "list_mcp_resources", "read_mcp_resource"}
)
"""Tools of the host that run nothing; any other one comes from a server or a later version."""

_CHANGES: Final[Mapping[str, FileAction]] = {
    "add": "written",
    "update": "edited",
    "delete": "deleted",
}
_HEADINGS: Final[Mapping[str, FileAction]] = {
    "*** Add File: ": "written",
    "*** Update File: ": "edited",
    "*** Delete File: ": "deleted",
}
_REFUSED_PATCH: Final = "apply_patch verification failed"
_UNKNOWN_TOOL: Final = "unsupported call"
_MOST_FILES: Final = 200
# The host kills what still runs when its session ends, which is not an outcome of the command.
_BY_SIGNAL: Final = 128
_TIMED_OUT: Final = 124
_CUT: Final = (" chars truncated", " tokens truncated", " bytes truncated", "[... ")


class _Entry(NamedTuple):
    number: int
    kind: str
    payload: Mapping[str, object]


class _Rollout(NamedTuple):
    entries: Sequence[_Entry]
    version: str
    folder: str
    problem: str


def is_rollout(content: bytes) -> bool:
    """Whether `content` begins as a rollout of Codex does."""
    return _FIRST in content.partition(b"\n")[0][:1000].replace(b'": "', b'":"')


def read_codex(
    content: bytes,
    *,
    report: str | None,
    from_start: bool = True,
    at_end: bool = True,
    any_version: bool = False,
) -> AgentActivity:
    """Return what the agent did up to its `report`.

    The arguments are those of `read_claude_code`. Each agent has a rollout of its own.

    Never raises: what cannot be read makes the activity incomplete.
    """
    rollout = _lines(content, from_start=from_start)
    entries, problem = rollout.entries, rollout.problem
    messages = [at for at, each in enumerate(entries) if _message(each) is not None]
    end = len(entries)

    if report is None:
        # What comes after the last message is the host's tidying up.
        end = messages[-1] + 1 if messages else end
        calls = any(each.kind == "call" for each in entries[end:])
        if not messages or calls:
            problem = problem or "the transcript ends without a message"
    else:
        found = _find_report(entries, messages, report, whole=at_end)
        if found is None:
            problem = problem or "the transcript does not hold the report"
        else:
            later = any(each.kind in {"call", "user"} for each in entries[found + 1 :])
            if at_end and (later or found != messages[-1]):
                problem = problem or "the transcript goes on after the report"
            end = found + 1

    if rollout.version not in TESTED_VERSIONS and not any_version:
        problem = problem or f"{HOST} {rollout.version or 'without a version'} was not tested"

    builder = ActivityBuilder()
    begun, hidden = _fill(builder, entries[:end], rollout.folder)
    if not begun:
        problem = problem or "the beginning of the task is missing"

    version = rollout.version
    activity = builder.build(
        host=HOST, version=version, complete=not problem, why_incomplete=problem
    )
    hidden = hidden or find_hidden_work(activity, delegating=_DELEGATING, own=_OWN)
    if hidden and activity.complete:
        return builder.build(host=HOST, version=version, complete=False, why_incomplete=hidden)

    return activity


def ends_with_report(content: bytes, report: str) -> bool:
    """Whether the last message of the agent is the report; for a file that is being written."""
    for raw in reversed(content.split(b"\n")):
        if b'"response_item"' in raw:
            entry = _parse(0, raw)
            if entry is None:
                return False
            if entry.kind in {"call", "output", "user"}:
                return False

            text = _message(entry)
            if text is not None:
                return _bare(text) == _bare(report)

    return False


def _lines(content: bytes, *, from_start: bool) -> _Rollout:
    raw_lines = content.split(b"\n")
    unfinished = raw_lines.pop() if raw_lines else b""
    problem = "" if from_start else "only the end of the transcript was read"
    entries: list[_Entry] = []
    version = folder = ""

    for number, raw in enumerate(raw_lines if from_start else raw_lines[1:], 1):
        text = raw.rstrip()
        if not text:
            continue
        if not (text.startswith(b"{") and text.endswith(b"}")):
            problem = problem or f"line {number} of the transcript is damaged"
            continue
        if not any(mark in text for mark in _COUNTED):
            continue

        entry = _parse(number, text)
        if entry is None:
            problem = problem or f"line {number} of the transcript is damaged"
        elif entry.kind == "session":
            # A continued session begins with a line of its own, perhaps of another version.
            found = _word(entry.payload, "cli_version")[:50]
            if version and found != version:
                problem = problem or "the transcript is of several versions"
            version, folder = found, _word(entry.payload, "cwd")
        elif entry.kind:
            entries.append(entry)

    if unfinished.strip():
        last = _parse(len(raw_lines) + 1, unfinished)
        if last is None:
            problem = problem or "the last line of the transcript is not whole"
        elif last.kind:
            entries.append(last)

    return _Rollout(entries, version, folder, problem)


def _parse(number: int, raw: bytes) -> _Entry | None:
    """Return the line with the kind that it has here, "" for one that does not count."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None

    payload = value.get("payload") if isinstance(value, Mapping) else None
    if not isinstance(payload, Mapping):
        return None

    kind, inner = value.get("type"), _word(payload, "type")
    if kind == "session_meta":
        return _Entry(number, "session", payload)
    if kind == "compacted":
        return _Entry(number, "", payload)
    if kind == "event_msg" and inner == "item_completed":
        item = payload.get("item")
        if not isinstance(item, Mapping):
            return None
        # The host lists messages of a person, and not those that it adds itself. Our feedback, sent
        # by the retry loop, begins no task.
        if item.get("type") != "UserMessage":
            return _Entry(number, "item", item)
        is_feedback = text_of(item.get("content")).lstrip().startswith(OPENING)
        return _Entry(number, "" if is_feedback else "user", item)
    if kind != "response_item":
        return _Entry(number, "", payload)
    if inner == "message":
        return _Entry(number, "message" if payload.get("role") == "assistant" else "", payload)
    if inner in {"function_call", "custom_tool_call", "local_shell_call"}:
        return _Entry(number, "call", payload)
    if inner in {"function_call_output", "custom_tool_call_output"}:
        return _Entry(number, "output", payload)
    return _Entry(number, "", payload)


def _word(payload: Mapping[str, object], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""


def _bare(text: str) -> str:
    return "".join(text.split())


def _message(entry: _Entry) -> str | None:
    """Return the text of a message of the agent, None for any other line."""
    if entry.kind != "message":
        return None
    text = text_of(entry.payload.get("content"))
    return text if text.strip() else None


def _find_report(
    entries: Sequence[_Entry], messages: Sequence[int], report: str, *, whole: bool
) -> int | None:
    wanted = _bare(report)
    for at in reversed(messages):
        text = _bare(_message(entries[at]) or "")
        if wanted and (text == wanted if whole else wanted in text):
            return at

    return None


def _fill(builder: ActivityBuilder, entries: Sequence[_Entry], folder: str) -> tuple[bool, str]:
    """Add the entries; return whether a task begins in them, and what may be hidden."""
    items = {
        call: each.payload
        for each in entries
        if each.kind == "item" and (call := _word(each.payload, "id"))
    }
    outputs: dict[str, str] = {}
    for each in entries:
        if each.kind == "output" and (call := _word(each.payload, "call_id")):
            output = each.payload.get("output")
            # It is a text, or an object whose content is one.
            outputs[call] = text_of(
                output.get("content") if isinstance(output, Mapping) else output
            )

    begun, hidden, seen = False, "", set[str]()
    for entry in entries:
        if entry.kind == "user":
            builder.begin_task()
            begun = True
            hidden = ""
        elif entry.kind == "call":
            call = _word(entry.payload, "call_id")
            if call in seen:
                # Two calls of one id: nobody knows whose outcome an item is.
                hidden = hidden or "the transcript repeats the id of a call"
                continue

            seen.add(call)
            given = _arguments(entry.payload)
            if _word(entry.payload, "name") == "write_stdin" and _word(given, "chars").strip():
                hidden = hidden or "the agent typed into a program that was running"

            source = f"transcript line {entry.number}"
            _add(
                builder,
                entry.payload,
                given,
                item=items.get(call),
                output=outputs.get(call),
                folder=folder,
                source=source,
            )

    return begun, hidden


def _add(
    builder: ActivityBuilder,
    call: Mapping[str, object],
    given: Mapping[str, object],
    *,
    item: Mapping[str, object] | None,
    output: str | None,
    folder: str,
    source: str,
) -> None:
    id, name = _word(call, "call_id"), _word(call, "name")
    kind = item.get("type") if item is not None else None
    refused = output is not None and output.startswith(_REFUSED_PATCH)

    if item is not None and kind == "FileChange":
        changes = item.get("changes")
        done = item.get("status") == "completed"
        for path, change in list((changes if isinstance(changes, Mapping) else {}).items())[
            :_MOST_FILES
        ]:
            how = _word(change, "type") if isinstance(change, Mapping) else ""
            _add_file(
                builder, f"{id} {path}", path, _CHANGES.get(how, "edited"), source=source, ok=done
            )

    elif refused or (name in _PATCHES and kind is None):
        # The host has no item for a patch that does not fit.
        ok = False if refused else None

        # The patch is the whole input, one of the arguments, or the line of a shell.
        texts = (call.get("input"), given.get("input"), given.get("patch"), given.get("cmd"))
        patch = next((each for each in texts if isinstance(each, str)), "")
        for path, action in _headings(patch):
            full = path if path.startswith("/") else f"{folder}/{path}"
            _add_file(
                builder, f"{id} {path}", full, action, source=source, ok=ok, error=output or ""
            )

    elif name in _SHELLS or kind == "CommandExecution":
        builder.add_command(id, _shell_line(given, item), started=None, source=source)
        _end_command(builder, id, item, output)

    else:
        space = _word(call, "namespace")
        full_name = f"{space}.{name}" if space.startswith("mcp__") else name
        builder.add_call(id, full_name, title=given.get("title"), source=source)
        ok, error = _outcome(item, output)
        builder.end_call(id, ok=ok, error=error)


def _add_file(
    builder: ActivityBuilder,
    id: str,
    path: str,
    action: FileAction,
    *,
    source: str,
    ok: bool | None,
    error: str = "",
) -> None:
    builder.add_file(id, path, action, source=source)
    builder.end_call(id, ok=ok, error=error)


def _end_command(
    builder: ActivityBuilder, id: str, item: Mapping[str, object] | None, output: str | None
) -> None:
    if item is None:
        # Still running, or refused before it began; only a refusal has an answer without a process.
        ran = output is None or "Process running" in output or "Process exited" in output
        builder.end_command(id, status=None, output="", whole=False, ran=ran)
        return

    status, text = item.get("exit_code"), _word(item, "aggregated_output")
    if not isinstance(status, int) or isinstance(status, bool) or status == _TIMED_OUT:
        status = None

    builder.end_command(
        id,
        status=status if status is not None and 0 <= status < _BY_SIGNAL else None,
        output=text,
        whole=not any(mark in text for mark in _CUT),
        ran=item.get("status") != "declined",
    )


def _outcome(item: Mapping[str, object] | None, output: str | None) -> tuple[bool | None, str]:
    if item is not None and "status" in item:
        result = item.get("result")
        failed = isinstance(result, Mapping) and result.get("isError") is True
        text = text_of(result.get("content")) if isinstance(result, Mapping) else ""
        return item.get("status") == "completed" and not failed, text
    if output is not None and output.startswith(_UNKNOWN_TOOL):
        return False, output
    return None, ""


def _arguments(call: Mapping[str, object]) -> Mapping[str, object]:
    given = call.get("arguments")
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = None

    return given if isinstance(given, Mapping) else {}


def _shell_line(given: Mapping[str, object], item: Mapping[str, object] | None) -> str:
    """Return the line that the shell ran: as the model wrote it, or else as the host started it."""
    for key in ("cmd", "command"):
        line = given.get(key)
        if isinstance(line, str):
            return line

    words = given.get("command") or (item or {}).get("command")
    listed = [each for each in words if isinstance(each, str)] if isinstance(words, list) else []
    is_shell = len(listed) == len(("bash", "-lc", "line")) and listed[1] in {"-c", "-lc"}

    return listed[2] if is_shell else " ".join(listed)


def _headings(patch: str) -> Iterator[tuple[str, FileAction]]:
    found = 0
    for line in patch.splitlines():
        for heading, action in _HEADINGS.items():
            if line.startswith(heading) and found < _MOST_FILES:
                found += 1
                yield line.removeprefix(heading).strip(), action
