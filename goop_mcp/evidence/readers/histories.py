"""Read the message history of an agent framework, as objects or as JSON values.

pydantic-ai, langchain and langgraph, openai-agents, smolagents, crewai, and the messages of the
OpenAI and Anthropic APIs. Their tools are the program's own, so that the caller names those which
run commands or write files; no framework is imported, since everything is read by its attributes.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import field

from goop_mcp.evidence.activity import AgentActivity, FileAction
from goop_mcp.evidence.readers.building import ActivityBuilder
from goop_mcp.structs import DataStruct
from goop_mcp.validation.feedback import OPENING

__all__ = ["HistoryTools", "read_history"]

_MOST_MESSAGES: Final = 20_000
_MOST_CALLS: Final = 20_000
_HIGHEST_STATUS: Final = 255
_STATUS_KEYS: Final = ("exit_code", "exitcode", "exit_status", "returncode", "return_code")
_OUTPUT_KEYS: Final = ("output", "stdout", "stderr", "aggregated_output")

Status = Callable[[object], "int | None"]


class HistoryTools(DataStruct, frozen=True, kw_only=True):
    """Which tools of an agent run commands, and which change files.

    `commands` maps the name of a tool to the argument that holds its shell line (or list of
    arguments), `writes` and `edits` map one to the argument that holds the path. `harmless` are
    tools that run nothing and delegate nothing: any other tool may have run a check, so that no
    failure is used against the agent. `status` returns the exit status from what a command's tool
    returned, None if it is unknown; without it, a number under `exit_code`, `returncode` or the
    like in a mapping or JSON object counts, and nothing else does.
    """

    commands: Mapping[str, str] = field(default_factory=dict)
    writes: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    harmless: frozenset[str] = frozenset()
    status: Status | None = None


class _Step(NamedTuple):
    """One step of a history: kind is user, call, result or message."""

    kind: str
    id: str = ""
    name: str = ""
    value: object = None
    failed: bool = False


def read_history(
    messages: Sequence[object], *, tools: HistoryTools, report: str | None = None, host: str = ""
) -> AgentActivity:
    """Return what an agent did, from all messages of its run, oldest first.

    `report` is the text of its last message: what follows it does not count. `host` is the name
    that findings show. The activity is complete if every call has a result and a tool that is known
    by `tools`. Never raises because of a message: what cannot be read makes it incomplete.
    """
    builder = ActivityBuilder()
    problem = "" if len(messages) <= _MOST_MESSAGES else "the history has too many messages"
    pending: dict[str, str] = {}
    begun = False
    last = _last_report(messages, report)
    if report is not None and last is None:
        problem = problem or "the history does not hold the report"

    end = len(messages) if last is None else last + 1
    number = 0
    for at, message in enumerate(messages[:end][-_MOST_MESSAGES:], 1):
        source = f"message {at}"
        for step in _readable_steps(message):
            number += 1
            if number > _MOST_CALLS:
                problem = problem or "the history has too many calls"
                break

            if step.kind == "user":
                # Our feedback stands in the history as well, and begins no task.
                if not begun or not _text(step.value).lstrip().startswith(OPENING):
                    builder.begin_task()
                begun = True
            elif step.kind == "call":
                # A framework that gives no id runs its calls one after the other.
                key = step.id or f"call {number}"
                if key in pending:
                    problem = problem or "the history repeats the id of a call"
                pending[key] = step.name
                problem = problem or _add_call(builder, key, step, tools, source)
            elif step.kind == "result":
                key = step.id if step.id in pending else _only(pending)
                name = pending.pop(key, "")
                _end_call(builder, key, name, step, tools)
            else:
                problem = problem or _unreadable(step, at)

    if not begun:
        problem = problem or "the beginning of the task is missing"
    if pending:
        problem = problem or "the history has calls without a result"

    return builder.build(
        host=host or "framework", version="", complete=not problem, why_incomplete=problem
    )


def _unreadable(step: _Step, at: int) -> str:
    """Return why a step may hide calls, "" if it does not."""
    if step.kind == "message":
        # Agents without calls of tools write them into their text.
        hides = "Action Input:" in _text(step.value)
        return "the agent calls tools in its text" if hides else ""
    return f"message {at} of the history has an unknown form"


def _only(pending: Mapping[str, str]) -> str:
    return next(iter(pending)) if len(pending) == 1 else ""


def _add_call(
    builder: ActivityBuilder, key: str, step: _Step, tools: HistoryTools, source: str
) -> str:
    """Add a call; return why it may hide something, "" if it does not."""
    given = _mapping(step.value) or {}
    if step.name in tools.commands:
        line = given.get(tools.commands[step.name])
        if isinstance(line, list | tuple):
            line = " ".join(_quoted(str(word)) for word in line)
        builder.add_command(key, line if isinstance(line, str) else "", started=None, source=source)
        return ""

    actions: tuple[tuple[Mapping[str, str], FileAction], ...] = (
        (tools.writes, "written"),
        (tools.edits, "edited"),
    )
    for names, action in actions:
        if step.name in names:
            path = given.get(names[step.name])
            builder.add_file(key, path if isinstance(path, str) else "", action, source=source)
            return ""

    builder.add_call(key, step.name, title=given.get("title"), source=source)
    known = step.name in tools.harmless or "goop" in step.name
    return "" if known else f"the tool {step.name[:60]!r} may have run commands"


def _end_call(
    builder: ActivityBuilder, key: str, name: str, step: _Step, tools: HistoryTools
) -> None:
    if name not in tools.commands:
        builder.end_call(key, ok=False if step.failed else None, error=_text(step.value))
        # A file tool that returned without an error did its work; of others nothing is known.
        if not step.failed and (name in tools.writes or name in tools.edits):
            builder.end_call(key, ok=True)
        return

    status: int | None
    if tools.status is None:
        # Frameworks name it in several ways; a value that is true or false is not a status.
        found = _mapping(step.value) or {}
        values = [found.get(key) for key in _STATUS_KEYS]
        status = next((v for v in values if isinstance(v, int) and not isinstance(v, bool)), None)
    else:
        try:
            status = tools.status(step.value)
        except Exception:
            # An error of the caller's function must not accuse an agent.
            status = None

    if isinstance(status, bool) or not isinstance(status, int):
        status = None
    if status is not None and not 0 <= status <= _HIGHEST_STATUS:
        status = None

    # What a tool returns is a text, or an object with its streams.
    streams = _mapping(step.value) or {}
    texts = [text for key in _OUTPUT_KEYS if isinstance(text := streams.get(key), str) and text]
    output = "\n".join(texts) or _text(step.value)
    builder.end_command(key, status=status, output=output, whole=False)


def _quoted(word: str) -> str:
    plain = word.replace("-", "").replace("_", "").replace(".", "").replace("/", "")
    return word if plain.isalnum() else "'" + word.replace("'", "'\\''") + "'"


def _mapping(value: object) -> Mapping[str, object] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None
    return None


def _get(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _word(value: object, name: str) -> str:
    found = _get(value, name)
    return found if isinstance(found, str) else ""


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _text(content: object) -> str:
    """Return the text of a content: a string, or its blocks."""
    if isinstance(content, str):
        return content
    texts = [each if isinstance(each, str) else _word(each, "text") for each in _listed(content)]
    return "\n".join(text for text in texts if text)


def _last_report(messages: Sequence[object], report: str | None) -> int | None:
    wanted = "".join((report or "").split())
    for at in range(len(messages) - 1, -1, -1):
        texts = [step.value for step in _readable_steps(messages[at]) if step.kind == "message"]
        if wanted and any(wanted in "".join(_text(text).split()) for text in texts):
            return at

    return None


def _readable_steps(message: object) -> Sequence[_Step]:
    """Return the steps in a message; one of an unknown form if it cannot be read."""
    try:
        return tuple(_steps(message))
    except Exception:
        # Properties of a framework's objects may do anything, such as ask a database.
        return (_Step("unknown"),)


def _steps(message: object) -> Iterator[_Step]:
    """Yield the steps in a message of any framework."""
    if _listed(_get(message, "parts")):
        yield from _of_pydantic_ai(message)
    elif _get(message, "step_number") is not None or _get(message, "task") is not None:
        yield from _of_smolagents(message)
    elif _word(message, "type") in {"function_call", "function_call_output", "reasoning"}:
        yield from _of_responses(message)
    elif _word(message, "role") or _word(message, "type"):
        yield from _of_messages(message)
    elif _get(message, "system_prompt") is None and _get(message, "plan") is None:
        yield _Step("unknown")


def _of_pydantic_ai(message: object) -> Iterator[_Step]:
    for part in _listed(_get(message, "parts")):
        kind, id, name = (
            _word(part, "part_kind"),
            _word(part, "tool_call_id"),
            _word(part, "tool_name"),
        )
        content = _get(part, "content")
        if kind == "user-prompt":
            yield _Step("user", value=content)
        elif kind == "tool-call":
            yield _Step("call", id, name, _get(part, "args"))
        elif kind == "tool-return":
            outcome = _word(part, "outcome")
            yield _Step("result", id, name, content, failed=outcome in {"failed", "denied"})
        elif kind == "retry-prompt" and name:
            yield _Step("result", id, name, content, failed=True)
        elif kind == "text":
            yield _Step("message", value=content)


def _of_smolagents(step: object) -> Iterator[_Step]:
    if _get(step, "task") is not None:
        yield _Step("user")
        return

    # All calls of a step share one observation, which is that of a single call only.
    # The last one hands over the answer, and is a tool of the framework itself.
    calls = [
        each for each in _listed(_get(step, "tool_calls")) if _word(each, "name") != "final_answer"
    ]
    failed = _get(step, "error") is not None
    for call in calls:
        yield _Step("call", _word(call, "id"), _word(call, "name"), _get(call, "arguments"))
    for call in calls:
        observed = _get(step, "observations") if len(calls) == 1 else None
        yield _Step("result", _word(call, "id"), _word(call, "name"), observed, failed=failed)

    if _get(step, "is_final_answer"):
        answer = _get(step, "action_output")
        yield _Step("message", value=_get(step, "observations") if answer is None else answer)


def _of_responses(item: object) -> Iterator[_Step]:
    id = _word(item, "call_id")
    if _word(item, "type") == "function_call":
        yield _Step("call", id, _word(item, "name"), _get(item, "arguments"))
    elif _word(item, "type") == "function_call_output":
        yield _Step("result", id, value=_get(item, "output"))


def _of_messages(message: object) -> Iterator[_Step]:
    """Yield the steps of a message of langchain, or of the OpenAI and Anthropic APIs."""
    role = _word(message, "role") or _word(message, "type")
    content = _get(message, "content")
    blocks = _listed(content)

    if role in {"human", "user"}:
        results = [each for each in blocks if _word(each, "type") == "tool_result"]
        for block in results:
            failed = _get(block, "is_error") is True
            value = _get(block, "content")
            yield _Step("result", _word(block, "tool_use_id"), value=value, failed=failed)
        if not results:
            yield _Step("user", value=_text(content))

    elif role == "tool":
        failed = _word(message, "status") == "error"
        yield _Step("result", _word(message, "tool_call_id"), value=content, failed=failed)

    elif role in {"ai", "assistant"}:
        calls = _listed(_get(message, "tool_calls"))
        for call in calls:
            function = _get(call, "function")
            owner = call if function is None else function
            given = _get(owner, "arguments")
            given = _get(owner, "args") if given is None else given
            yield _Step("call", _word(call, "id"), _word(owner, "name"), given)
        for block in blocks if not calls else ():
            if _word(block, "type") == "tool_use":
                yield _Step("call", _word(block, "id"), _word(block, "name"), _get(block, "input"))
        if _text(content).strip():
            yield _Step("message", value=_text(content))
