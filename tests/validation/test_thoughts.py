"""Text inside the thinking marks of any vendor is not an answer; mentions hide nothing (D-92)."""

import pytest

from goop_mcp import Severity, validate
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.samples import REQUEST_PROMPT
from tests.requirements import requirement
from tests.validation.replies import (
    BLOCKED,
    DRAFT,
    EXECUTOR,
    SUMMARY,
    changed,
    fenced,
    judge,
    judge_both,
    rules_of,
)

MARKS = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<thinking>", "</thinking>"),
    ('<thinking effort="high">', "</thinking>"),
    ("<THINK>", "</THINK>"),
    ("<analysis>", "</analysis>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|think|>", "<|/think|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>commentary to=tool <|message|>", "<|call|>"),
]
OPENERS = list(dict.fromkeys(opener for opener, _ in MARKS))
REPLIES = [
    pytest.param(fenced(EXECUTOR), id="goop_report"),
    pytest.param(FACTORY_REPLY, id="factory"),
]


def chosen_status(text: str) -> str | None:
    verdict = validate(text)
    return None if verdict.envelope is None else verdict.envelope.to_dict()["status"]


@requirement("G-01")
@pytest.mark.parametrize(("opener", "closer"), MARKS)
@pytest.mark.parametrize("reply", REPLIES)
def test_envelope_that_was_only_thought_is_no_answer(reply: str, opener: str, closer: str) -> None:
    verdict = validate(f"{opener}\nI could write:\n{reply}\n{closer}\n\nAll done.\n")

    assert not verdict.accepted
    assert verdict.envelope is None
    assert [candidate.chosen for candidate in verdict.candidates] == [False]
    assert "thinking block" in (verdict.feedback or "")


@pytest.mark.parametrize(("opener", "closer"), MARKS)
def test_answer_after_thinking_counts_and_the_draft_is_listed(opener: str, closer: str) -> None:
    verdict = judge(f"{opener}\n{DRAFT}\n{closer}\n\n{EXECUTOR}")

    assert verdict.accepted
    assert verdict.envelope == judge(EXECUTOR).envelope
    assert [candidate.chosen for candidate in verdict.candidates] == [False, True]
    assert "envelope/in-thinking" in rules_of(verdict, Severity.INFO)


@requirement("G-01")
@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize(
    "before", ["", "\n\n", "\ufeff", "<result>", "Let me see.\n", "Let me see.\n\n  "]
)
@pytest.mark.parametrize("reply", REPLIES)
def test_thinking_that_never_ends_holds_all_that_follows(
    opener: str, before: str, reply: str
) -> None:
    verdict = validate(f"{before}{opener}\nI would end with this:\n\n{reply}")

    assert not verdict.accepted
    assert verdict.envelope is None
    assert "never closed" in (verdict.feedback or "")


def test_thinking_at_the_start_of_a_reply_needs_no_line_of_its_own() -> None:
    assert not judge(f"<think>The user wants a report.\n{EXECUTOR}").accepted


@requirement("G-45")
@pytest.mark.parametrize(("opener", "closer"), [*MARKS, *((opener, "") for opener in OPENERS)])
def test_real_blocked_report_stays_when_a_thought_follows(opener: str, closer: str) -> None:
    verdict = judge(f"{BLOCKED}\n\n{opener}\nOr is it done after all?\n{EXECUTOR}\n{closer}\n")

    assert verdict.accepted
    assert verdict.envelope is not None
    assert verdict.envelope.to_dict()["status"] == "BLOCKED"


@pytest.mark.parametrize("opener", OPENERS)
def test_request_and_older_forms_in_thinking_are_drafts_too(opener: str) -> None:
    assert not validate(f"{opener}\n{REQUEST_PROMPT}").accepted
    assert not validate(f"{opener}\n## STATUS\nCOMPLETE\n\n## SUMMARY\nDone it.\n").accepted
    assert not validate(f'{opener}\n{{"status": "complete", "summary": "Done it."}}\n').accepted
    assert not validate(
        f"{opener}\nTask complete.\n\nDeliverables:\n- a.md\n\nSummary: x\n"
    ).accepted


def test_channels_whose_marks_a_host_removed_are_distinguished() -> None:
    text = f"analysisThe user wants a report. Perhaps:\n{DRAFT}\nassistantfinal{EXECUTOR}"

    assert judge(text).envelope == judge(EXECUTOR).envelope
    assert not judge(f"analysis{EXECUTOR}\nassistantfinalAll done.").accepted


LOOK_ALIKES = [
    "I removed the <think> tags.",
    "Removed <thinking> and kept </thinking> out of the log.",
    "The parser strips ◁think▷ and [THINK] marks now.",
    "Use `<think>` to begin and `</think>` to end.",
    "The words think, reasoning, analysis and reflection are no marks.",
    "<thinker>A statue</thinker>",
    "<think/>",
    "<analysis>12 files, 3 changed</analysis>",
    "<analysis>\n12 files, 3 changed\n</analysis>",
    "The token <|channel|>analysis is dropped by the host.",
    "```text\n<think>\nthe form of a thought\n```",
    "```\n<|channel|>analysis<|message|>\n```",
    "- [THINK] about the cache later",
    "Analysis\n========\n\nThe cache is stale.",
    "analysis of the logs: nothing found",
    "<thoughtful>yes</thoughtful>",
]


@pytest.mark.parametrize("mention", LOOK_ALIKES)
@pytest.mark.parametrize("reply", REPLIES)
def test_mention_of_a_mark_hides_nothing(mention: str, reply: str) -> None:
    verdict = validate(f"Here it is.\n\n{mention}\n\n{reply}")

    assert verdict.accepted, verdict.feedback
    assert "envelope/in-thinking" not in rules_of(verdict, Severity.INFO)
    assert chosen_status(f"{reply}\n\n{mention}\n") == chosen_status(reply)


@pytest.mark.parametrize("opener", OPENERS)
def test_mark_inside_of_an_envelope_is_part_of_its_text(opener: str) -> None:
    words = f"Dropped these lines:\n{opener}\nfrom the log."
    first = changed(DRAFT, ("Only a draft.", words))

    lenient, _ = judge_both(fenced(changed(EXECUTOR, (SUMMARY, words))))

    assert lenient.accepted
    assert judge(f"{first}\n\nNow the report:\n\n{EXECUTOR}").envelope == judge(EXECUTOR).envelope
