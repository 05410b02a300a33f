"""Read a rollout of Codex: JSON Lines, one for each item of a conversation.

The model's calls (`response_item`) give the order, the host's own items (`item_completed`) the
outcome: a command is one of them once it has ended, also one that went on in the background. Both
carry the id of the call. A patch in a shell line is a change of files there and no command. Earlier
versions are read as well (`codex_outcomes`).
"""

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final, NamedTuple

import msgspec

from goop_mcp.evidence.activity import AgentActivity, FileAction
from goop_mcp.evidence.readers.blocks import text_at, text_of
from goop_mcp.evidence.readers.building import ActivityBuilder
from goop_mcp.evidence.readers.codex_outcomes import CUT, ENDS, item_of_end, item_of_output
from goop_mcp.evidence.readers.others import starts_command_of_person
from goop_mcp.evidence.readers.unknown_shapes import may_hide_work
from goop_mcp.validation.feedback import OPENING

__all__ = [
    "HOST",
    "TESTED_VERSIONS",
    "ends_with_report",
    "is_rollout",
    "message_of",
    "parse_entry",
    "read_codex",
]

HOST: Final = "codex"

TESTED_VERSIONS: Final = ("0.169.0",)
"""The versions whose rollouts were recorded; others are read in the same way (D-105)."""

_FIRST: Final = b'"type":"session_meta"'
_SHOWN = 50
# Long instructions and snapshots of the host lie between the lines that count.
_COUNTED: Final = frozenset({"item_completed", "session_meta", "compacted"}) | frozenset(
    {"message", "function_call", "custom_tool_call", "local_shell_call"}
    | {"function_call_output", "custom_tool_call_output", "user_message", *ENDS}
)
# Lines that show no work, or of work that stands in other lines as well. Others are searched
# (`unknown_shapes`).
_HARMLESS: Final = frozenset(
    {"agent_message", "reasoning", "task_complete", "task_started", "thread_settings_applied"}
    | {"token_count", "token_usage_record", "turn_context", "world_state"}
)
# What the host itself completes, which no call of the model has to have begun.
_ITEMS_WITHOUT_CALL: Final = frozenset({"AgentMessage", "HookPrompt", "Reasoning", "UserMessage"})
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
_CUT: Final = (CUT, " chars truncated", " tokens truncated", " bytes truncated", "[... ")


class Entry(NamedTuple):
    """A line that counts: its number, from 1, its kind here, and what it holds."""

    number: int
    kind: str
    payload: Mapping[str, object]


class _Rollout(NamedTuple):
    """The lines that count, and those of kinds that the reader does not know."""

    entries: Sequence[Entry]
    unknown: Sequence[tuple[str, object]]
    version: str
    folder: str
    problem: str


class _Payload(msgspec.Struct):
    type: str = ""


class _Kind(msgspec.Struct):
    """What is read of a line to know its kind: a tenth of the time of reading all of it."""

    type: str = ""
    payload: _Payload | None = None


_KIND_OF: Final = msgspec.json.Decoder(_Kind)


def is_rollout(content: bytes) -> bool:
    """Whether `content` begins as a rollout of Codex does."""
    return _FIRST in content.partition(b"\n")[0][:1000].replace(b'": "', b'":"')


def read_codex(
    content: bytes, *, report: str | None, from_start: bool = True, at_end: bool = True
) -> AgentActivity:
    """Return what the agent did up to its `report`.

    The arguments are those of `read_claude_code`. Each agent has a rollout of its own.

    Never raises: what cannot be read makes the activity incomplete.
    """
    rollout = _lines(content, from_start=from_start)
    entries, problem = rollout.entries, rollout.problem
    messages = [at for at, each in enumerate(entries) if message_of(each) is not None]
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

    builder = ActivityBuilder()
    begins, hidden, known = _fill(builder, entries[:end], rollout.folder)
    if from_start and not begins:
        problem = problem or "the beginning of the task is missing"

    uncalled = (
        (text_at(each.payload, "type"), each.payload)
        for each in entries[:end]
        if each.kind == "item" and text_at(each.payload, "type") not in _ITEMS_WITHOUT_CALL
    )
    for kind, value in (*rollout.unknown, *uncalled):
        if may_hide_work(value, known):
            builder.note_unknown(f"lines of an unknown kind, {kind[:_SHOWN]!r}")
            break

    return builder.finish(
        host=HOST,
        version=rollout.version,
        problem=problem,
        hidden=hidden,
        delegating=_DELEGATING,
        own=_OWN,
        from_start=from_start,
    )


