import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "claude_agent_sdk", reason="claude-agent-sdk is not installed here; make frameworks tests it"
)

from claude_agent_sdk import HookMatcher

from goop_mcp import RetryPolicy
from goop_mcp.errors import PolicyError
from goop_mcp.hosts.frameworks.claude_agent_sdk import envelope_hooks
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import ALWAYS_ANOTHER_ERROR, BAD_STATUS, GOOD, OPENING, names_of
from tests.repository import ROOT

LONGEST_SCENE = 60
WITHOUT_NETWORK = ["unshare", "-rn", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]


def event(text: str | None, **changed: object) -> dict[str, Any]:
    """Return the event of a subagent that wants to stop; None of `text` is an older host."""
    hook_input: dict[str, Any] = {
        "session_id": "3cb1",
        "transcript_path": "session.jsonl",
        "cwd": "project",
        "prompt_id": "70883b53",
        "permission_mode": "default",
        "agent_id": "af3e45c410e4c318d",
        "agent_type": "goop-mcp:goop-executor",
        "effort": {"level": "medium"},
        "hook_event_name": "SubagentStop",
        "stop_hook_active": False,
        "agent_transcript_path": "agent.jsonl",
        "background_tasks": [{"id": "af3e", "type": "subagent", "status": "running"}],
        "session_crons": [],
        **changed,
    }
    return hook_input if text is None else hook_input | {"last_assistant_message": text}


def main_event(text: str, **changed: object) -> dict[str, Any]:
    hook_input = event(text, hook_event_name="Stop", background_tasks=[], **changed)
    return {key: value for key, value in hook_input.items() if not key.startswith("agent_")}


# The hook's JSON
async def answer(hooks: dict[Any, list[HookMatcher]], hook_input: dict[str, Any]) -> Any:  # noqa: ANN401
    [matcher] = hooks[hook_input["hook_event_name"]]
    [hook] = matcher.hooks
    return await hook(hook_input, None, {"signal": None})


async def test_the_recipe_blocks_a_bad_report_and_accepts_a_good_one() -> None:
    defined = names_of("claude-agent-sdk")
    hooks = defined["options"].hooks
    blocked = await answer(hooks, event(BAD_STATUS))
    assert blocked["decision"] == "block"
    assert blocked["reason"].startswith(OPENING)
    assert await answer(hooks, event(GOOD, stop_hook_active=True)) == {}
    assert [(outcome.accepted, len(outcome.attempts)) for outcome in defined["outcomes"]] == [
        (True, 2)
    ]
    assert hooks["SubagentStop"][0].matcher == "goop-.*"


async def test_a_good_report_is_accepted_at_once() -> None:
    assert await answer(envelope_hooks(), event(GOOD)) == {}


async def test_the_same_report_again_ends_with_a_message_about_what_is_left() -> None:
    outcomes: list[Outcome] = []
    hooks = envelope_hooks(on_stop=outcomes.append)
    await answer(hooks, event(BAD_STATUS))
    answered = await answer(hooks, event(BAD_STATUS))
    assert answered == {
        "systemMessage": "the report was not accepted (no_progress): goop_report/unknown-status"
    }
    assert outcomes[0].text == BAD_STATUS


async def test_always_another_error_ends_after_three_attempts() -> None:
    hooks = envelope_hooks()
    answers = [await answer(hooks, event(text)) for text in ALWAYS_ANOTHER_ERROR]
    assert ["decision" in each for each in answers] == [True, True, False]
    assert "(attempts)" in answers[2]["systemMessage"]


@pytest.mark.parametrize("other", [{"prompt_id": "2"}, {"agent_id": "2"}, {"session_id": "2"}])
async def test_every_prompt_agent_and_session_is_counted_by_itself(other: dict[str, str]) -> None:
    hooks = envelope_hooks()
    await answer(hooks, event(BAD_STATUS))
    assert "decision" in await answer(hooks, event(BAD_STATUS, **other))


