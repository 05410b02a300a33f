"""Factory replies in Markdown are read by four openings and never guessed (D-58)."""

import pytest

from goop_mcp import Expectations
from goop_mcp.protocols.factory import Reply
from goop_mcp.protocols.factory.model import CriticVerdict, Status
from tests.protocols.json_replies import judge, judge_both, read_case, the_finding, weighty_rules
from tests.requirements import requirement

SUCCESS = read_case("factory/message_markdown_success.md")
QUESTIONS = read_case("factory/message_markdown_questions.md")
JSON = """{"status": "success", "summary": "Wrote the second draft of the plan.",
 "next_action": "ready_for_review", "confidence": "high",
 "deliverables": [{"path": "docs/plan.md", "type": "architecture", "description": "The plan"}]}"""
FAILURE = (
    "Task failed - unable to proceed.\n\nError: The request is missing.\n\nAttempted: Read the"
    " folder\n"
)
BLOCKING = (
    "Review complete - BLOCKING\n\nBlocking issues:\n- **B1**: No memory defined\n- Paths differ\n"
)


def read(text: str) -> Reply:
    lenient, strict = judge_both(text, "factory")
    for verdict in (lenient, strict):
        assert weighty_rules(verdict) == {"factory/markdown-reply"}
        assert verdict.accepted

    assert isinstance(lenient.envelope, Reply)
    return lenient.envelope


@requirement("F-25")
def test_success_is_read_with_its_files_and_summary() -> None:
    reply = read(SUCCESS)

    assert reply.status is Status.SUCCESS
    assert reply.deliverables is not None
    assert [each.path for each in reply.deliverables] == [
        ".factory/runs/2026-01-21-a1b2c3d4/artifacts/system_architecture.md"
    ]
    assert reply.summary == "Designed a pipeline with four agents."
    assert reply.next_action is None


@requirement("F-25")
def test_questions_are_read_and_get_ids_by_position() -> None:
    reply = read(QUESTIONS)

    assert reply.status is Status.QUESTIONS
    assert reply.questions is not None
    assert [each.id for each in reply.questions] == ["q1", "q2"]
    assert reply.questions[1].question == "Which store holds the state?"
    assert reply.questions[0].context == "It decides the STM schema."
    assert reply.recommendation == "single-session"


@requirement("F-25")
def test_failure_is_read_with_its_reason() -> None:
    reply = read(FAILURE)

    assert reply.status is Status.FAILURE
    assert reply.error is not None
    assert reply.error.message == "The request is missing."
    assert reply.error.type is None
    assert reply.attempted == "Read the folder"


def test_review_is_read_with_its_verdict() -> None:
    blocked, passed = read(BLOCKING), read("## Review complete - PASS\n\nSummary: All is met.\n")

    assert blocked.verdict is CriticVerdict.BLOCKING
    assert blocked.blocking_issues is not None
    assert [(each.id, each.title) for each in blocked.blocking_issues] == [
        ("B1", "No memory defined"),
        ("B2", "Paths differ"),
    ]
    assert passed.verdict is CriticVerdict.PASS


def test_items_below_a_question_are_its_options() -> None:
    reply = read(
        "Task paused - clarification needed.\n\nQuestions:\n1. Which store?\n   - sqlite\n   -"
        " pg\n2. When?\n"
    )

    assert reply.questions is not None
    assert [each.options for each in reply.questions] == [("sqlite", "pg"), ()]


@requirement("F-01")
def test_policy_can_forbid_markdown() -> None:
    for verdict in judge_both(SUCCESS, "factory", Expectations(markdown="forbid")):
        finding = the_finding(verdict, "factory/markdown-reply")
        assert finding.severity == "error"
        assert not verdict.accepted
    assert judge(SUCCESS, "factory").accepted


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Task complete.\n\nSummary: Built it all.\n", "factory/success-without-deliverable"),
        ("Task complete.\n\nDeliverables:\n- None\n", "factory/success-without-deliverable"),
        ("Task complete.\n\nDeliverables:\n- ../x\n", "path/outside-workspace"),
        ("Task complete.\n\nDeliverables:\n- `a.md`\n\nSummary: Done\n", "factory/vague-summary"),
        ("Task paused - clarification needed.\n", "factory/no-questions"),
        ("Task failed - unable to proceed.\n", "factory/missing-field"),
        ("Review complete - BLOCKING\n", "factory/blocking-without-issues"),
        (
            "Review complete - PASS\n\nBlocking issues:\n- B1: Paths differ\n",
            "factory/pass-with-issues",
        ),
    ],
)
def test_what_the_form_can_hold_is_judged(text: str, rule: str) -> None:
    for verdict in judge_both(text, "factory"):
        assert weighty_rules(verdict) == {"factory/markdown-reply", rule}
        assert the_finding(verdict, rule).line is not None


@requirement("F-26")
@pytest.mark.parametrize(
    "text",
    [
        "Done.",
        "The task is complete.",
        "Task complete",
        "I will write Task complete. when I am done.",
        "```\nTask complete.\n```\n",
        "<think>\nTask complete.\n\nDeliverables:\n- a.md\n</think>\nNot yet.",
        "Task finished.",
        "Review complete - MAYBE",
    ],
)
def test_anything_else_is_no_reply_and_never_a_success(text: str) -> None:
    for verdict in judge_both(text, "factory"):
        assert weighty_rules(verdict) == {"factory/no-envelope"}
        assert not verdict.accepted
        assert verdict.envelope is None


@requirement("F-26")
@pytest.mark.parametrize(
    "text", [f"{JSON}\n\n{SUCCESS}", f"{SUCCESS}\n\n{JSON}"], ids=["before", "after"]
)
def test_json_comes_before_markdown_wherever_it_stands(text: str) -> None:
    for verdict in judge_both(text, "factory"):
        assert verdict.accepted
        assert "factory/markdown-reply" not in weighty_rules(verdict)
        assert isinstance(verdict.envelope, Reply)
        assert verdict.envelope.summary == "Wrote the second draft of the plan."


def test_last_opening_counts() -> None:
    reply = read(f"{SUCCESS}\n{FAILURE}")

    assert reply.status is Status.FAILURE


def test_converted_reply_is_written_as_json() -> None:
    repaired = judge(SUCCESS, "factory").repaired_text

    assert repaired is not None
    assert judge(repaired, "factory").envelope == read(SUCCESS)
