"""The scripted model that plays a scene: the subagent's steps, and a main agent that delegates."""

import re
from collections.abc import Callable

from tests.e2e.conversation import Conversation, Json, ToolCall
from tests.e2e.recording.steps import Edit, Read, Save, Say, Scene, Shell, Step, Unknown, Write
from tests.e2e.scripted_model import Costly

__all__ = ["Script", "play"]

Reply = str | ToolCall | Costly
Script = Callable[[Conversation], Reply]

_DELEGATING = ("Agent", "Task", "task")
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
    reply = _reply(step, conversation, project)

    # The host measures the conversation by the tokens that the model reports.
    if scene.compacted_at is not None and at == scene.compacted_at - 1 and not begun:
        return Costly(reply, _FULL_TOKENS)
    return reply


def _reply(step: Step, conversation: Conversation, project: str) -> str | ToolCall:
    if isinstance(step, Say):
        return step.text

    opencode = "bash" in conversation.tools
    match step:
        case Save():
            return _save(step, conversation)
        case Unknown(name):
            return ToolCall(name, {"where": "elsewhere"})
        case _ if opencode:
            return _of_opencode(step, project)
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


def _save(step: Save, conversation: Conversation) -> ToolCall:
    ours = re.compile("goop.*save_memory|goop.*memory_save")
    tool = next((each for each in conversation.tools if ours.search(each)), None)
    if tool is None:
        return ToolCall("ToolSearch", {"query": "+goop save_memory", "max_results": 5})
    return ToolCall(tool, {"title": step.title, "content": "It is there.", "importance": 0.5})


def _main(scene: Scene, conversation: Conversation) -> str | ToolCall:
    delegate = next((name for name in _DELEGATING if name in conversation.tools), None)
    if delegate is None:
        return "ok"
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
