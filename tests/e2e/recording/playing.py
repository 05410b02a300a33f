"""The scripted model that plays a scene: the subagent's steps, and a main agent that delegates."""

import re
from collections.abc import Callable

from tests.e2e.conversation import Conversation, Json, ToolCall
from tests.e2e.recording.steps import Edit, Read, Save, Say, Scene, Shell, Step, Unknown, Write
from tests.e2e.scripted_model import Costly, Cut

__all__ = ["Script", "play"]

Reply = str | ToolCall | Costly | Cut
Script = Callable[[Conversation], Reply]

_DELEGATING = ("Agent", "Task", "task", "multi_agent_v1.spawn_agent")
_WAITING = "multi_agent_v1.wait_agent"
_FULL_TOKENS = 190_000
_SUMMARY = "<summary>GOOP-SUB build the addition. GOOP-AFTER={at}</summary>"


def play(scene: Scene, *, project: str, killed: Callable[[], None]) -> Script:
    """Return the model's answers in `scene`, which is played in the folder `project`.

    `killed` is called where the scene has the client killed.

    They depend on the conversation alone, because hosts repeat requests.
    """

    def script(conversation: Conversation) -> Reply:
        if _is_request_for_a_summary(conversation):
            return _SUMMARY.format(at=scene.compacted_at)
        if "GOOP-SUB" in conversation.text_of("user", "system") and not _is_main(conversation):
            return _subagent(scene, conversation, project, killed)
        if _is_main(conversation):
            return _main(scene, conversation)
        return "ok"

    return script


def _is_main(conversation: Conversation) -> bool:
    return "GOOP-MAIN" in conversation.text_of("user")


def _is_request_for_a_summary(conversation: Conversation) -> bool:
    return "create a detailed summary of" in conversation.messages[-1].text


def _subagent(
    scene: Scene, conversation: Conversation, project: str, killed: Callable[[], None]
) -> Reply:
    begun = re.search(r"GOOP-AFTER=(\d+)", conversation.text_of("user", "system"))
    own = [each for each in conversation.messages if each.role == "assistant"]
    done = sum("ToolSearch" not in each.calls for each in own)
    at = (int(begun[1]) if begun else 0) + done
    if at == scene.killed_at:
        killed()
    step = scene.steps[min(at, len(scene.steps) - 1)]
    if isinstance(step, Say) and step.cut:
        return Cut(step.text)
    reply = _reply(step, conversation, project)

    # The host measures the conversation by the tokens that the model reports.
    if scene.compacted_at is not None and at == scene.compacted_at - 1 and not begun:
        return Costly(reply, _FULL_TOKENS)
    return reply


def _reply(step: Step, conversation: Conversation, project: str) -> str | ToolCall:
    if isinstance(step, Say):
        return step.text

    opencode = "bash" in conversation.tools
    codex = "exec_command" in conversation.tools
    match step:
        case Save():
            return _save(step, conversation)
        case Unknown(name):
            return ToolCall(name, {"where": "elsewhere"})
        case _ if opencode:
            return _of_opencode(step, project)
        case _ if codex:
            return _of_codex(step)
        case _:
            return _of_claude_code(step, project)


def _of_claude_code(step: Step, project: str) -> ToolCall:
    match step:
        case Shell():
            arguments: dict[str, object] = {"command": step.line, "description": "Run a command"}
            if step.seconds is not None:
                arguments["timeout"] = round(step.seconds * 1000)
            if step.background:
                arguments["run_in_background"] = True
            return ToolCall("Bash", arguments)
        case Write(path, text):
            return ToolCall("Write", {"file_path": f"{project}/{path}", "content": text})
        case Edit(path, old, new):
            strings = {"old_string": old, "new_string": new}
            return ToolCall("Edit", {"file_path": f"{project}/{path}", **strings})
        case Read(path):
            return ToolCall("Read", {"file_path": f"{project}/{path}"})
        case _:
            raise AssertionError(step)


