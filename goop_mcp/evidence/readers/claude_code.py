"""Read a transcript of Claude Code: JSON Lines, one for each block of a message.

Only lines of type `assistant` and `user` count, in the order of the file: their links to each other
(`parentUuid`) break where the host replaces a conversation by a summary. Large lines of other types
lie between them, so that bytes are searched before JSON is parsed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from goop_mcp.evidence.activity import AgentActivity, FileAction
from goop_mcp.evidence.readers.blocks import objects, text_at, text_of
from goop_mcp.evidence.readers.building import ActivityBuilder
from goop_mcp.evidence.readers.hand_back import HAND_BACK_MARK, HAND_BACK_TOOL, handed_back
from goop_mcp.evidence.readers.others import is_of_hook, is_of_person, starts_command_of_person
from goop_mcp.evidence.readers.unknown_shapes import may_hide_work
from goop_mcp.validation.feedback import OPENING

__all__ = [
    "HOST",
    "TESTED_VERSIONS",
    "Line",
    "OutputFile",
    "Outputs",
    "begins_task",
    "holds_report",
    "parse_line",
    "read_claude_code",
    "separated",
]

HOST: Final = "claude-code"

TESTED_VERSIONS: Final = ("2.1.329",)
"""The versions whose transcripts were recorded; others are read in the same way (D-105)."""

_QUEUED: Final = b'"queued_command"'
_NOTICE: Final = "<task-notification>"
_FILE_TOOLS: Final[Mapping[str, tuple[str, FileAction]]] = {
    "Write": ("file_path", "written"),
    "Edit": ("file_path", "edited"),
    "MultiEdit": ("file_path", "edited"),
    "NotebookEdit": ("notebook_path", "edited"),
}
_DELEGATING: Final = frozenset({"Agent", "Task", "SendMessage"})
# Reading the output of a background command runs nothing.
_HARMLESS: Final = frozenset({"BashOutput", "TaskOutput", "KillShell", "TaskStop", "KillBash"})

# The host calls the exit status 1 of these programs a success, because it means "no" there.
_ONE_MEANS_NO: Final = frozenset(
    {"grep", "egrep", "fgrep", "rg", "find", "diff", "cmp", "test", "[", "[["}
)
_BEFORE_PROGRAM: Final = frozenset({"!", "time", "env", "command", "exec", "sudo", "nohup"})
# How the host writes the results of Bash.
_NO_OUTPUT: Final = "(Bash completed with no output)"
_STORED_MARK: Final = "<persisted-output>"
_PREVIEW_MARK: Final = "Preview (first 2KB):\n"
_CUT_MARK: Final = " characters truncated] ..."
_EXIT: Final = "Exit code "
_TIMED_OUT: Final = "Command timed out after"
_REFUSED: Final = "<tool_use_error>"
_INTERRUPTED: Final = ("interrupted", "aborted", "timed out")
_STATUS_DIGITS = 3
_HIGHEST_STATUS = 255
_HEAD_CHARACTERS = 400
_SHOWN = 50
# Lines and attachments that show no work, or of work that stands in other lines as well. Others
# are searched (`unknown_shapes`).
_HARMLESS_LINES: Final = frozenset(
    {"api-request", "api-request-blob", "api-request-shape", "file-history-snapshot", "progress"}
    | {"queue-operation", "summary", "system"}
)
_HARMLESS_ATTACHMENTS: Final = frozenset(
    {"agent_listing_delta", "date", "deferred_tools_delta", "deferred_tools_record", "environment"}
    | {"mcp_instructions_delta", "model", "prompt_snapshot", "remote_session_change"}
    | {"session_context", "skill_listing", "total_tokens_reminder"}
)
_BLOCKS: Final[Mapping[str, frozenset[str]]] = {
    "assistant": frozenset({"text", "thinking", "redacted_thinking", "tool_use"}),
    "user": frozenset({"text", "image", "document", "tool_result"}),
}
# The host writes JSON without blanks; only where others wrote it again must both be looked for.
_SPACED: Final = b'"type": "'
_PARENT: Final = b"parentUuid"
# Between two objects in one line.
_JOINED: Final = b'}{"'
# A host that is ended leaves one line without its end, and begins another there.
_MOST_JOINED: Final = 16
_DECODER: Final = json.JSONDecoder()
_OF_TOOL_HOOK: Final = b"ToolUse"


class OutputFile(NamedTuple):
    """The file with the output of a background command, as a line of the host names it.

    `task` and `session` are the ids that the host gave to the command and to its session.
    """

    path: str
    task: str
    session: str


Outputs = Callable[[OutputFile], "tuple[str, bool] | None"]
"""Returns the end of an output and whether that is all of it, None for one that is not read."""


class Line(NamedTuple):
    """A line of a transcript; one of kind "notice" is neither from the agent nor to it."""

    number: int
    kind: Literal["assistant", "user", "notice"]
    value: Mapping[str, object]

    @property
    def content(self) -> object:
        """The content of the message, a text or blocks."""
        message = self.value.get("message")
        return message.get("content") if isinstance(message, Mapping) else None

    @property
    def side(self) -> bool:
        """Whether the line is that of a subagent; older hosts wrote them into one file."""
        return self.value.get("isSidechain") is True


class _Kind(msgspec.Struct):
    """What is read of a line to know its kind: a tenth of the time of reading all of it."""

    type: str = ""
    attachment: "_Kind | None" = None


_KIND_OF: Final = msgspec.json.Decoder(_Kind)


class _Transcript(NamedTuple):
    """The lines that count, and those of kinds that the reader does not know."""

    lines: Sequence[Line]
    unknown: Sequence[tuple[str, object]]
    problem: str


def read_claude_code(
    content: bytes,
    *,
    report: str | None,
    from_start: bool = True,
    at_end: bool = True,
    outputs: Outputs | None = None,
) -> AgentActivity:
    """Return what the agent did up to its `report`, the text of its last message.

    `content` is the transcript, or its end if `from_start` is False. With `at_end` the report must
    be the last line that counts, and a whole message: a hook runs while the host still writes the
    file, and an agent may send the same report twice. Otherwise it may be a part of any message,
    for a reply of which only the envelope was kept. Without `report` the transcript is read to its
    end. `outputs` reads the outputs of background commands, which are unknown without it.

    The activity is complete if the report was found and every line of the current task was
    understood, from its beginning and whatever version of the host wrote it: what has an unknown
    form and may show work makes it incomplete (D-105). Where only the beginning is missing, it is
    known up to the report. Never raises: what cannot be read makes it incomplete as well.
    """
    transcript = _read_lines(content, from_start=from_start)
    lines, problem = transcript.lines, transcript.problem
    end = len(lines)
    side = lines[-1].side if lines else False

    if report is None:
        ends = bool(lines) and lines[-1].kind == "assistant" and _is_final_message(lines[-1])
        problem = problem or ("" if ends else "the transcript ends without a message")
    else:
        found = _find_report(lines, report, whole=at_end)
        if found is None:
            problem = problem or "the transcript does not hold the report"
        else:
            side = lines[found].side
            after = [each for each in lines[found + 1 :] if each.kind != "notice"]
            # What is handed back is delivered at once, and the agent may go on.
            by_text = handed_back(lines[found].content) is None
            if at_end and by_text and any(each.side == side for each in after):
                problem = problem or "the transcript goes on after the report"
            end = found + 1

    if from_start and _continues_another(content):
        problem = problem or "the transcript continues lines that it does not hold"

    builder = ActivityBuilder()
    begun = False
    for line in lines[:end]:
        if line.side == side:
            begun = _read_line(builder, line, outputs) or begun

    _note_unknown_lines(builder, transcript)
    if from_start and not begun:
        problem = problem or "the beginning of the task is missing"

    return builder.finish(
        host=HOST,
        version=_version(lines[:end]),
        problem=problem,
        delegating=_DELEGATING,
        own=_HARMLESS,
        from_start=from_start,
    )


def _note_unknown_lines(builder: ActivityBuilder, transcript: _Transcript) -> None:
    for kind, value in transcript.unknown:
        if may_hide_work(value, builder.calls):
            builder.note_unknown(f"lines of an unknown kind, {kind[:_SHOWN]!r}")
            break
    if builder.has_unanswered:
        # A model is given all results of its calls before it writes anything more.
        builder.note_unknown("results of an unknown form")


def holds_report(content: bytes, report: str) -> bool:
    """Whether `content` ends with the report, or holds it handed back; for a file still written."""
    bare = _bare(report)
    hands_back = HAND_BACK_MARK in content
    for raw in reversed(content.split(b"\n")):
        if not _may_count(raw, spaced=True):
            continue
        line = parse_line(0, raw)
        texts = _reports_in(line) if line is not None and line.kind == "assistant" else ()
        if bare and any(_bare(text) == bare for text in texts):
            return True
        # After what is handed back the agent may go on.
        if not hands_back:
            return False

    return False


def _read_lines(content: bytes, *, from_start: bool) -> _Transcript:
    """Return the lines of the file, with what is wrong with it, "" for nothing."""
    raw_lines = content.split(b"\n")
    # The first line may be the second half of one, and what follows the last line feed may still be
    # written.
    first = 0 if from_start else 1
    unfinished = raw_lines.pop() if raw_lines else b""
    lines: list[Line] = []
    unknown: list[tuple[str, object]] = []
    problem = ""
    spaced = _SPACED in content

    for number, text in _whole_lines(raw_lines[first:], first + 1, joined=_JOINED in content):
        if not (text.startswith(b"{") and text.endswith(b"}")):
            problem = problem or f"line {number} of the transcript is damaged"
            continue
        if (
            not _may_count(text, spaced=spaced)
            and _QUEUED not in text
            and _OF_TOOL_HOOK not in text
            and _is_harmless(text)
        ):
            continue

        line = parse_line(number, text)
        if line is None:
            problem = problem or f"line {number} of the transcript is damaged"
        elif line.kind != "notice" or _QUEUED in text or is_of_hook(line.value.get("attachment")):
            lines.append(line)
        elif not _is_harmless(text):
            unknown.append((_kind_of(line.value), line.value))

    if unfinished.strip():
        last = parse_line(len(raw_lines) + 1, unfinished)
        if last is None:
            problem = problem or "the last line of the transcript is not whole"
        elif last.kind != "notice":
            lines.append(last)

    return _Transcript(lines, unknown, problem)


def _whole_lines(
    raw_lines: Iterable[bytes], first: int, *, joined: bool
) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, with their numbers; with `joined` two may be in one."""
    for number, raw in enumerate(raw_lines, first):
        text = raw.rstrip()
        if not text:
            continue
        for each in separated(text) if joined else (text,):
            yield number, each


