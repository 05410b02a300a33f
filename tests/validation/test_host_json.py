"""Replies that a host handed on in its own JSON are taken out of it, exactly once (D-95)."""

import html
import json
from collections.abc import Callable

import pytest

from goop_mcp import Severity, validate
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import BLOCKED_REPLY, COMPLETE_REPLY, REQUEST_PROMPT
from tests.requirements import requirement
from tests.validation.replies import EXECUTOR, read_case, rules_of

FACTORY = FACTORY_REPLY[FACTORY_REPLY.index("{") : FACTORY_REPLY.rindex("}") + 1]
SPECKIT = read_case("speckit/concrete_review.json").strip()
OLDER = '{"status": "complete", "summary": "Added it"}'
SECTIONS = "## STATUS\ncomplete\n\n## SUMMARY\nAdded it.\n\n## NEXT\ngoop-verifier\n"
REPLIES = {
    "report": COMPLETE_REPLY,
    "blocked": BLOCKED_REPLY,
    "odd_letters": COMPLETE_REPLY.replace(
        "Added the login endpoint.", 'Added "login" \\ 🙂 naïve\t/ path.'
    ),
    "factory": FACTORY_REPLY,
    "bare_factory": FACTORY,
    "speckit": SPECKIT,
    "request": REQUEST_PROMPT,
    "older_json": OLDER,
    "sections": SECTIONS,
}


def result(reply: str, **more: object) -> dict[str, object]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 3,
        "result": reply,
        **more,
    }


def stream(reply: str) -> str:
    message = {"role": "assistant", "content": [{"type": "text", "text": reply}]}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "1", "tools": ["Bash"]},
        {"type": "assistant", "message": message},
        result(reply, usage={"output_tokens": 7}),
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def lines(*events: dict[str, object]) -> str:
    return "".join(f"{json.dumps(event)}\n" for event in events)


def codex(reply: str) -> str:
    """Return what `codex exec --json` prints."""
    return lines(
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "I begin."}},
        {"type": "item.completed", "item": {"type": "command_execution", "exit_code": 0}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": reply}},
        {"type": "turn.completed", "usage": {"output_tokens": 5}},
    )


def opencode(reply: str) -> str:
    """Return what `opencode run --format json` prints, with a last message of two parts."""
    half = reply.find("\n")

    def text(part: str, message: str) -> dict[str, object]:
        return {"type": "text", "part": {"type": "text", "text": part, "messageID": message}}

    return lines(
        {"type": "step_start", "part": {"messageID": "m1"}},
        text("I begin.", "m1"),
        {"type": "step_start", "part": {"messageID": "m2"}},
        *([text(reply, "m2")] if half < 0 else [text(reply[:half], "m2")]),
        *([] if half < 0 else [text(reply[half + 1 :], "m2")]),
        {"type": "step_finish", "part": {"messageID": "m2"}},
    )


def block(reply: str) -> dict[str, object]:
    return {"type": "text", "text": reply}


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "codex_events": codex,
    "opencode_events": opencode,
    "content_blocks": lambda reply: json.dumps([block(reply)]),
    "two_blocks": lambda reply: json.dumps([{"type": "thinking"}, block("Done."), block(reply)]),
    "mcp_result": lambda reply: json.dumps({"content": [block(reply)], "isError": False}),
    "api_message": lambda reply: json.dumps({"role": "assistant", "content": [block(reply)]}),
    "stream_line": lambda reply: json.dumps(
        {"type": "assistant", "message": {"role": "assistant", "content": [block(reply)]}}
    ),
    "call": lambda reply: json.dumps({"name": "attempt_completion", "input": {"result": reply}}),
    "call_with_text": lambda reply: json.dumps({"tool": "complete_task", "arguments": reply}),
    "call_with_json": lambda reply: json.dumps(
        {"name": "attempt_completion", "arguments": json.dumps({"result": reply, "command": ""})}
    ),
    "claude_json": lambda reply: json.dumps(result(reply, session_id="1")),
    "indented": lambda reply: json.dumps(result(reply), indent=2) + "\n",
    "not_ascii": lambda reply: json.dumps(result(reply), ensure_ascii=False),
    "stream_json": stream,
    "verbose_json": lambda reply: json.dumps([{"type": "system"}, result(reply)]),
    "only_key": lambda reply: json.dumps({"result": reply}),
    "json_string": lambda reply: json.dumps(f"Done.\n\n{reply}"),
    "one_event": lambda reply: json.dumps(
        {"type": "item.completed", "item": {"type": "agent_message", "text": reply}}
    ),
    "mcp_answer": lambda reply: json.dumps(
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [block(reply)]}}
    ),
    "text_message": lambda reply: json.dumps({"role": "assistant", "content": reply}),
    "call_of_a_function": lambda reply: json.dumps(
        {
            "type": "function",
            "function": {
                "name": "attempt_completion",
                "arguments": json.dumps({"result": reply}),
            },
        }
    ),
}