def ends_with_report(content: bytes, report: str) -> bool:
    """Whether the last message of the agent is the report; for a file that is being written."""
    for raw in reversed(content.split(b"\n")):
        if b'"response_item"' in raw:
            entry = parse_entry(0, raw)
            if entry is None:
                return False
            if entry.kind in {"call", "output", "user"}:
                return False

            text = message_of(entry)
            if text is not None:
                return _bare(text) == _bare(report)

    return False


def _lines(content: bytes, *, from_start: bool) -> _Rollout:
    raw_lines = content.split(b"\n")
    unfinished = raw_lines.pop() if raw_lines else b""
    problem = ""
    entries: list[Entry] = []
    unknown: list[tuple[str, object]] = []
    version = folder = ""

    for number, raw in enumerate(raw_lines if from_start else raw_lines[1:], 1):
        text = raw.rstrip()
        if not text:
            continue
        if not (text.startswith(b"{") and text.endswith(b"}")):
            problem = problem or f"line {number} of the transcript is damaged"
            continue
        kind = _kind(text)
        if kind in _HARMLESS:
            continue

        entry = parse_entry(number, text)
        if entry is None:
            problem = problem or f"line {number} of the transcript is damaged"
        elif kind not in _COUNTED:
            unknown.append((kind, entry.payload))
        elif entry.kind == "session":
            # A continued session begins with a line of its own, perhaps of a newer version.
            version, folder = text_at(entry.payload, "cli_version"), text_at(entry.payload, "cwd")
        elif entry.kind:
            entries.append(entry)

    if unfinished.strip():
        last = parse_entry(len(raw_lines) + 1, unfinished)
        if last is None:
            problem = problem or "the last line of the transcript is not whole"
        elif last.kind:
            entries.append(last)

    return _Rollout(entries, unknown, version[:_SHOWN], folder, problem)


def _kind(text: bytes) -> str:
    """Return the kind of a line: that of its payload, if that has one; "" if it cannot be read."""
    try:
        line = _KIND_OF.decode(text)
    except (ValueError, RecursionError):
        return ""
    return (line.payload.type if line.payload is not None else "") or line.type


def parse_entry(number: int, raw: bytes) -> Entry | None:
    """Return the line with the kind that it has here, "" for one that does not count."""
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None

    payload = value.get("payload") if isinstance(value, Mapping) else None
    if not isinstance(payload, Mapping):
        return None

    kind, inner = value.get("type"), text_at(payload, "type")
    if kind == "session_meta":
        return Entry(number, "session", payload)
    if kind == "compacted":
        return Entry(number, "", payload)
    if kind == "event_msg":
        return _event(number, payload, inner)
    if kind != "response_item":
        return Entry(number, "", payload)
    if inner == "message" and starts_command_of_person(text_of(payload.get("content"))):
        return Entry(number, "person", payload)
    if inner == "message":
        return Entry(number, "message" if payload.get("role") == "assistant" else "", payload)
    if inner in {"function_call", "custom_tool_call", "local_shell_call"}:
        return Entry(number, "call", payload)
    if inner in {"function_call_output", "custom_tool_call_output"}:
        return Entry(number, "output", payload)
    return Entry(number, "", payload)


