"""The end of a subagent's or the main agent's turn, as the host reports it."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from goop_mcp.validation.feedback import OPENING
from tests.hosts.hooks.hooks import BAD, GOOD, Host

OTHER_BAD = GOOD.replace("COMPLETE", "FINISHED")
THIRD_BAD = GOOD.replace("<phase>execute</phase>", "<phase>coding</phase>")
IN_PLUGIN = "goop-mcp:goop-executor"


def test_a_subagent_without_a_report_is_sent_back(host: Host) -> None:
    reason = host.send("SubagentStop").reason
    assert reason.startswith(OPENING)
    assert "<agent>goop-executor</agent>" in reason


def test_the_agent_is_asked_for_its_whole_reply_because_only_the_last_message_counts(
    host: Host,
) -> None:
    assert "Send your whole reply again" in host.send("SubagentStop").reason
    assert (
        "Send your whole reply again"
        in host.send("SubagentStop", last_assistant_message=OTHER_BAD).reason
    )


def test_a_subagent_with_a_wrong_report_receives_the_errors(host: Host) -> None:
    reason = host.send("SubagentStop", last_assistant_message=OTHER_BAD).reason
    assert "status is 'FINISHED'" in reason


def test_feedback_quotes_no_secret_of_the_reply(host: Host) -> None:
    token = "gh" + "p_a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
    bad = GOOD.replace("COMPLETE", f"DONE {token}")
    answer = host.send("SubagentStop", last_assistant_message=bad)
    assert "status is 'DONE [REDACTED]'" in answer.reason
    assert token[:12] not in answer.ended.out + answer.ended.err


@pytest.mark.parametrize("agent", ["goop-executor", IN_PLUGIN])
def test_a_good_report_passes_without_a_message(host: Host, agent: str) -> None:
    answer = host.send("SubagentStop", agent_type=agent, last_assistant_message=GOOD)
    assert (answer.ended.out, answer.ended.err) == ("", "")


def test_a_report_in_the_name_of_another_agent_is_sent_back(host: Host) -> None:
    answer = host.send(
        "SubagentStop", agent_type="goop-mcp:goop-tester", last_assistant_message=GOOD
    )
    assert "goop-tester" in answer.reason


@pytest.mark.parametrize(
    "agent", ["general-purpose", "Explore", "my-goop-executor", "other:helper", "", None]
)
def test_an_agent_that_need_not_report_passes_without_a_message(
    host: Host, agent: str | None
) -> None:
    answer = host.send("SubagentStop", agent_type=agent)
    assert (answer.ended.out, answer.ended.err) == ("", "")


def test_an_agent_passes_after_two_requests_and_the_user_learns_why(host: Host) -> None:
    replies = [BAD, OTHER_BAD, THIRD_BAD]
    answers = [
        host.send("SubagentStop", last_assistant_message=reply, stop_hook_active=number > 0)
        for number, reply in enumerate(replies)
    ]
    assert [answer.passed for answer in answers] == [False, False, True]
    assert "asked twice" in answers[2].message
    assert "goop_report/unknown-phase" in answers[2].message


def test_another_value_under_the_same_rule_is_asked_again_up_to_the_limit(host: Host) -> None:
    replies = [GOOD.replace("COMPLETE", word) for word in ("FAILED", "BROKEN", "FINISHED")]
    answers = [
        host.send("SubagentStop", last_assistant_message=reply, stop_hook_active=number > 0)
        for number, reply in enumerate(replies)
    ]
    assert [answer.passed for answer in answers] == [False, False, True]
    assert "asked twice" in answers[2].message


def test_an_agent_that_passed_is_not_asked_again_in_the_same_turn(host: Host) -> None:
    for reply in (BAD, OTHER_BAD, THIRD_BAD):
        host.send("SubagentStop", last_assistant_message=reply)
    assert host.send("SubagentStop", last_assistant_message=BAD, stop_hook_active=True).passed
    assert not host.send("SubagentStop", last_assistant_message=BAD, stop_hook_active=False).passed


def test_the_same_reply_twice_ends_the_requests(host: Host) -> None:
    assert not host.send("SubagentStop").passed
    again = host.send("SubagentStop", stop_hook_active=True)
    assert again.passed
    assert "sent the same reply again" in again.message


def test_the_same_findings_twice_end_the_requests(host: Host) -> None:
    assert not host.send("SubagentStop", last_assistant_message=OTHER_BAD).passed
    again = host.send(
        "SubagentStop", last_assistant_message=OTHER_BAD + "\n", stop_hook_active=True
    )
    assert again.passed
    assert "the same is wrong again" in again.message


@pytest.mark.parametrize("key", ["session_id", "agent_id", "prompt_id"])
def test_each_session_agent_and_prompt_is_counted_separately(host: Host, key: str) -> None:
    assert not host.send("SubagentStop").passed
    assert host.send("SubagentStop", stop_hook_active=True).passed
    assert not host.send("SubagentStop", stop_hook_active=True, **{key: "another"}).passed


def test_a_corrected_report_ends_the_count(host: Host) -> None:
    assert not host.send("SubagentStop").passed
    assert host.send("SubagentStop", last_assistant_message=GOOD, stop_hook_active=True).passed
    assert not host.send("SubagentStop").passed


def test_agents_that_end_at_the_same_time_each_have_their_count(host: Host) -> None:
    agents = [f"agent-{number}" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        first = list(
            pool.map(lambda agent: host.send("SubagentStop", agent_id=agent).passed, agents)
        )
        second = list(
            pool.map(
                lambda agent: (
                    host.send("SubagentStop", agent_id=agent, stop_hook_active=True).passed
                ),
                agents,
            )
        )

    assert (first, second) == ([False] * 8, [True] * 8)


def test_a_count_that_cannot_be_saved_is_reported_and_asks_once(host: Host) -> None:
    host.data.write_text("a file where the folder should be", encoding="utf-8")
    first = host.send("SubagentStop", last_assistant_message=BAD)
    second = host.send("SubagentStop", last_assistant_message=OTHER_BAD, stop_hook_active=True)
    assert (first.passed, second.passed) == (False, True)
    for answer in (first, second):
        assert "goop-mcp cannot keep the count of its requests (" in answer.message


def test_a_count_that_cannot_be_read_stops_no_accepted_report(host: Host) -> None:
    (host.data / "hook-attempts.json").mkdir(parents=True)
    accepted = host.send("SubagentStop", last_assistant_message=GOOD)
    notice = host.send(
        "UserPromptSubmit", prompt="<task-notification><task-id>a</task-id></task-notification>"
    )
    assert (accepted.ended.out, accepted.ended.err) == ("", "")
    assert (notice.ended.out, notice.ended.err) == ("", "")


def test_a_damaged_count_begins_again(host: Host) -> None:
    host.send("SubagentStop")
    (file,) = host.data.glob("*.json")
    file.write_text('{"half of it', encoding="utf-8")
    assert not host.send("SubagentStop", stop_hook_active=True).passed


def test_old_counts_are_removed(host: Host) -> None:
    host.send("SubagentStop", agent_id="old")
    (file,) = host.data.glob("*.json")
    ((key, entry),) = json.loads(file.read_text(encoding="utf-8")).items()
    file.write_text(json.dumps({key: [entry[0] - 2 * 24 * 3600, *entry[1:]]}), encoding="utf-8")
    host.send("SubagentStop", agent_id="new")
    assert [key.split("\n")[1] for key in json.loads(file.read_text(encoding="utf-8"))] == ["new"]


def test_the_message_is_read_from_the_transcript_when_the_host_leaves_it_out(
    host: Host, tmp_path: Path
) -> None:
    blocks = (
        [{"type": "text", "text": "I look."}],
        [{"type": "tool_use", "name": "Read"}],
        [{"type": "text", "text": GOOD}],
    )
    lines = [
        {
            "type": "assistant",
            "message": {"id": f"m{number}", "role": "assistant", "content": content},
        }
        for number, content in enumerate(blocks)
    ]
    transcript = tmp_path / "agent.jsonl"
    words = [
        *map(json.dumps, lines),
        '{"type": "system", "message": {"content": "x"}}',
        '{"type": "assistant", "mess',
    ]
    transcript.write_text("\n".join(words), encoding="utf-8")
    event = {"last_assistant_message": None, "agent_transcript_path": str(transcript)}
    assert host.send("SubagentStop", **event).passed
    transcript.write_text("\n".join(words[:1]), encoding="utf-8")
    assert not host.send("SubagentStop", **event).passed


def test_a_message_in_several_lines_of_the_transcript_is_read_whole(
    host: Host, tmp_path: Path
) -> None:
    halves = [
        {"type": "assistant", "message": {"id": "m1", "content": [{"type": "text", "text": text}]}}
        for text in (GOOD[: GOOD.index("  <handoff>")], GOOD[GOOD.index("  <handoff>") :])
    ]
    transcript = tmp_path / "agent.jsonl"
    transcript.write_text("\n".join(map(json.dumps, halves)), encoding="utf-8")
    event = {"last_assistant_message": None, "agent_transcript_path": str(transcript)}
    assert host.send("SubagentStop", **event).ended.out == ""


def test_a_large_transcript_is_read_from_its_end(host: Host, tmp_path: Path) -> None:
    transcript = tmp_path / "agent.jsonl"
    last = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": BAD}]}}
    with transcript.open("w", encoding="utf-8") as file:
        file.write('{"type": "user", "message": "' + "x" * 40_000_000 + '"}\n')
        file.write(json.dumps(last) + "\n")

    answer = host.send(
        "SubagentStop", last_assistant_message=None, agent_transcript_path=str(transcript)
    )
    assert not answer.passed


@pytest.mark.parametrize("transcript", ["", "nowhere.jsonl", "."])
def test_a_turn_that_cannot_be_read_passes_and_the_person_learns_it(
    host: Host, transcript: str
) -> None:
    answer = host.send(
        "SubagentStop", last_assistant_message=None, agent_transcript_path=transcript
    )
    assert answer.passed
    assert "the reply of goop-executor passed unread" in answer.message
    assert "passed unread" in answer.ended.err


def test_an_empty_message_of_an_agent_that_must_report_is_sent_back(host: Host) -> None:
    assert "empty" in host.send("SubagentStop", last_assistant_message="").reason


def test_the_main_agent_may_talk_about_reports(host: Host) -> None:
    words = "Subagents end with a `<goop_report>` envelope; shall I start goop-executor?"
    assert host.send("Stop", last_assistant_message=words).ended.out == ""


def test_a_wrong_report_of_the_main_agent_is_sent_back(host: Host) -> None:
    assert "status is 'FINISHED'" in host.send("Stop", last_assistant_message=OTHER_BAD).reason


def test_a_main_agent_started_as_one_that_must_report_is_judged(host: Host) -> None:
    assert not host.send("Stop", agent_type=IN_PLUGIN).passed


def test_the_main_agent_is_not_judged_while_a_subagent_runs(host: Host) -> None:
    running = {"id": "a", "type": "subagent", "status": "running", "agent_type": "goop-executor"}
    host.configure(main="required")
    assert host.send("Stop", background_tasks=[running]).ended.out == ""
    assert not host.send("Stop", background_tasks=[{**running, "status": "completed"}]).passed
    assert not host.send(
        "Stop", prompt_id="other", background_tasks=[{**running, "type": "shell"}]
    ).passed


def test_the_hook_of_codex_answers_in_the_same_way(host: Host) -> None:
    codex = Host(host.project, host.data, name="codex")
    assert codex.send("SubagentStop", prompt_id=None, effort=None).reason.startswith(OPENING)


def test_each_turn_of_codex_is_counted_separately(host: Host) -> None:
    codex = Host(host.project, host.data, name="codex")
    assert not codex.send("Stop", agent_type="goop-executor", prompt_id=None, turn_id="1").passed
    assert codex.send(
        "Stop", agent_type="goop-executor", prompt_id=None, turn_id="1", stop_hook_active=True
    ).passed
    assert not codex.send("Stop", agent_type="goop-executor", prompt_id=None, turn_id="2").passed


def test_without_a_plugin_the_count_is_in_the_state_folder_of_the_user_and_not_in_the_project(
    host: Host, tmp_path: Path
) -> None:
    person = Host(
        host.project,
        host.data,
        environment={
            "CLAUDE_PLUGIN_DATA": "",
            "XDG_STATE_HOME": "",
            "HOME": str(tmp_path / "home"),
        },
    )
    (host.project / ".goopspec").mkdir()
    assert not person.send("SubagentStop").passed
    assert person.send("SubagentStop", stop_hook_active=True).passed
    assert list((host.project / ".goopspec").iterdir()) == []
    assert list((tmp_path / "home").rglob("hook-attempts.json"))
