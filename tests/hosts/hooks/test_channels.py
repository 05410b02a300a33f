"""Each way in which a host delivers the report of an agent, and agents that deliver none."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from tests.hosts.hooks.hooks import BAD, GOOD, Answer, Host

STOP, RESULT, HAND_BACK = "SubagentStop", "PostToolUse", "PreToolUse"
REMARK = "This agent's report was delivered to you as a message (its SubagentHandback call)."
AGENT_ID = "af3e45c410e4c318d"
_Blocks = Sequence[Mapping[str, object]]


def text(words: str) -> Mapping[str, object]:
    return {"type": "text", "text": words}


def hands_back(report: str, call: str = "t9") -> Mapping[str, object]:
    values = {"message": report}
    return {"type": "tool_use", "id": call, "name": "SubagentHandback", "input": values}


def result(call: str = "t9", **more: object) -> Mapping[str, object]:
    return {"type": "tool_result", "tool_use_id": call, "content": "ok", **more}


def wrote(*blocks: Mapping[str, object], id: str = "m9", **more: object) -> Mapping[str, object]:
    message = {"id": id, "role": "assistant", "content": list(blocks), **more}
    return {"type": "assistant", "isSidechain": True, "version": "2.1.332", "message": message}


def given(*blocks: Mapping[str, object], **more: object) -> Mapping[str, object]:
    message = {"role": "user", "content": list(blocks)}
    return {"type": "user", "isSidechain": True, "version": "2.1.332", "message": message, **more}


TASK = given(text("do it"))
_READS = {"type": "tool_use", "id": "t1", "name": "Read", "input": {}}
READ = wrote(_READS, id="m1")
_COMMAND = {"type": "tool_use", "id": "t0", "name": "Bash", "input": {"command": "pytest -q"}}
TESTED = (
    TASK,
    wrote(_COMMAND, id="m0"),
    given({"type": "tool_result", "tool_use_id": "t0", "content": "12 passed in 0.10s"}),
)
"""An agent that was given its task and ran the tests that `GOOD` reports."""


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Return where the transcript of the agent is, by the path of that of the session."""
    file = tmp_path / "session" / "subagents" / f"agent-{AGENT_ID}.jsonl"
    file.parent.mkdir(parents=True)
    return file


def write(transcript: Path, *lines: Mapping[str, object]) -> None:
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def stop(host: Host, transcript: Path, message: str | None = None, **changes: object) -> Answer:
    return host.send(
        STOP,
        last_assistant_message=message,
        agent_transcript_path=str(transcript),
        transcript_path=f"{transcript.parent.parent}.jsonl",
        **changes,
    )


def returned(host: Host, content: object, **response: object) -> Answer:
    agent = {"status": "completed", "agentId": AGENT_ID, "agentType": "goop-executor"}
    return host.send(RESULT, tool_response={**agent, "content": content, **response})


# A report that is handed back.


def test_a_wrong_report_is_refused_before_it_is_delivered(host: Host) -> None:
    decision = host.send(HAND_BACK).json["hookSpecificOutput"]
    assert isinstance(decision, dict)
    assert (decision["hookEventName"], decision["permissionDecision"]) == ("PreToolUse", "deny")
    reason = decision["permissionDecisionReason"]
    assert reason.startswith("Your report was not accepted. No <goop_report> envelope was found")
    assert "Call SubagentHandback again with your whole reply" in reason


def test_a_good_report_is_left_to_the_host(host: Host) -> None:
    assert host.send(HAND_BACK, tool_input={"message": GOOD}).ended.out == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"agent_type": "Explore"},
        {"tool_name": "SendMessage"},
        {"tool_input": {}},
        {"tool_input": {"message": 7}},
        {"tool_input": "text"},
        {"agent_type": None},
    ],
)
def test_other_calls_and_agents_are_not_judged(host: Host, changes: dict[str, object]) -> None:
    assert host.send(HAND_BACK, **changes).ended.out == ""