@requirement("G-01")
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_reply_is_read_as_if_it_stood_alone_and_the_finding_says_so(
    wrapping: str, reply: str
) -> None:
    plain = validate(reply)
    assert plain.accepted

    wrapped = validate(WRAPPINGS[wrapping](reply))

    assert wrapped.accepted, wrapped.feedback
    assert wrapped.envelope == plain.envelope
    assert wrapped.protocol == plain.protocol
    assert rules_of(wrapped, Severity.WARNING) == rules_of(plain, Severity.WARNING)
    assert rules_of(wrapped, Severity.INFO) == rules_of(plain, Severity.INFO) | {
        "envelope/host-transformed"
    }


@pytest.mark.parametrize("reply", [FACTORY, SPECKIT], ids=["factory", "speckit"])
def test_object_as_the_only_result_is_the_reply(reply: str) -> None:
    wrapped = validate(json.dumps({"result": json.loads(reply)}, indent=1))

    assert wrapped.accepted, wrapped.feedback
    assert wrapped.envelope == validate(reply).envelope
    assert "envelope/host-transformed" in rules_of(wrapped, Severity.INFO)


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_place_of_a_finding_is_that_in_the_text_as_given(wrapping: str) -> None:
    text = WRAPPINGS[wrapping](EXECUTOR.replace("<status>COMPLETE", "<status>FINISHED"))

    (finding,) = validate(text).of_severity(Severity.ERROR)

    assert finding.line is not None
    assert finding.column is not None
    line = text.split("\n")[finding.line - 1]
    assert line[finding.column - 1 :].startswith("FINISHED")


@pytest.mark.parametrize("reply", [EXECUTOR, FACTORY, SPECKIT], ids=["xml", "factory", "speckit"])
def test_a_json_string_is_read_as_the_text_that_it_holds(reply: str) -> None:
    wrapped = validate(f" {json.dumps(reply)}\n")

    assert wrapped.accepted, wrapped.feedback
    assert wrapped.envelope == validate(reply).envelope
    assert "envelope/host-transformed" in rules_of(wrapped, Severity.INFO)


@pytest.mark.parametrize("key", ["arguments", "input", "parameters"])
def test_arguments_of_a_last_call_may_be_the_reply_itself(key: str) -> None:
    for arguments in (json.loads(FACTORY), FACTORY):
        wrapped = validate(json.dumps({"name": "attempt_completion", key: arguments}))

        assert wrapped.accepted, wrapped.feedback
        assert wrapped.envelope == validate(FACTORY).envelope