def separated(text: bytes) -> Sequence[bytes]:
    """Return the objects in a line: a host that was ended leaves one without its line feed.

    A line with more than 16 of them, or with anything else, is returned as it is: it is damaged.
    """
    if _JOINED not in text:
        return (text,)

    found: list[bytes] = []
    line, at = text.decode("utf-8", "surrogateescape"), 0
    try:
        while at < len(line):
            if len(found) == _MOST_JOINED:
                return (text,)
            _, end = _DECODER.raw_decode(line, at)
            found.append(line[at:end].encode("utf-8", "surrogateescape"))
            at = end
    except (ValueError, RecursionError):
        return (text,)

    return found


def _continues_another(content: bytes) -> bool:
    """Return whether the first line that may have a line before it has one, which is missing."""
    key, at = _PARENT.decode(), 0
    while (at := content.find(_PARENT, at)) >= 0:
        start = content.rfind(b"\n", 0, at) + 1
        at = content.find(b"\n", at)
        for each in separated(content[start:at] if at >= 0 else content[start:]):
            line = parse_line(0, each)
            # A text may hold the word as well.
            if line is not None and key in line.value:
                return isinstance(line.value[key], str)
        if at < 0:
            break

    return False


def _is_harmless(text: bytes) -> bool:
    """Whether the line is of a known kind that shows no work."""
    try:
        line = _KIND_OF.decode(text)
    except (ValueError, RecursionError):
        return False

    if line.type == "attachment" and line.attachment is not None:
        kind = line.attachment.type
        return kind in _HARMLESS_ATTACHMENTS or kind.startswith("hook_")
    return line.type in _HARMLESS_LINES


