"""A verdict as an A2A task: nothing is lost on the way."""

import json

import pytest

from goop_mcp.routing.a2a import EXTENSION_URI, a2a_task
from tests.routing.examples import EXAMPLES, Example
from tests.routing.replies import BLOCKED, answer, factory, judged, report, with_status


def test_files_and_commits_are_artifacts() -> None:
    artifacts = a2a_task(judged(report(), "goop_report"))["artifacts"]

    assert [(each["name"], each["metadata"]) for each in artifacts] == [
        ("src/auth/service.ts", {"action": "created"}),
        ("src/auth/middleware.ts", {"action": "created"}),
        ("src/auth/types.ts", {"action": "created"}),
        ("commit a1b2c3d", {"sha": "a1b2c3d"}),
    ]
    assert artifacts[0]["parts"] == [{"url": "src/auth/service.ts"}]
    assert artifacts[3]["parts"] == [{"text": "feat(auth): implement JWT authentication service"}]


def test_what_a2a_has_no_word_for_stands_in_the_metadata() -> None:
    verdict = judged(report(), "goop_report")
    ours = a2a_task(verdict)["metadata"][EXTENSION_URI]

    assert verdict.envelope is not None
    assert ours["envelope"] == verdict.envelope.to_dict()
    assert ours["next_action"] == {
        "agent": "goop-executor",
        "text": "W2.T4: Implement session management",
    }
    assert ours["verification"][0]["passed"] is True
    assert {each["type"] for each in ours["memory"]} <= {"decision", "observation", "note"}
    assert ours["memory"]
    assert "confidence" not in ours
    factorys = a2a_task(judged(factory("architect_success", confidence="high"), "factory"))
    assert factorys["metadata"][EXTENSION_URI]["confidence"] == "high"


def test_the_status_message_holds_blockers_and_one_data_part_a_question() -> None:
    blocked = a2a_task(judged(BLOCKED, "goop_report"))["status"]
    asking = a2a_task(judged(factory("questions"), "factory"))["status"]

    assert blocked["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert blocked["message"]["parts"][0]["text"].startswith("RULE 4 DEVIATION")
    assert [part["data"]["id"] for part in asking["message"]["parts"]] == ["q1"]


def test_a_checkpoint_and_the_state_of_the_whole_work_are_reported() -> None:
    checkpoint = a2a_task(judged(with_status("CHECKPOINT"), "goop_report"))
    failed = a2a_task(judged(answer("test", overall_status="FAILED"), "speckit"))

    assert checkpoint["metadata"]["checkpoint"] is True
    assert failed["status"]["state"] == "TASK_STATE_COMPLETED"
    assert failed["metadata"][EXTENSION_URI]["workflow_state"] == "TASK_STATE_WORKING"


@pytest.mark.parametrize(("repair_left", "state"), [(True, "WORKING"), (False, "INPUT_REQUIRED")])
def test_a_rejected_reply_has_no_artifacts(repair_left: bool, state: str) -> None:
    task = a2a_task(
        judged(report(("<status>COMPLETE</status>", "<status>DONE</status>")), "goop_report")
    )
    assert task["artifacts"] == []
    assert a2a_task(judged("nothing", "goop_report"), repair_left=repair_left) == {
        "status": {"state": f"TASK_STATE_{state}"},
        "artifacts": [],
        "metadata": {},
    }


def test_what_the_caller_knows_of_the_task_wins() -> None:
    verdict = judged(report(), "goop_report")

    assert a2a_task(verdict, cancelled=True)["status"]["state"] == "TASK_STATE_CANCELED"
    assert (
        a2a_task(verdict, needs_credentials=True)["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_every_reply_becomes_a_task_of_plain_json(example: Example) -> None:
    task = a2a_task(example.decision().verdict)

    assert list(task) == ["status", "artifacts", "metadata"]
    assert json.loads(json.dumps(task)) == task