def _event(number: int, payload: Mapping[str, object], kind: str) -> Entry | None:
    if kind == "user_message":
        return _of_person(number, payload, text_at(payload, "message"))
    item = payload.get("item") if kind == "item_completed" else item_of_end(payload)
    if not isinstance(item, Mapping):
        return None if kind == "item_completed" else Entry(number, "", payload)
    if item.get("type") == "UserMessage":
        return _of_person(number, item, text_of(item.get("content")))
    return Entry(number, "item", item)


def _of_person(number: int, payload: Mapping[str, object], text: str) -> Entry:
    # The host lists messages of a person, and not those that it adds itself. Our feedback, sent by
    # the retry loop, begins no task.
    return Entry(number, "" if text.lstrip().startswith(OPENING) else "user", payload)


def _bare(text: str) -> str:
    return "".join(text.split())


def message_of(entry: Entry) -> str | None:
    """Return the text of a message of the agent, None for any other line."""
    if entry.kind != "message":
        return None
    text = text_of(entry.payload.get("content"))
    return text if text.strip() else None


def _find_report(
    entries: Sequence[Entry], messages: Sequence[int], report: str, *, whole: bool
) -> int | None:
    wanted = _bare(report)
    for at in reversed(messages):
        text = _bare(message_of(entries[at]) or "")
        if wanted and (text == wanted if whole else wanted in text):
            return at

    return None


def _fill(
    builder: ActivityBuilder, entries: Sequence[Entry], folder: str
) -> tuple[bool, str, Set[str]]:
    """Add the entries; return whether a task begins, what may be hidden, the ids of the calls."""
    items = {
        call: each.payload
        for each in entries
        if each.kind == "item" and (call := text_at(each.payload, "id"))
    }
    outputs: dict[str, str] = {}
    for each in entries:
        if each.kind == "output" and (call := text_at(each.payload, "call_id")):
            output = each.payload.get("output")
            # It is a text, or an object whose content is one.
            outputs[call] = text_of(
                output.get("content") if isinstance(output, Mapping) else output
            )

    begun, hidden = False, ""
    seen: set[str] = set()
    for entry in entries:
        if entry.kind == "user":
            builder.begin_task()
            begun = True
            hidden = ""
        elif entry.kind == "person":
            builder.add_of_others("user-shell", entry.number)
        elif entry.kind == "call":
            call = text_at(entry.payload, "call_id")
            if call in seen:
                # Two calls of one id: nobody knows whose outcome an item is.
                hidden = hidden or "the transcript repeats the id of a call"
                continue

            seen.add(call)
            given = _arguments(entry.payload)
            if text_at(entry.payload, "name") == "write_stdin" and text_at(given, "chars").strip():
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

    return begun, hidden, seen


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
    id, name = text_at(call, "call_id"), text_at(call, "name")
    kind = item.get("type") if item is not None else None
    refused = output is not None and output.startswith(_REFUSED_PATCH)

    if item is not None and kind == "FileChange":
        changes = item.get("changes")
        done = item.get("status") == "completed"
        for path, change in list((changes if isinstance(changes, Mapping) else {}).items())[
            :_MOST_FILES
        ]:
            how = text_at(change, "type") if isinstance(change, Mapping) else ""
            _add_file(
                builder, f"{id} {path}", path, _CHANGES.get(how, "edited"), source=source, ok=done
            )

    elif refused or (name in _PATCHES and kind is None):
        # The host has no item for a patch that does not fit.
        ended = item_of_output(output)
        given_back = None if ended is None else ended["exit_code"] == 0
        ok = False if refused else given_back

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
        space = text_at(call, "namespace")
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
    item = item if item is not None else item_of_output(output)
    if item is None:
        # Still running, or refused before it began; only a refusal has an answer without a process.
        exited = output is not None and "Process exited" in output
        if exited:
            builder.note_unknown("results of commands without their exit status")
        ran = output is None or exited or "Process running" in output
        builder.end_command(id, status=None, output="", whole=False, ran=ran)
        return

    status, text = item.get("exit_code"), text_at(item, "aggregated_output")
    if "exit_code" not in item or "status" not in item:
        builder.note_unknown("results of commands without their exit status")
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
