from pathlib import Path
from time import monotonic

import anyio
import pytest

pytest.importorskip(
    "claude_agent_sdk", reason="claude-agent-sdk is not installed here; make frameworks tests it"
)

from goop_mcp import RetryPolicy
from goop_mcp.hosts.frameworks.claude_agent_sdk import envelope_hooks
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import ALWAYS_ANOTHER_ERROR, BAD_STATUS, GOOD
from tests.frameworks.scenes import MANY, scene
from tests.frameworks.scripted_messages import PAY
from tests.frameworks.test_claude_agent_sdk import answer, event, played

BOTH = [BAD_STATUS.strip(), GOOD.strip()]


@scene("approval")
def test_a_tool_that_a_person_allows_at_the_second_time_is_run_once(tmp_path: Path) -> None:
    shown = played(tmp_path, "tool", "GOOP-ASK GOOP-PAY-TWICE GOOP-ALONE please pay")
    assert (shown["asked"], shown["made"]) == ([PAY] * 2, 1)
    assert [each["replies"] for each in shown["outcomes"]] == [BOTH]


@scene("handoff")
def test_a_subagent_is_kept_at_work_and_its_caller_goes_on(tmp_path: Path) -> None:
    shown = played(tmp_path, "client", "GOOP-MAIN please delegate")
    assert shown["result"] == "ok"
    assert [each["replies"] for each in shown["outcomes"]] == [BOTH]


@scene("session")
@scene("tools counted")
def test_two_prompts_of_a_session_are_counted_each_by_itself_and_a_tool_runs_once(
    tmp_path: Path,
) -> None:
    shown = played(tmp_path, "tool", "GOOP-PAY GOOP-ALONE please pay; Again, please")
    assert shown["made"] == 1
    # To the second prompt the model, which knows the feedback to the first, reports at once.
    assert [each["replies"] for each in shown["outcomes"]] == [BOTH, BOTH[1:]]


@scene("100 at once")
@scene("1,200 open conversations")
@pytest.mark.parametrize("many", [100, MANY])
async def test_the_counts_of_conversations_at_once_are_kept(many: int) -> None:
    # The hooks are those that the client calls; so many clients do not fit into a machine.
    outcomes: list[Outcome] = []
    hooks = envelope_hooks(on_stop=outcomes.append)
    for text in (BAD_STATUS, GOOD):
        async with anyio.create_task_group() as group:
            for number in range(many):
                group.start_soon(answer, hooks, event(text, session_id=str(number)))

    assert [(each.accepted, len(each.attempts)) for each in outcomes] == [(True, 2)] * many


@scene("cancelled during a call")
@pytest.mark.parametrize("more", ["", "; Hello"])
def test_an_agent_that_is_interrupted_while_its_model_is_asked_is_reported(
    tmp_path: Path, more: str
) -> None:
    shown = played(tmp_path, "interrupt", f"GOOP-HANG GOOP-ALONE please{more}")
    # The client calls no hook for an interrupt, only for the prompt after it.
    assert shown["before"] == []
    interrupted = shown["outcomes"][0]
    assert interrupted["stopped_because"] == "cancelled"
    assert interrupted["replies"][0] == BAD_STATUS.strip()
    assert len(shown["outcomes"]) == (2 if more else 1)


@scene("cancelled during a call")
def test_an_agent_whose_model_fails_for_good_is_reported(tmp_path: Path) -> None:
    shown = played(tmp_path, "interrupt", "GOOP-BROKEN GOOP-ALONE please")
    [outcome] = shown["outcomes"]
    assert outcome["stopped_because"] == "agent_error"
    assert outcome["replies"] == [BAD_STATUS.strip(), ""]


@scene("429 with Retry-After")
def test_a_rate_limit_that_the_client_waits_for_is_no_attempt(tmp_path: Path) -> None:
    began = monotonic()
    shown = played(tmp_path, "client", "GOOP-BUSY GOOP-ALONE please")
    assert monotonic() - began >= 1
    assert [each["replies"] for each in shown["outcomes"]] == [BOTH]


@scene("usage")
def test_usage_is_unknown_to_a_hook_and_known_to_the_program(tmp_path: Path) -> None:
    shown = played(tmp_path, "command", "GOOP-ALONE please work")
    assert [each["tokens"] for each in shown["outcomes"]] == [30]

    (tmp_path / "hooks").mkdir()
    shown = played(tmp_path / "hooks", "client", "GOOP-ALONE please work")
    assert [each["tokens"] for each in shown["outcomes"]] == [None]


@scene("deadline")
async def test_a_deadline_ends_the_review_at_the_next_reply() -> None:
    outcomes: list[Outcome] = []
    hooks = envelope_hooks(policy=RetryPolicy(deadline=0.2), on_stop=outcomes.append)
    await answer(hooks, event(ALWAYS_ANOTHER_ERROR[0]))
    await anyio.sleep(0.3)
    assert "(deadline)" in (await answer(hooks, event(ALWAYS_ANOTHER_ERROR[1])))["systemMessage"]
    assert [each.stopped_because for each in outcomes] == ["deadline"]
