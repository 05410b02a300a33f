"""Histories of frameworks: what the program's own tools did proves and contradicts claims."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from goop_mcp import validate
from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.readers.histories import HistoryTools, read_history
from goop_mcp.retry.review import Review
from tests.evidence.recorded import recorded

CLAIMING = recorded("failed-claimed-passed").report or ""
TOOLS = HistoryTools(
    commands={"shell": "command"},
    writes={"write_file": "path"},
    edits={"edit_file": "path"},
    harmless=frozenset({"read_file"}),
)
Call = tuple[str, dict[str, object], object]
FAILED = {"exit_code": 1, "output": "FAILED test_calc.py::test_adds\n1 failed, 1 passed in 0.03s"}
PASSED = {"exit_code": 0, "output": "2 passed in 0.02s"}


def run(result: object) -> Call:
    return "shell", {"command": "pytest -q"}, result


EDIT: Call = ("edit_file", {"path": "test_calc.py"}, "done")


def openai_chat(calls: list[Call]) -> list[Any]:
    messages: list[Any] = [{"role": "system", "content": "x"}, {"role": "user", "content": "Go"}]
    for number, (name, given, result) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(given)}
        called = [{"id": f"c{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": called})
        text = result if isinstance(result, str) else json.dumps(result)
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
    return [*messages, {"role": "assistant", "content": CLAIMING}]


def openai_responses(calls: list[Call]) -> list[Any]:
    items: list[Any] = [{"role": "user", "content": "Go"}, {"type": "reasoning", "summary": []}]
    for number, (name, given, result) in enumerate(calls):
        named = {"call_id": f"c{number}", "name": name, "arguments": json.dumps(given)}
        items.append({"type": "function_call", **named})
        text = result if isinstance(result, str) else json.dumps(result)
        items.append({"type": "function_call_output", "call_id": f"c{number}", "output": text})
    last = [{"type": "output_text", "text": CLAIMING}]
    return [*items, {"type": "message", "role": "assistant", "content": last}]


def anthropic(calls: list[Call]) -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "Go"}]
    for number, (name, given, result) in enumerate(calls):
        used = {"type": "tool_use", "id": f"c{number}", "name": name, "input": given}
        messages.append({"role": "assistant", "content": [used]})
        text = result if isinstance(result, str) else json.dumps(result)
        given_back = {"type": "tool_result", "tool_use_id": f"c{number}", "content": text}
        messages.append({"role": "user", "content": [given_back]})
    return [*messages, {"role": "assistant", "content": [{"type": "text", "text": CLAIMING}]}]


def langchain(calls: list[Call]) -> list[Any]:
    messages = [SimpleNamespace(type="human", content="Go")]
    for number, (name, given, result) in enumerate(calls):
        called = [{"id": f"c{number}", "name": name, "args": given, "type": "tool_call"}]
        messages.append(SimpleNamespace(type="ai", content="", tool_calls=called))
        text = result if isinstance(result, str) else json.dumps(result)
        answer = {"tool_call_id": f"c{number}", "content": text, "status": "success"}
        messages.append(SimpleNamespace(type="tool", **answer))
    return [*messages, SimpleNamespace(type="ai", content=CLAIMING, tool_calls=[])]


def pydantic_ai(calls: list[Call]) -> list[Any]:
    def part(kind: str, **values: object) -> SimpleNamespace:
        return SimpleNamespace(part_kind=kind, **values)

    messages = [SimpleNamespace(parts=[part("user-prompt", content="Go")])]
    for number, (name, given, result) in enumerate(calls):
        named = {"tool_name": name, "tool_call_id": f"c{number}"}
        messages.append(SimpleNamespace(parts=[part("tool-call", args=given, **named)]))
        messages.append(SimpleNamespace(parts=[part("tool-return", content=result, **named)]))
    return [*messages, SimpleNamespace(parts=[part("text", content=CLAIMING)])]


def smolagents(calls: list[Call]) -> list[Any]:
    steps = [SimpleNamespace(task="Go")]
    for number, (name, given, result) in enumerate(calls, 1):
        called = [SimpleNamespace(id=f"c{number}", name=name, arguments=given)]
        text = result if isinstance(result, str) else json.dumps(result)
        seen = {"tool_calls": called, "observations": text, "error": None}
        steps.append(SimpleNamespace(step_number=number, is_final_answer=False, **seen))
    answer = SimpleNamespace(id="c", name="final_answer", arguments={"answer": CLAIMING})
    last = {"tool_calls": [answer], "is_final_answer": True, "action_output": None, "error": None}
    return [*steps, SimpleNamespace(step_number=99, observations=CLAIMING, **last)]


FORMS: dict[str, Callable[[list[Call]], list[Any]]] = {
    "OpenAI chat": openai_chat,
    "OpenAI responses": openai_responses,
    "Anthropic": anthropic,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
    "smolagents": smolagents,
}
each_form = pytest.mark.parametrize("form", FORMS)


def accepted(activity: AgentActivity) -> bool:
    return validate(CLAIMING, protocol="goop_report", evidence=activity).accepted


@each_form
def test_passing_tests_claimed_after_a_failed_run_are_rejected(form: str) -> None:
    activity = read_history(FORMS[form]([run(FAILED)]), tools=TOOLS, report=CLAIMING)
    assert activity.complete, activity.why_incomplete
    assert [(each.line, each.status) for each in activity.commands] == [("pytest -q", 1)]
    verdict = validate(CLAIMING, protocol="goop_report", evidence=activity)
    assert "evidence/check-failed" in {each.rule for each in verdict.findings}
    assert not verdict.accepted


@each_form
@pytest.mark.parametrize(
    "calls",
    [
        [run(PASSED)],
        [run(FAILED), EDIT, run(PASSED)],
        [("read_file", {"path": "calc.py"}, "x")],
        # A tool that nobody described may have run the tests again.
        [run(FAILED), ("ask_colleague", {"what": "fix it"}, "fixed")],
        # What the tool returned shows no status.
        [run("1 failed in another log"), run(PASSED)],
        [run(FAILED), run("no status here")],
    ],
)
def test_an_honest_or_unclear_history_accuses_nobody(form: str, calls: list[Call]) -> None:
    activity = read_history(FORMS[form](calls), tools=TOOLS, report=CLAIMING)
    assert accepted(activity), activity


@each_form
def test_any_part_of_an_honest_history_accuses_nobody(form: str) -> None:
    messages = FORMS[form]([run(FAILED), EDIT, run(PASSED)])
    for at in range(len(messages) + 1):
        assert accepted(read_history(messages[at:], tools=TOOLS, report=CLAIMING))
        assert accepted(read_history(messages[:at], tools=TOOLS, report=CLAIMING))


def test_a_failure_of_an_earlier_task_is_not_used_against_the_agent() -> None:
    again = [{"role": "user", "content": "I fixed it. Report again."}]
    messages = openai_chat([run(FAILED)])
    activity = read_history([*messages[:-1], *again, messages[-1]], tools=TOOLS, report=CLAIMING)
    assert [each.current for each in activity.commands] == [False]
    assert accepted(activity)


def test_one_line_gives_the_history_to_an_adapter() -> None:
    messages = openai_chat([run(FAILED)])
    review = Review(protocol="goop_report", evidence=lambda: read_history(messages, tools=TOOLS))
    feedback = review.hear(CLAIMING)
    assert feedback is not None
    assert "tests is reported as passed" in feedback


def test_the_status_may_come_from_the_caller_and_its_errors_accuse_nobody() -> None:
    def first_line(result: object) -> int:
        return int(str(result).partition("\n")[0])

    tools = HistoryTools(commands={"shell": "command"}, status=first_line)
    text = "1\nFAILED test_calc.py::test_adds\n1 failed, 1 passed in 0.03s"
    assert not accepted(read_history(openai_chat([run(text)]), tools=tools, report=CLAIMING))
    activity = read_history(openai_chat([run("unclear")]), tools=tools, report=CLAIMING)
    assert [each.status for each in activity.commands] == [None]


@pytest.mark.parametrize(
    "message",
    [
        *(None, 7, "text", [], {}, {"role": 7}, {"parts": [None, 7]}),
        {"type": "function_call"},
        {"role": "assistant", "tool_calls": [None, {"function": 7}]},
        {"tool_calls": "x"},
    ],
)
def test_unknown_messages_raise_nothing_and_accuse_nobody(message: object) -> None:
    messages = openai_chat([run(FAILED), EDIT, run(PASSED)])
    for at in range(len(messages)):
        changed = [*messages[:at], message, *messages[at:]]
        assert accepted(read_history(changed, tools=TOOLS, report=CLAIMING))


class Lazy:
    """A message whose parts are only read when somebody asks, and cannot be read any more."""

    role = "assistant"

    @property
    def content(self) -> str:
        raise ConnectionError("the database is gone")


def test_a_message_that_cannot_be_read_hides_calls_and_raises_nothing() -> None:
    messages = [
        {"role": "user", "content": "Add it"},
        Lazy(),
        {"role": "assistant", "content": "x"},
    ]
    for report in (None, "x"):
        activity = read_history(messages, tools=HistoryTools(), report=report)
        assert not activity.complete
        assert activity.why_incomplete == "message 2 of the history has an unknown form"