def _kind_of(value: Mapping[str, object]) -> str:
    attachment = value.get("attachment")
    inner = attachment.get("type") if isinstance(attachment, Mapping) else None
    return str(inner or value.get("type") or "")


def _may_count(text: bytes, *, spaced: bool) -> bool:
    # Written out: a generator for each of thousands of lines takes as long as parsing them.
    return (
        b'"type":"user"' in text
        or b'"type":"assistant"' in text
        or (spaced and (b'"type": "user"' in text or b'"type": "assistant"' in text))
    )


def parse_line(number: int, text: bytes) -> Line | None:
    """Return the line of this number, of kind "notice" unless it counts; None if damaged."""
    try:
        # A third of the time of json, which also reads invalid JSON: half of a surrogate pair,
        # where the host cut a text.
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None

    if not isinstance(value, Mapping):
        return None
    match value.get("type"):
        case "assistant":
            return Line(number, "assistant", value)
        case "user":
            return Line(number, "user", value)
        case _:
            return Line(number, "notice", value)


def _find_report(lines: Sequence[Line], report: str, *, whole: bool) -> int | None:
    bare = _bare(report)
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.kind == "assistant" and bare:
            texts = [_bare(text) for text in _reports_in(line)]
            if bare in texts or (not whole and any(bare in text for text in texts)):
                return at

    return None