def test_an_agent_is_refused_twice_and_then_delivers_with_a_mark(
    host: Host, transcript: Path
) -> None:
    reports = [GOOD.replace("COMPLETE", status) for status in ("FIXED", "SHIPPED", "MERGED")]
    first, second, third = (
        host.send(HAND_BACK, tool_input={"message": report}) for report in reports
    )
    assert '"deny"' in first.ended.out
    assert '"deny"' in second.ended.out
    assert '"deny"' not in third.ended.out
    assert "it was asked twice" in third.message
    write(transcript, TASK, wrote(hands_back(reports[2])), given(result()), wrote(text("Done.")))
    assert stop(host, transcript, "Done.").passed
    delivered = {"text": reports[2], "toolUseId": "t9"}
    marked = returned(host, [text(REMARK)], handback="send", handbackReport=delivered)
    assert "is not accepted" in marked.context


@pytest.mark.parametrize("message", ["I handed the report back.", None, ""])
def test_at_its_end_an_agent_is_judged_by_what_it_handed_back(
    host: Host, transcript: Path, message: str | None
) -> None:
    lines = [*TESTED, wrote(hands_back(GOOD)), given(result())]
    write(transcript, *lines, *([wrote(text(message), id="m10")] if message else []))
    assert stop(host, transcript, message).passed


def test_a_report_that_was_delivered_is_not_asked_for_again(host: Host, transcript: Path) -> None:
    write(transcript, TASK, wrote(hands_back(BAD)), given(result()), wrote(text(GOOD), id="m10"))
    answer = stop(host, transcript, GOOD)
    assert answer.passed
    assert "the host had delivered it already" in answer.message
    remark = returned(host, [text(REMARK)], handback="send")
    assert "is not accepted" in remark.context


def test_a_report_that_was_refused_was_not_handed_back(host: Host, transcript: Path) -> None:
    refused = given(result(is_error=True))
    write(transcript, TASK, wrote(hands_back(GOOD)), refused, wrote(text(BAD), id="m10"))
    assert not stop(host, transcript, BAD).passed
    write(transcript, *TESTED, wrote(hands_back(BAD)), refused, wrote(text(GOOD), id="m10"))
    assert stop(host, transcript, GOOD, agent_id="b").passed


def test_the_last_report_that_was_delivered_counts(host: Host, transcript: Path) -> None:
    again = (wrote(hands_back(BAD, "t10"), id="m10"), given(result("t10", is_error=True)))
    write(transcript, *TESTED, wrote(hands_back(GOOD)), given(result()), *again)
    assert stop(host, transcript, "Done.").passed


def test_a_report_of_an_earlier_task_does_not_count(host: Host, transcript: Path) -> None:
    earlier = (TASK, wrote(hands_back(GOOD)), given(result()), wrote(text("Done."), id="m10"))
    write(transcript, *earlier, given(text("and now?")), wrote(text(BAD), id="m11"))
    assert not stop(host, transcript, BAD).passed


def test_what_another_hook_says_does_not_take_a_report_back(host: Host, transcript: Path) -> None:
    feedback = given(text("Run the linter."), isMeta=True)
    handed = (*TESTED, wrote(hands_back(GOOD)), given(result()), wrote(text("Done."), id="m10"))
    write(transcript, *handed, feedback, wrote(text("It is clean."), id="m11"))
    assert stop(host, transcript, "It is clean.").passed


def test_what_was_handed_back_is_compared_with_the_work(host: Host, transcript: Path) -> None:
    failed = given(result("t1", content="Exit code 1\n1 failed, 2 passed", is_error=True))
    command = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "pytest -q"}}
    write(transcript, TASK, wrote(command, id="m1"), failed, wrote(hands_back(GOOD)))
    event = {"transcript_path": f"{transcript.parent.parent}.jsonl"}
    refused = host.send(HAND_BACK, tool_input={"message": GOOD}, **event)
    assert "evidence/check-failed" in refused.ended.out


def test_the_report_in_the_result_is_the_one_that_was_handed_back(host: Host) -> None:
    good, bad = ({"text": words, "toolUseId": "t9"} for words in (GOOD, BAD))
    assert returned(host, [text(REMARK)], handback="send", handbackReport=good).ended.out == ""
    assert "no-envelope" in returned(host, [text(GOOD)], handbackReport=bad).context


@pytest.mark.parametrize("response", [{}, {"handback": "send"}])
def test_a_result_that_only_refers_to_a_report_is_no_reply(
    host: Host, response: dict[str, object]
) -> None:
    assert returned(host, [text(REMARK)], **response).ended.out == ""