async def test_the_subagents_own_name_is_expected_in_its_report() -> None:
    blocked = await answer(envelope_hooks(), event(GOOD, agent_type="goop-mcp:goop-planner"))
    assert "goop-planner" in blocked["reason"]


async def test_an_older_host_that_names_only_the_transcript_is_understood(tmp_path: Path) -> None:
    transcript = tmp_path / "agent.jsonl"
    entries = [
        {"type": "assistant", "message": {"content": [{"type": "text", "text": GOOD}]}},
        {"type": "user", "message": {"content": "go on"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": BAD_STATUS}]}},
        {"type": "system", "subtype": "info"},
    ]
    transcript.write_text("".join(json.dumps(each) + "\n" for each in entries), encoding="utf-8")
    blocked = await answer(envelope_hooks(), event(None, agent_transcript_path=str(transcript)))
    assert "unknown-status" in blocked["reason"]


async def test_a_failure_of_the_hook_lets_the_agent_stop(tmp_path: Path) -> None:
    assert (
        await answer(envelope_hooks(), event(None, agent_transcript_path=str(tmp_path / "gone")))
        == {}
    )


async def test_the_main_agent_may_chat_and_is_judged_where_it_reports() -> None:
    hooks = envelope_hooks()
    assert await answer(hooks, main_event("Which colour do you want?")) == {}
    assert "decision" in await answer(hooks, main_event(BAD_STATUS))


async def test_the_main_agent_is_judged_always_or_never_where_asked_for() -> None:
    assert "decision" in await answer(envelope_hooks(main_thread="always"), main_event("Done."))
    assert await answer(envelope_hooks(main_thread="never"), main_event(BAD_STATUS)) == {}


async def test_the_main_agent_is_left_alone_while_subagents_run() -> None:
    hook_input = main_event(BAD_STATUS) | {"background_tasks": [{"id": "1", "status": "running"}]}
    assert await answer(envelope_hooks(), hook_input) == {}


@pytest.mark.parametrize("kind", ["shell", "bash", "local_bash"])
async def test_a_shell_in_the_background_does_not_switch_judging_off(kind: str) -> None:
    # A server for development runs as long as the session.
    hook_input = main_event(BAD_STATUS) | {
        "background_tasks": [{"id": "1", "type": kind, "status": "running"}]
    }
    assert "decision" in await answer(envelope_hooks(), hook_input)


async def test_what_the_host_does_by_itself_is_not_judged() -> None:
    outcomes: list[Outcome] = []
    hooks = envelope_hooks(agents=".*", on_stop=outcomes.append)
    assert await answer(hooks, event("A summary of the conversation.", agent_type="")) == {}
    assert outcomes == []


async def test_a_subagent_whose_kind_an_older_host_does_not_name_is_judged() -> None:
    outcomes: list[Outcome] = []
    hooks = envelope_hooks(on_stop=outcomes.append)
    given = {name: value for name, value in event(BAD_STATUS).items() if name != "agent_type"}
    assert "decision" in await answer(hooks, given)
    assert await answer(hooks, given | {"last_assistant_message": GOOD}) == {}
    assert [each.conversation_id for each in outcomes[0].attempts] == ["3cb1"] * 2


async def test_the_counts_of_1200_open_conversations_are_kept() -> None:
    outcomes: list[Outcome] = []
    hooks = envelope_hooks(on_stop=outcomes.append)
    for text in (BAD_STATUS, BAD_STATUS):
        for number in range(1200):
            await answer(hooks, event(text, session_id=str(number)))

    assert [(each.stopped_because, len(each.attempts)) for each in outcomes] == [
        ("no_progress", 2)
    ] * 1200


@pytest.mark.parametrize(
    "policy", [RetryPolicy(max_attempts=9), RetryPolicy(when_exhausted="raise")]
)
def test_a_policy_that_the_host_cannot_keep_is_refused(policy: RetryPolicy) -> None:
    with pytest.raises(PolicyError):
        envelope_hooks(policy=policy)


def played(tmp_path: Path, *arguments: str) -> dict[str, Any]:
    """Play a scene with the real program, a scripted model and no network."""
    if (
        shutil.which("unshare") is None
        or subprocess.run([*WITHOUT_NETWORK, "true"], check=False).returncode
    ):
        pytest.skip("no namespace without network can be made here (unshare -rn)")

    for name in ("home", "scratch"):
        (tmp_path / name).mkdir()

    environment = {
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(tmp_path / "home"),
        "LANG": "C.UTF-8",
        "TMPDIR": str(tmp_path / "scratch"),
        "CLAUDE_CODE_TMPDIR": str(tmp_path / "scratch"),
        "PYTHONPATH": str(ROOT),
        "ANTHROPIC_API_KEY": "test-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    }
    command = [*WITHOUT_NETWORK, sys.executable, "-m", "tests.frameworks.claude_scene", *arguments]
    done = subprocess.run(
        command,
        cwd=tmp_path / "home",
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONGEST_SCENE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    scene: dict[str, Any] = json.loads(done.stdout)

    return scene


def test_the_real_client_keeps_its_subagent_at_work_until_the_report_is_accepted(
    tmp_path: Path,
) -> None:
    scene = played(tmp_path, "client", "GOOP-MAIN please delegate")
    assert scene["result"] == "ok"
    [outcome] = scene["outcomes"]
    assert (outcome["accepted"], outcome["replies"]) == (True, [BAD_STATUS.strip(), GOOD.strip()])


def test_the_real_client_releases_a_stubborn_subagent(tmp_path: Path) -> None:
    scene = played(tmp_path, "client", "GOOP-MAIN GOOP-STUBBORN please delegate")
    assert scene["result"] == "ok"
    [outcome] = scene["outcomes"]
    assert (outcome["stopped_because"], outcome["replies"]) == (
        "no_progress",
        [BAD_STATUS.strip()] * 2,
    )


def test_the_real_program_is_asked_again_in_its_session(tmp_path: Path) -> None:
    scene = played(tmp_path, "command", "GOOP-ALONE please work")
    [outcome] = scene["outcomes"]
    assert (outcome["accepted"], outcome["replies"]) == (True, [BAD_STATUS.strip(), GOOD.strip()])
    assert outcome["tokens"] == 30


def written(folder: Path, *content: dict[str, Any], reason: str = "end_turn") -> str:
    """Write the transcript of an agent with one message."""
    message = {"id": "m1", "content": list(content), "stop_reason": reason}
    transcript = folder / "agent.jsonl"
    line = json.dumps({"type": "assistant", "message": message})
    transcript.write_text(f"{line}\n", encoding="utf-8")
    return str(transcript)


async def test_what_an_agent_handed_back_is_its_report(tmp_path: Path) -> None:
    given = {"type": "tool_use", "id": "t", "name": "SubagentHandback", "input": {"message": GOOD}}
    handed = {"agent_transcript_path": written(tmp_path, given)}
    assert await answer(envelope_hooks(), event("Done.", **handed)) == {}
    given["input"] = {"message": BAD_STATUS}
    handed = {"agent_transcript_path": written(tmp_path, given)}
    # The host takes no other report, so that it is not asked for again.
    assert (
        "not accepted" in (await answer(envelope_hooks(), event(GOOD, **handed)))["systemMessage"]
    )


async def test_an_agent_that_writes_nothing_is_asked_again(tmp_path: Path) -> None:
    silent = {"agent_transcript_path": written(tmp_path)}
    assert "empty" in (await answer(envelope_hooks(), event(None, **silent)))["reason"]


async def test_an_agent_learns_that_its_reply_was_cut(tmp_path: Path) -> None:
    text = {"type": "text", "text": BAD_STATUS}
    cut = {"agent_transcript_path": written(tmp_path, text, reason="max_tokens")}
    blocked = await answer(envelope_hooks(), event(BAD_STATUS, **cut))
    assert "cut at the token limit: send it shorter" in blocked["reason"]