def _reports_in(line: Line) -> Sequence[str]:
    """Return what may be the report in a message: its text, and what it hands back."""
    given = handed_back(line.content)
    return (text_of(line.content), *(() if given is None else (given,)))


def _is_final_message(line: Line) -> bool:
    """Whether the line is a message that calls no tool."""
    calls = any(each.get("type") == "tool_use" for each in objects(line.content))
    return not calls and bool(text_of(line.content).strip())


def _bare(text: str) -> str:
    """Return the text without blanks, which hosts trim and indent."""
    return "".join(text.split())


def _version(lines: Sequence[Line]) -> str:
    """Return the version of the host that wrote the last line, "" if unknown."""
    versions = (line.value.get("version") for line in reversed(lines))
    return next((each[:_SHOWN] for each in versions if isinstance(each, str)), "")


def _read_line(builder: ActivityBuilder, line: Line, outputs: Outputs | None) -> bool:
    """Add what the line shows; return whether a task begins with it."""
    blocks = objects(line.content)
    if line.kind != "notice":
        _note_unknown_parts(builder, line, blocks)
    if line.kind == "assistant":
        for block in blocks:
            if block.get("type") == "tool_use":
                _read_call(builder, block, line)
        return False

    if line.value.get("isCompactSummary") is True:
        # A conversation may be summarised while a call runs, whose result is then never written.
        builder.leave_unanswered()
    if is_of_hook(line.value.get("attachment")):
        builder.add_of_others("hook", line.number)
    elif starts_command_of_person(text_of(line.content)):
        builder.add_of_others("bash-input", line.number)

    for call, outcome, file in _notices(line):
        builder.note_end(call)
        command = builder.pending_command(call)
        if command is not None and command.status is None and command.ran:
            output, whole = (outputs(file) if outputs is not None else None) or ("", False)
            builder.end_command(call, status=outcome, output=output, whole=whole)

    results = [each for each in blocks if each.get("type") == "tool_result"]
    for block in results:
        _read_result(builder, block)

    if line.kind == "notice" or results or not begins_task(line):
        return False

    builder.begin_task()

    return True


def _note_unknown_parts(
    builder: ActivityBuilder, line: Line, blocks: Sequence[Mapping[str, object]]
) -> None:
    """Note what the reader does not know of a message and what may hide work."""
    content = line.content
    if not isinstance(content, str) and (
        not isinstance(content, list) or len(blocks) < len(content)
    ):
        builder.note_unknown(f"messages of an unknown form (line {line.number})")

    for block in blocks:
        kind = text_at(block, "type")
        if kind not in _BLOCKS[line.kind] and may_hide_work(block, builder.calls):
            builder.note_unknown(f"blocks of an unknown kind, {kind[:_SHOWN]!r}")


def begins_task(line: Line) -> bool:
    """Whether in a line "user" a person, or an agent that delegates, gives something new to do."""
    if line.value.get("isCompactSummary") is True or is_of_person(text_of(line.content)):
        return False

    # Feedback that a program sends as the next message, as the retry loop does.
    if text_of(line.content).lstrip().startswith(OPENING):
        return False

    # Hosts write what they add themselves as meta lines, our feedback and notices among them.
    origin = line.value.get("origin")
    kind = origin.get("kind") if isinstance(origin, Mapping) else None

    return kind == "coordinator" or line.value.get("isMeta") is not True


def _read_call(builder: ActivityBuilder, block: Mapping[str, object], line: Line) -> None:
    call, name, given = block.get("id"), block.get("name"), block.get("input")
    if not isinstance(call, str) or not isinstance(name, str):
        builder.note_unknown(f"calls of an unknown form (line {line.number})")
        return

    if name == HAND_BACK_TOOL:
        # A report, and no work.
        return

    given = given if isinstance(given, Mapping) else {}
    source = f"transcript line {line.number}"
    started = line.value.get("timestamp")
    if name == "Bash":
        command = given.get("command")
        if not isinstance(command, str):
            builder.note_unknown(f"commands of an unknown form (line {line.number})")
        builder.add_command(
            call,
            command if isinstance(command, str) else "",
            started=started[:40] if isinstance(started, str) else None,
            source=source,
        )
    elif name in _FILE_TOOLS:
        key, action = _FILE_TOOLS[name]
        path = given.get(key)
        builder.add_file(call, path if isinstance(path, str) else "", action, source=source)
    else:
        if isinstance(given.get("command"), str) and not name.startswith("mcp__"):
            builder.note_unknown(f"commands of an unknown tool, {name[:_SHOWN]!r}")
        builder.add_call(call, name, title=given.get("title"), source=source)