def test_a_report_that_did_not_come_is_named(host: Host) -> None:
    content = [text("Nothing was delivered.")]
    withheld = returned(host, content, handback="withheld").context
    assert "the host withheld the report of goop-executor" in withheld
    assert "Do not count its task as done" in withheld
    assert "not accepted" not in withheld


def test_a_report_with_a_warning_is_judged_and_named(host: Host) -> None:
    report = {"text": GOOD, "warning": "SECURITY WARNING: look at it"}
    flagged = returned(host, [text(REMARK)], handback="flagged", handbackReport=report).context
    assert "with a security warning" in flagged
    assert "not accepted" not in flagged
    wrong = {**report, "text": BAD}
    marked = returned(host, [text(REMARK)], handback="flagged", handbackReport=wrong).context
    assert "security warning" in marked
    assert "not accepted" in marked


# No text at all.

SILENT: Mapping[str, Sequence[Mapping[str, object]]] = {
    "a command and no word": [TASK, READ, given(result("t1"))],
    "no blocks": [TASK, wrote()],
    "an empty block": [TASK, wrote(text(""))],
    "blanks": [TASK, wrote(text(" \n"))],
    "a thought only": [TASK, wrote({"type": "thinking", "thinking": "I am done."})],
    "a call at the end": [TASK, READ],
    "a task and no answer": [TASK],
    "nothing after another task": [TASK, wrote(text(GOOD)), given(text("next")), READ],
    "nothing after feedback": [TASK, wrote(text(GOOD)), given(text("look"), isMeta=True), wrote()],
}


@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT)
def test_an_agent_that_says_nothing_is_asked_again_and_then_marked(
    host: Host, transcript: Path, lines: Sequence[Mapping[str, object]]
) -> None:
    write(transcript, *lines)
    assert "The reply is empty" in stop(host, transcript).reason
    again = stop(host, transcript, stop_hook_active=True)
    assert again.passed
    assert "do not count its task as done" in again.message
    assert "is not accepted" in returned(host, []).context


@pytest.mark.parametrize("name", ["codex", "claude-code"])
def test_a_host_that_says_there_is_no_message_is_believed(host: Host, name: str) -> None:
    silent = Host(host.project, host.data, name=name)
    event = {"hook_event_name": STOP, "agent_type": "goop-executor", "agent_id": "a"}
    content = json.dumps({**event, "last_assistant_message": None}).encode()
    assert "The reply is empty" in silent.send_raw(content).reason


def test_the_text_before_the_last_calls_is_the_reply_of_an_agent_that_ends_with_them(
    host: Host, transcript: Path
) -> None:
    write(transcript, *TESTED, wrote(text(GOOD)), READ, given(result("t1")), wrote(id="m12"))
    assert stop(host, transcript).passed


# Several blocks, and results without a name.

BLOCKS: Mapping[str, _Blocks] = {
    "an empty one at the end": [text(GOOD), text("")],
    "an empty one first": [text(""), text(GOOD)],
    "two halves": [
        text(GOOD[: GOOD.index("  <handoff>")]),
        text(GOOD[GOOD.index("  <handoff>") :]),
    ],
    "a note of the host first": [text("[harness: 3 files were read]"), text(GOOD)],
    "an image at the end": [text(GOOD), {"type": "image", "source": {}}],
}


@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
def test_end_and_result_read_the_same_text(host: Host, transcript: Path, blocks: _Blocks) -> None:
    write(transcript, *TESTED, *(wrote(block) for block in blocks))
    assert stop(host, transcript).passed
    assert returned(host, blocks).ended.out == ""


EARLIER: Mapping[str, _Blocks] = {
    "a text after it": [text(GOOD), text("That is all.")],
    "two texts after it": [text(GOOD), text("That is all."), text("Bye.")],
    "a call between them": [text(GOOD), _READS, text("That is all.")],
}


@pytest.mark.parametrize("blocks", EARLIER.values(), ids=EARLIER)
def test_a_report_in_an_earlier_block_of_the_last_message_counts(
    host: Host, transcript: Path, blocks: _Blocks
) -> None:
    write(transcript, *TESTED, *(wrote(block) for block in blocks))
    stated = str(blocks[-1]["text"])
    assert stop(host, transcript, stated).passed
    # One of an earlier message is none of this reply.
    write(transcript, *TESTED, wrote(text(GOOD)), wrote(text(stated), id="m10"))
    assert not stop(host, transcript, stated, agent_id="b").passed