def test_that_the_host_says_the_run_failed_is_a_warning() -> None:
    for text in (
        json.dumps(result(EXECUTOR, is_error=True, subtype="error_max_turns")),
        json.dumps({"content": [block(EXECUTOR)], "isError": True}),
        stream(EXECUTOR).replace('"is_error": false', '"is_error": true'),
    ):
        verdict = validate(text)
        assert verdict.accepted
        assert "envelope/host-error" in rules_of(verdict, Severity.WARNING)

    (named,) = [
        finding
        for finding in validate(json.dumps(result(EXECUTOR, is_error=True, subtype="x"))).findings
        if finding.rule == "envelope/host-error"
    ]
    assert "ended with x" in named.message


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_what_was_wrapped_twice_or_escaped_as_well_is_not_undone(wrapping: str) -> None:
    wrap = WRAPPINGS[wrapping]

    assert not validate(wrap(wrap(COMPLETE_REPLY))).accepted
    assert not validate(wrap(html.escape(COMPLETE_REPLY))).accepted


LOOK_ALIKES = {
    "no_result": json.dumps({"type": "assistant", "text": COMPLETE_REPLY}),
    "another_call": json.dumps({"name": "write_file", "arguments": {"text": COMPLETE_REPLY}}),
    "blocks_of_something_else": json.dumps([{"text": COMPLETE_REPLY}]),
    "quoted_in_prose": f"He wrote {json.dumps(EXECUTOR)}",
    "string_and_more": f"{json.dumps(EXECUTOR)}\nThat was it.",
    "events_and_prose": f"{codex(COMPLETE_REPLY)}\nThat was the run.",
    "an_earlier_message": lines(
        {"type": "item.completed", "item": {"type": "agent_message", "text": COMPLETE_REPLY}},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "I go on."}},
    ),
    "a_result_of_a_tool": lines(
        {"type": "item.completed", "item": {"type": "mcp_tool_call", "text": COMPLETE_REPLY}},
    ),
    "result_and_more": json.dumps({"result": COMPLETE_REPLY, "note": "draft"}),
    "error": json.dumps({"type": "result", "subtype": "error_max_turns", "is_error": True}),
    "prose_before": "The host wrote:\n" + json.dumps(result(COMPLETE_REPLY)),
    "prose_after": json.dumps(result(COMPLETE_REPLY)) + "\nThat was the reply.",
    "cut_off": json.dumps(result(COMPLETE_REPLY))[:-30],
    "stream_that_was_cut": stream(COMPLETE_REPLY).rsplit("\n", 2)[0],
    "lines_of_something_else": '{"id": 1}\n' + json.dumps(result(COMPLETE_REPLY)),
}


@pytest.mark.parametrize("text", LOOK_ALIKES.values(), ids=LOOK_ALIKES)
def test_other_json_that_quotes_a_report_is_no_reply(text: str) -> None:
    assert not validate(text).accepted


def test_answer_of_speckit_keeps_its_own_result() -> None:
    verdict = validate(SPECKIT)

    assert verdict.accepted
    assert "envelope/host-transformed" not in rules_of(verdict, Severity.INFO)


def test_repaired_reply_is_written_without_the_json_around_it() -> None:
    verdict = validate(json.dumps(result(EXECUTOR.replace("<status>COMPLETE", "<status>complete"))))

    assert verdict.repaired_text is not None
    assert verdict.span is not None
    assert verdict.read_text[slice(*verdict.span)].startswith("<goop_report")


def test_reply_with_a_status_of_its_own_is_not_taken_for_the_json_of_a_host() -> None:
    reply = json.dumps(
        {
            "type": "result",
            "result": "The work is done.",
            "status": "success",
            "summary": "Designed a data pipeline with four agents",
            "deliverables": [
                {"path": "docs/system.md", "type": "architecture", "description": "Four agents"}
            ],
            "next_action": "ready_for_review",
        }
    )
    verdict = validate(reply)
    assert (verdict.accepted, verdict.protocol) == (True, "factory")


@pytest.mark.parametrize("name", [["attempt_completion"], {"of": "attempt_completion"}, 7, None])
def test_a_call_whose_name_is_no_text_is_no_call(name: object) -> None:
    text = json.dumps({"name": name, "tool": name, "input": {"result": COMPLETE_REPLY}})
    assert rules_of(validate(text), Severity.ERROR) == {"envelope/no-envelope"}