def _read_result(builder: ActivityBuilder, block: Mapping[str, object]) -> None:
    call = block.get("tool_use_id")
    if not isinstance(call, str):
        return

    text, failed = text_of(block.get("content")), block.get("is_error") is True
    head = text[:_HEAD_CHARACTERS]
    command = builder.pending_command(call)
    if command is None:
        # A success carries no is_error, except for that of commands.
        error = text.removeprefix(_REFUSED).removesuffix("</tool_use_error>") if failed else ""
        builder.end_call(call, ok=not failed, error=error)
    elif failed:
        _end_failed(builder, call, text)
    elif head.startswith("Command running in background") or (
        "background" in head and "with ID" in head
    ):
        # The end of such a command comes later, as a notice.
        builder.end_command(call, status=None, output="", whole=False)
    else:
        status = None if _deciding_program(command.line) in _ONE_MEANS_NO else 0
        if block.get("is_error") is not False:
            # The host does not say how the command ended.
            status = None
            builder.note_unknown("results of commands without their exit status")
        output, whole = _output(text)
        builder.end_command(call, status=status, output=output, whole=whole)


def _end_failed(builder: ActivityBuilder, call: str, text: str) -> None:
    """Give a command the outcome of a result that is an error."""
    first, _, rest = text.partition("\n")
    digits = first.removeprefix(_EXIT).strip()
    if first.startswith(_EXIT) and _is_status(digits):
        # The host ends a command that takes too long, and shows the status of that.
        stopped = rest.startswith(_TIMED_OUT)
        output, whole = _output(rest)
        builder.end_command(
            call,
            status=None if stopped else int(digits),
            output=output,
            whole=whole and not stopped,
        )
        return

    head = text[:_HEAD_CHARACTERS].lower()
    begun = text.startswith(_EXIT) or (
        not text.startswith(_REFUSED) and any(word in head for word in _INTERRUPTED)
    )
    builder.end_command(call, status=None, output="", whole=False, ran=begun)


def _output(text: str) -> tuple[str, bool]:
    """Return the output in the text of a result, and whether it is whole."""
    if text.startswith(_STORED_MARK):
        _, _, shown = text.partition(_PREVIEW_MARK)
        return shown, False
    if text == _NO_OUTPUT:
        return "", True
    return text, _CUT_MARK not in text


def _notices(line: Line) -> Iterator[tuple[str, int | None, OutputFile]]:
    """Yield the call of each background command that ended, its exit status if known, its output.

    These lines are the host's own: what a command prints never stands in one.
    """
    session = text_at(line.value, "sessionId")
    if line.kind == "notice":
        attachment = line.value.get("attachment")
        queued = attachment if isinstance(attachment, Mapping) else {}
        text = text_of(queued.get("prompt")) if queued.get("type") == "queued_command" else ""
    else:
        origin = line.value.get("origin")
        ours = isinstance(origin, Mapping) and origin.get("kind") == "task-notification"
        text = text_of(line.content) if ours else ""

    for notice in text.split(_NOTICE)[1:]:
        call = _between(notice, "<tool-use-id>", "</tool-use-id>")
        summary = _between(notice, "<summary>", "</summary>")
        # The description of the command stands first and may hold such words as well.
        _, named, digits = summary.rpartition("exit code ")
        digits = digits.rstrip(")").strip()
        file = OutputFile(
            _between(notice, "<output-file>", "</output-file>"),
            _between(notice, "<task-id>", "</task-id>"),
            session,
        )
        if call:
            yield call, int(digits) if named and _is_status(digits) else None, file


def _is_status(digits: str) -> bool:
    """Whether the text is an exit status, in digits that a host writes."""
    # Cut to one digit more than a status has: Python refuses or takes long to read huge numbers.
    is_number = digits.isascii() and digits.isdecimal()
    return is_number and int(digits[: _STATUS_DIGITS + 1]) <= _HIGHEST_STATUS


def _between(text: str, start: str, end: str) -> str:
    _, found, rest = text.partition(start)
    inside, closed, _ = rest.partition(end)
    return inside.strip() if found and closed else ""


def _deciding_program(line: str) -> str:
    """Return the program of the last simple command in the line, by which the host decides."""
    last: list[str] = []
    quote, escaped, before = "", False, ""

    for character in line:
        if escaped:
            escaped = False
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in ";|\n(" or (character == "&" and before not in "<>"):
            last.clear()
            before = character
            continue
        last.append(character)
        before = character

    for word in "".join(last).split():
        name = word.partition("=")[0]
        if word in _BEFORE_PROGRAM or ("=" in word and name.isidentifier()):
            continue
        return word.rpartition("/")[2]

    return ""