@pytest.mark.parametrize(
    "delivered",
    [
        [text("{}")],
        [text("\n\n{}")],
        [text("[harness: 3 files were read]"), text("{}")],
        [text("[harness: 3 files were read]\n\n  {}")],
    ],
    ids=["as it is", "blank lines", "a note of the host", "a note in one block"],
)
def test_the_mark_names_the_lines_that_the_feedback_named(
    host: Host, transcript: Path, delivered: _Blocks
) -> None:
    wrong = "I added it.\n\n" + GOOD.replace("COMPLETE", "FINISHED")
    write(transcript, *TESTED, wrote(text(f"\n\n{wrong}")))
    named = re.search(r"line \d+", stop(host, transcript, wrong.strip()).reason)
    assert named is not None
    stop(host, transcript, wrong.strip(), stop_hook_active=True)
    content = [text(str(each["text"]).replace("{}", wrong)) for each in delivered]
    event = {"transcript_path": f"{transcript.parent.parent}.jsonl"}
    agent = {"status": "completed", "agentId": AGENT_ID, "agentType": "goop-executor"}
    marked = host.send(RESULT, tool_response={**agent, "content": content}, **event)
    assert f"({named[0]})" in marked.context
    part = f"<task-id>{AGENT_ID}</task-id>\n<status>completed</status>\n<result>{escape(wrong)}"
    prompt = f"<task-notification>\n{part}</result>\n</task-notification>"
    assert f"({named[0]})" in host.send("UserPromptSubmit", prompt=prompt).context


@pytest.mark.parametrize("tool", ["Task", "Agent"])
def test_a_result_without_a_name_is_that_of_the_agent_that_was_called(
    host: Host, tool: str
) -> None:
    words = {"content": [text(BAD)]}
    assert "goop-executor" in host.send(RESULT, tool_name=tool, tool_response=words).context
    other = {"subagent_type": "Explore"}
    assert host.send(RESULT, tool_input=other, tool_response=words).ended.out == ""


def test_an_agent_that_still_works_is_not_silent(host: Host) -> None:
    started = {"isAsync": True, "status": "async_launched", "agentId": "a"}
    assert host.send(RESULT, tool_response=started).ended.out == ""


# A reply that the model did not end.


@pytest.mark.parametrize(
    ("reason", "for_agent", "for_person"),
    [
        ("max_tokens", "cut at the token limit: send it shorter", "was cut at the token limit"),
        ("model_context_window_exceeded", "cut at the token limit", "cut at the token limit"),
        ("refusal", "The model refused to go on", "refused to go on with its last reply"),
    ],
)
def test_an_agent_learns_why_its_reply_ended_early(
    host: Host, transcript: Path, reason: str, for_agent: str, for_person: str
) -> None:
    cut = GOOD[: GOOD.index("<handoff>")]
    write(transcript, TASK, wrote(text(cut), stop_reason=reason))
    answer = stop(host, transcript, cut)
    assert answer.reason.startswith("Your report was not accepted. ")
    assert for_agent in answer.reason
    assert for_person in stop(host, transcript, cut, stop_hook_active=True).message


@pytest.mark.parametrize(
    "reason", ["end_turn", "stop_sequence", "tool_use", None, 7, "max_token s"]
)
def test_an_ordinary_end_adds_nothing(host: Host, transcript: Path, reason: object) -> None:
    write(transcript, TASK, wrote(text(BAD), stop_reason=reason))
    ordinary = stop(host, transcript, BAD).reason
    assert ordinary.startswith("Your report was not accepted. No <goop_report>")


def test_a_whole_report_at_the_limit_is_accepted(host: Host, transcript: Path) -> None:
    write(transcript, *TESTED, wrote(text(GOOD), stop_reason="max_tokens"))
    assert stop(host, transcript, GOOD).passed


@pytest.mark.parametrize(
    "info",
    [{"finish": "length"}, {"finish": "stop", "error": {"name": "MessageOutputLengthError"}}],
)
def test_opencode_says_in_its_session_why_a_reply_ended(
    host: Host, info: Mapping[str, object]
) -> None:
    message = {"info": {"role": "assistant", **info}, "parts": [text(BAD)]}
    opencode = Host(host.project, host.data, name="opencode")
    answer = opencode.send(STOP, session={"info": {}, "messages": [message]})
    assert "cut at the token limit" in answer.reason
