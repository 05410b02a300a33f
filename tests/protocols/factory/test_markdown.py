"""Factory replies in Markdown are read by their openings and never guessed (D-58, D-118)."""

import pytest

from goop_mcp import Expectations, route, validate
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
CRITIC = """Review complete - BLOCKING ISSUES

Requirements addressed: 5/7

Blocking Issues:
1. Session state: nothing says where it is kept
   Resolution: add a section with the folder and its schema
2. **B7**: Two agents write one file
   - Category: conflict
   - **Fix:** give each its own

Concerns (non-blocking):
- long names

Recommend: Return to Engineer to address:
1. Session state
"""
FILES = "- `docs/design.md` (architecture): Design"


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


@requirement("F-22", "F-23")
@pytest.mark.parametrize(
    "opening",
    [
        "Review complete - BLOCKING ISSUES",
        "## Review complete - BLOCKING ISSUES",
        "**Review complete — BLOCKING ISSUE**",
        "## Verdict: BLOCKING",
        "**Verdict:** BLOCKING",
        "Verdict: 🚫 BLOCKING",
        "- **Verdict**: `BLOCKING`",
        "## Verdict\n\n**BLOCKING**",
        "## Status: success\n\n## Verdict: BLOCKING",
        "## Verdict: BLOCKING\n\n**Status:** success",
        "Review complete - PASS\n\nVerdict: BLOCKING",
    ],
)
def test_reviews_in_the_published_forms_are_read_with_their_issues(opening: str) -> None:
    reply = read(CRITIC.replace("Review complete - BLOCKING ISSUES", opening))

    assert (reply.status, reply.verdict) == (Status.SUCCESS, CriticVerdict.BLOCKING)
    assert reply.blocking_issues is not None
    assert [
        (each.id, each.title, each.category, each.resolution) for each in reply.blocking_issues
    ] == [
        (
            "B1",
            "Session state: nothing says where it is kept",
            None,
            "add a section with the folder and its schema",
        ),
        ("B7", "Two agents write one file", "conflict", "give each its own"),
    ]
    assert reply.concerns == ("long names",)
    assert reply.next_action == "return_to_engineer"


@requirement("F-22", "F-23")
def test_review_that_blocks_goes_back_to_the_agent_that_it_names() -> None:
    decision = route(validate(CRITIC, protocol="factory"))

    assert (decision.rule, decision.next_agent) == ("F3", "engineer")
    assert [each.fix for each in decision.issues] == [
        "add a section with the folder and its schema",
        "give each its own",
    ]


@requirement("F-25")
@pytest.mark.parametrize(
    "opening",
    [
        "**Status:** success",
        "**Status**: success",
        "Status: success",
        "status: Success.",
        "## Status: success",
        "## Status\n\nsuccess",
        "### **Status**\n`success`",
        "- **Status:** ✅ success",
        "## Result\n\n**Status:** success\r",
        "## Task complete",
        "# Task complete!",
    ],
)
@pytest.mark.parametrize("files", ["## Deliverables\n", "**Deliverables:**\n", "**Files**\n\n"])
def test_success_in_the_usual_forms_is_read(opening: str, files: str) -> None:
    reply = read(
        f"{opening}\n\n{files}{FILES}\n\n## Summary\n\nDesigned four agents.\n\n"
        "## Next\n\n- read it\n"
    )

    assert reply.status is Status.SUCCESS
    assert reply.deliverables is not None
    assert [each.path for each in reply.deliverables] == ["docs/design.md"]
    assert reply.summary == "Designed four agents."


def test_of_several_words_the_one_counts_that_lets_less_go_on() -> None:
    failed = read("**Status:** success\n\n**Status:** failure\n\n**Error:** The tests hang.\n")
    asked = read("## Status: questions\n\n## Questions\n1. Which store?\n")

    assert failed.status is Status.FAILURE
    assert asked.status is Status.QUESTIONS


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
        "**Status:** success",
        "## Task complete\n\nAll is well.",
        "Status: success\n\nSummary: The service answers again.",
        "**Status:** done\n\n**Deliverables:**\n- a.md\n",
        "The status: success of the call is logged.\n\nDeliverables:\n- a.md\n",
        "Status: success or failure\n\nDeliverables:\n- a.md\n",
        "Verdict: MAYBE\n\nBlocking Issues:\n- Paths differ\n",
        "```\nStatus: success\n\nDeliverables:\n- a.md\n```\n",
        "> Verdict: PASS\n>\n> Concerns:\n> - none\n",
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