def _of_opencode(step: Step, project: str) -> ToolCall:
    match step:
        case Shell():
            arguments: dict[str, object] = {"command": step.line, "description": "Run a command"}
            if step.seconds is not None:
                arguments["timeout"] = round(step.seconds * 1000)
            return ToolCall("bash", arguments)
        case Write(path, text):
            return ToolCall("write", {"filePath": f"{project}/{path}", "content": text})
        case Edit(path, old, new):
            strings = {"oldString": old, "newString": new}
            return ToolCall("edit", {"filePath": f"{project}/{path}", **strings})
        case Read(path):
            return ToolCall("read", {"filePath": f"{project}/{path}"})
        case _:
            raise AssertionError(step)


def _of_codex(step: Step) -> ToolCall:
    """Return the call of Codex, whose only tool for files is a patch in a shell line."""
    match step:
        case Shell():
            wait = 30 if step.seconds is None else step.seconds
            arguments = {"cmd": step.line, "yield_time_ms": round(wait * 1000)}
            return ToolCall("exec_command", arguments)
        case Write(path, text):
            added = "".join(f"+{line}\n" for line in text.splitlines())
            return _patch(f"*** Add File: {path}\n{added}")
        case Edit(path, old, new):
            # The patch names the text without its line, which fits only if nothing precedes it.
            return _patch(f"*** Update File: {path}\n@@\n{_changed_line(old, new)}")
        case Read(path):
            return ToolCall("exec_command", {"cmd": f"cat {path}", "yield_time_ms": 30_000})
        case _:
            raise AssertionError(step)


def _patch(text: str) -> ToolCall:
    line = f"apply_patch <<'EOF'\n*** Begin Patch\n{text}*** End Patch\nEOF"
    return ToolCall("exec_command", {"cmd": line, "yield_time_ms": 30_000})


def _changed_line(old: str, new: str) -> str:
    """Return the change of the line that holds `old`, as the files of the scenes have it."""
    begins = {"== 4": "    assert add(1, 2) ", "a + b": "    return "}.get(old, "")
    return f"-{begins}{old}\n+{begins}{new}\n"


def _save(step: Save, conversation: Conversation) -> ToolCall:
    ours = re.compile("goop.*save_memory|goop.*memory_save")
    tool = next((each for each in conversation.tools if ours.search(each)), None)
    if tool is None:
        # Codex refuses this call, which takes up the time until the server has started.
        return ToolCall("ToolSearch", {"query": "+goop save_memory", "max_results": 5})
    return ToolCall(tool, {"title": step.title, "content": "It is there.", "importance": 0.5})


def _main(scene: Scene, conversation: Conversation) -> str | ToolCall:
    delegate = next((name for name in _DELEGATING if name in conversation.tools), None)
    if delegate is None:
        return "ok"
    if delegate == _DELEGATING[-1]:
        return _main_of_codex(conversation, delegate)
    if not conversation.has_called(delegate):
        arguments: Json = {
            "description": "Build the addition",
            "prompt": "GOOP-SUB build the addition",
            "subagent_type": "goop-executor",
        }
        return ToolCall(delegate, arguments)

    received = conversation.text_of("user", "tool")
    sent = sum("SendMessage" in each.calls for each in conversation.messages)
    started = re.search(r"agentId: ?(\w+)", received)
    # A message to an agent that still works does not begin a task of its own.
    ended = received.count("<task-notification>")
    if sent < min(ended, len(scene.resumes)) and started:
        if "SendMessage" not in conversation.tools:
            return ToolCall("ToolSearch", {"query": "select:SendMessage", "max_results": 5})
        return ToolCall(
            "SendMessage",
            {"to": started[1], "summary": "Go on", "message": scene.resumes[sent]},
        )
    return "All subagents are done."


def _main_of_codex(conversation: Conversation, delegate: str) -> str | ToolCall:
    if not conversation.has_called(delegate):
        task = {"agent_type": "goop-executor", "message": "GOOP-SUB build the addition"}
        return ToolCall(delegate, task)

    if not conversation.has_called(_WAITING):
        agents = re.findall(r'"agent_id": ?"([^"]+)"', conversation.text_of("tool"))
        return ToolCall(_WAITING, {"targets": agents, "timeout_ms": 100_000})
    return "All subagents are done."
