"""Finding the envelope in a reply, and the right one of several."""

import json

import pytest

from goop_mcp import Severity, validate
from tests.validation.replies import (
    DRAFT,
    EXECUTOR,
    PLANNER,
    SUMMARY,
    TEMPLATE,
    changed,
    fenced,
    judge,
    judge_both,
    report_of,
    rules_of,
    the_finding,
    weighty_rules,
)

EXECUTOR_REPORT = report_of(judge(EXECUTOR))
OUTER = f"~~~~markdown\nIn short:\n\n```xml\n{EXECUTOR}\n```\n~~~~\n"
INDENTED = "\n".join(f"   {line}" for line in EXECUTOR.split("\n"))
THINKING_TAGS = ["thinking", "think", "reasoning"]


def assert_read_in_order(text: str) -> None:
    """Both modes take the executor's report and have nothing to say about the agent's work."""
    for verdict in judge_both(text):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == set()
        assert verdict.repairs == ()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(EXECUTOR, id="bare"),
        pytest.param(f"Done.\n\n{EXECUTOR}\n", id="bare_after_prose"),
        pytest.param(f"Done. {EXECUTOR}", id="after_words_on_the_same_line"),
        pytest.param(fenced(EXECUTOR), id="backticks"),
        pytest.param(fenced(EXECUTOR, fence="~~~"), id="tildes"),
        pytest.param(fenced(EXECUTOR, fence="````"), id="four_backticks"),
        pytest.param(fenced(EXECUTOR, fence="~~~~~~~"), id="seven_tildes"),
        pytest.param(fenced(EXECUTOR, info="XML"), id="upper_case_info"),
        pytest.param(fenced(EXECUTOR, info="xml title=report"), id="info_with_more_words"),
        pytest.param(fenced(EXECUTOR, info=""), id="fence_without_a_language"),
        pytest.param(fenced(EXECUTOR, info="text"), id="text_fence"),
        pytest.param(fenced(EXECUTOR, info="json"), id="fence_of_another_language"),
        pytest.param(f"Done.\n\n```xml\n{EXECUTOR}\n", id="unclosed_fence"),
        pytest.param(f"Done.\n\n```xml\n{EXECUTOR}", id="unclosed_fence_without_a_last_line_end"),
        pytest.param(f"Done.\n\n```xml\n{EXECUTOR}\n`````", id="closing_fence_longer"),
        pytest.param(OUTER, id="fence_in_a_fence"),
        pytest.param(f"1. Done:\n\n   ```xml\n{INDENTED}\n   ```\n", id="indented_fence_in_a_list"),
        pytest.param(f"- Done:\n\n   {EXECUTOR}\n", id="bare_in_a_list"),
        pytest.param(
            f"```python\nprint('hi')\n```\n\n{fenced(EXECUTOR)}", id="fence_of_code_before"
        ),
        pytest.param(
            f"```python\nprint('never closed')\n\n{EXECUTOR}\n",
            id="inside_an_unclosed_fence_of_code",
        ),
        pytest.param(f'<?xml version="1.0" encoding="UTF-8"?>\n{EXECUTOR}', id="xml_declaration"),
        pytest.param(fenced(f'<?xml version="1.0"?>\n{EXECUTOR}'), id="xml_declaration_in_a_fence"),
        pytest.param(f"{EXECUTOR}\n\n\n   \n", id="blank_lines_after"),
        pytest.param(fenced(EXECUTOR).replace("\n", "\r\n"), id="windows_line_ends"),
        pytest.param(fenced(EXECUTOR).replace("\n", "\r\n", 20), id="mixed_line_ends"),
        pytest.param(f"\ufeff{fenced(EXECUTOR)}", id="byte_order_mark"),
        pytest.param(f"\ufeff{EXECUTOR}", id="byte_order_mark_before_the_root"),
        pytest.param(f"\u00a0{EXECUTOR}\u00a0", id="no_break_spaces_around"),
        pytest.param(f"Done.\u200b\n\u200b{EXECUTOR}\n\u200b", id="zero_width_spaces_around"),
        pytest.param(f"Done \ud800\udfff.\n\n{EXECUTOR}", id="lone_surrogates_before"),
        pytest.param(f"Done \x1b[32mok\x1b[0m \x00.\n\n{EXECUTOR}", id="control_characters_before"),
        pytest.param(EXECUTOR.replace("\n", ""), id="all_on_one_line"),
    ],
)
def test_envelope_is_read_wherever_it_stands(text: str) -> None:
    assert_read_in_order(text)


@pytest.mark.parametrize(
    "mention",
    [
        pytest.param("I will end with a `<goop_report>` block.", id="inline_code"),
        pytest.param(
            "I will end with a ``<goop_report version=`0.1.6`>`` block.", id="double_backticks"
        ),
        pytest.param(
            'I write `<goop_report version="0.1.6"><status>COMPLETE</status>` first.',
            id="code_with_child",
        ),
        pytest.param("Every response ends with a <goop_report> XML block.", id="plain"),
        pytest.param("<goop_report> is what follows.", id="plain_at_the_start_of_a_line"),
        pytest.param("- <goop_report>: the block that follows", id="list_item"),
        pytest.param("> <goop_report> was asked for.", id="quotation"),
        pytest.param("I end with <goop_report", id="without_a_bracket"),
        pytest.param("<!-- <goop_report> goes here -->", id="comment"),
        pytest.param(f"<!--\n{DRAFT}\n-->", id="whole_draft_in_a_comment"),
        pytest.param(f"<![CDATA[\n{DRAFT}\n]]>", id="whole_draft_in_cdata"),
        pytest.param("The tag </goop_report> will close it.", id="end_tag"),
        pytest.param("A <goop_reports> or <goop_report_v2> is something else.", id="other_names"),
        pytest.param("Escaped it would be &lt;goop_report&gt;.", id="escaped"),
        pytest.param("<GoopReport> and goop_report are no tags of ours.", id="other_spelling"),
    ],
)
def test_mention_of_the_tag_before_the_envelope_is_no_envelope(mention: str) -> None:
    assert_read_in_order(f"{mention}\n\n{fenced(EXECUTOR)}")


@pytest.mark.parametrize(
    "mention",
    [
        "The `<goop_report>` above is final.",
        "The <goop_report> above is final.",
        "<goop_report> above is final.",
        "I closed it with `</goop_report>`.",
        "I closed it with </goop_report>.",
        "<!-- <goop_report> -->",
        "Done <3",
        "a && b || c > d",
        "```python\nprint(1)\n```",
    ],
)
def test_text_after_the_envelope_is_a_warning_and_the_envelope_still_counts(mention: str) -> None:
    text = f"{fenced(EXECUTOR)}\n{mention}\n"

    for verdict in judge_both(text):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == {"envelope/not-at-end"}
        finding = the_finding(verdict, "envelope/not-at-end")
        assert finding.line == text[: text.index(mention)].count("\n") + 1
        assert finding.column == 1


def test_start_tag_mentioned_before_and_end_tag_mentioned_after_do_not_pair() -> None:
    text = (
        f"I open it with <goop_report> below.\n\n{fenced(EXECUTOR)}\nI closed it with"
        " </goop_report> above.\n"
    )

    for verdict in judge_both(text):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == {"envelope/not-at-end"}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param("Every reply now ends with a <goop_report> block.", id="start_tag"),
        pytest.param("Every reply now ends with a `<goop_report>` block.", id="start_tag_in_code"),
        pytest.param("Documented <goop_report> and <agent_request>.", id="two_tags"),
    ],
)
def test_tag_mentioned_in_the_summary_is_text_and_gets_escaped(words: str) -> None:
    lenient, strict = judge_both(fenced(changed(EXECUTOR, (SUMMARY, words))))

    assert weighty_rules(lenient) == {"xml/unescaped"}
    assert report_of(lenient).summary == words
    assert report_of(lenient).handoff == EXECUTOR_REPORT.handoff
    assert lenient.accepted
    assert not strict.accepted


def test_end_tag_in_code_in_the_summary_never_cuts_the_report_short() -> None:
    words = "Documented that `</goop_report>` closes the block."

    lenient, _ = judge_both(fenced(changed(EXECUTOR, (SUMMARY, words))))

    assert not lenient.accepted or report_of(lenient).summary == words


@pytest.mark.parametrize(
    "quoted", [DRAFT, DRAFT.replace("\n", "\n  "), f"```bash\nls\n```\n{DRAFT}"]
)
def test_envelope_quoted_in_cdata_inside_the_envelope_is_content(quoted: str) -> None:
    text = changed(EXECUTOR, (SUMMARY, f"<![CDATA[Was: {quoted}]]>"))

    for verdict in judge_both(text):
        assert weighty_rules(verdict) == set()
        assert len(verdict.candidates) == 1
        assert "<goop_report version=" in str(report_of(verdict).summary)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("<evidence>", "</evidence>\n  <handoff>", id="in_an_extension"),
        pytest.param(
            "<evidence>\nBefore:\n",
            "\n</evidence>\n  <handoff>",
            id="in_an_extension_on_lines_of_its_own",
        ),
    ],
)
def test_whole_report_quoted_inside_the_report_is_never_taken_for_it(
    before: str, after: str
) -> None:
    for verdict in judge_both(fenced(changed(EXECUTOR, ("<handoff>", f"{before}{DRAFT}{after}")))):
        assert verdict.envelope is None or report_of(verdict).summary == SUMMARY


def test_whole_report_quoted_in_the_summary_is_never_taken_for_it() -> None:
    for verdict in judge_both(fenced(changed(EXECUTOR, (SUMMARY, f"It was {DRAFT} before.")))):
        assert verdict.envelope is None or report_of(verdict).summary != "Only a draft."


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps({"report": EXECUTOR}), id="double_quotes"),
        pytest.param(json.dumps({"report": EXECUTOR.replace('"', "'")}), id="single_quotes"),
        pytest.param(
            json.dumps({"a": [{"b": EXECUTOR.replace('"', "'").replace("\n", "")}]}, indent=2),
            id="nested",
        ),
        pytest.param(
            f"```json\n{json.dumps({'report': EXECUTOR.replace(chr(34), chr(39))})}\n```\n",
            id="fenced",
        ),
    ],
)
def test_envelope_inside_a_string_of_a_json_object_is_content(text: str) -> None:
    for verdict in judge_both(text):
        assert not verdict.accepted
        assert verdict.envelope is None


def test_root_that_closes_itself_is_a_mention_and_nothing_that_was_cut_off() -> None:
    for verdict in judge_both(f"{fenced(EXECUTOR)}\n<goop_report/>\n"):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == {"envelope/not-at-end"}

    for verdict in judge_both("Done.\n\n<goop_report/>\n"):
        assert not verdict.accepted
        assert "envelope/truncated" not in weighty_rules(verdict)


def test_envelope_in_a_comment_inside_the_envelope_is_content() -> None:
    assert_read_in_order(changed(EXECUTOR, ("<state>", f"<!-- was: {DRAFT} --><state>")))


def test_fence_inside_an_element_is_text() -> None:
    words = "Run this:\n```bash\nmake test\n```\nand read on"

    for verdict in judge_both(fenced(changed(EXECUTOR, (SUMMARY, words)))):
        assert weighty_rules(verdict) == set()
        assert "make test" in str(report_of(verdict).summary)
        assert report_of(verdict).handoff == EXECUTOR_REPORT.handoff


@pytest.mark.parametrize(
    "earlier",
    [
        pytest.param(fenced(TEMPLATE), id="template_in_a_fence"),
        pytest.param(TEMPLATE, id="bare_template"),
        pytest.param(
            f"````markdown\n```xml\n{TEMPLATE}\n```\n````", id="template_in_a_nested_fence"
        ),
        pytest.param(fenced(DRAFT), id="draft"),
    ],
)
def test_last_of_several_envelopes_counts(earlier: str) -> None:
    text = f"{earlier}\n\nAnd now the report:\n\n{fenced(EXECUTOR)}"

    for verdict in judge_both(text):
        assert verdict.envelope == EXECUTOR_REPORT
        assert weighty_rules(verdict) == {"envelope/multiple"}


def test_last_envelope_counts_even_when_an_earlier_one_is_in_better_order() -> None:
    text = f"{fenced(EXECUTOR)}\n{fenced(changed(PLANNER, ('goop-planner', 'planner')))}"

    for verdict in judge_both(text):
        assert not verdict.accepted
        assert "goop_report/bad-agent-name" in weighty_rules(verdict)
        assert report_of(verdict).summary == report_of(judge(PLANNER)).summary


def test_all_candidates_are_listed_with_their_line_and_the_reason() -> None:
    text = f"<thinking>\n{DRAFT}\n</thinking>\n{fenced(TEMPLATE)}{fenced(DRAFT)}{fenced(EXECUTOR)}"

    verdict = judge(text)

    lines = [
        number for number, line in enumerate(text.split("\n"), 1) if line.startswith("<goop_report")
    ]
    assert [candidate.line for candidate in verdict.candidates] == lines
    assert [candidate.chosen for candidate in verdict.candidates] == [False, False, False, True]
    assert {candidate.protocol for candidate in verdict.candidates} == {"goop_report"}
    reasons = [candidate.why for candidate in verdict.candidates]
    assert all(reasons)
    assert len({reasons[0], reasons[1], reasons[3]}) == 3, (
        "thinking, earlier and chosen are distinguished"
    )
    assert reasons[1] == reasons[2]


def test_candidates_name_the_last_sixty_four_at_most() -> None:
    verdict = judge(f"{DRAFT}\n" * 99 + EXECUTOR)

    assert len(verdict.candidates) == 64
    assert verdict.candidates[-1].chosen
    assert verdict.envelope == EXECUTOR_REPORT


@pytest.mark.parametrize("tag", THINKING_TAGS)
def test_draft_in_a_thinking_block_is_passed_over_with_an_info(tag: str) -> None:
    text = f"<{tag}>\nI could write:\n{fenced(DRAFT)}\n</{tag}>\n\n{fenced(EXECUTOR)}"

    assert_read_in_order(text)
    assert rules_of(judge(text), Severity.INFO) == {"envelope/in-thinking"}


@pytest.mark.parametrize("tag", THINKING_TAGS)
def test_envelope_only_in_a_thinking_block_is_no_envelope(tag: str) -> None:
    for verdict in judge_both(f"<{tag}>\n{EXECUTOR}\n</{tag}>\n\nAll done.\n"):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}
        assert verdict.envelope is None
        assert [candidate.chosen for candidate in verdict.candidates] == [False]


def test_closing_tag_alone_ends_thinking_that_began_with_the_text() -> None:
    text = f"Let me think.\n{fenced(DRAFT)}\nGood.\n</think>\n\n{fenced(EXECUTOR)}"

    assert_read_in_order(text)
    assert rules_of(judge(text), Severity.INFO) == {"envelope/in-thinking"}


def test_envelope_before_a_lone_closing_tag_is_only_thought() -> None:
    for verdict in judge_both(f"{EXECUTOR}\n</think>\n\nAll done.\n"):
        assert rules_of(verdict, Severity.ERROR) == {"goop_report/no-envelope"}


@pytest.mark.parametrize(
    "mention",
    [
        "I shall <think> first.",
        "The tag `<thinking>` is for thoughts, `</thinking>` ends them.",
        "<!-- </think> -->",
        "The words think and reasoning are no tags.",
        "<thinker>A statue</thinker>",
    ],
)
def test_mention_of_a_thinking_tag_hides_nothing(mention: str) -> None:
    assert_read_in_order(f"{mention}\n\n{fenced(EXECUTOR)}")


def test_thinking_tag_mentioned_in_the_summary_hides_nothing() -> None:
    words = "The parser now drops `<think>` and `</think>` blocks."

    lenient, _ = judge_both(fenced(changed(EXECUTOR, (SUMMARY, words))))

    assert report_of(lenient).summary == words
    assert weighty_rules(lenient) == {"xml/unescaped"}


def test_two_thinking_blocks_with_drafts_are_both_passed_over() -> None:
    block = f"<thinking>\n{DRAFT}\n</thinking>\n"

    assert_read_in_order(f"{block}Let me look again.\n{block}{EXECUTOR}")


def test_envelope_is_found_after_a_megabyte_of_prose() -> None:
    prose = "The quick brown fox reads a < b && `c` and goes on.\n" * 20_000

    verdict = judge(prose + fenced(EXECUTOR))

    assert len(prose) > 1_000_000
    assert verdict.envelope == EXECUTOR_REPORT
    assert verdict.candidates[0].line == 20_004


@pytest.mark.parametrize(
    "text",
    ["", " \n", "Done. All tests pass.", "## TASK COMPLETE", "\ufeff", "\ud800", "```xml\n```"],
)
def test_reply_without_an_envelope_is_rejected_by_the_rule_of_what_was_asked_for(text: str) -> None:
    for protocol, rule in (
        ("goop_report", "goop_report/no-envelope"),
        ("auto", "envelope/no-envelope"),
    ):
        verdict = validate(text, protocol=protocol)

        assert [finding.rule for finding in verdict.findings] == [rule]
        assert verdict.protocol is None
        assert verdict.version is None
        assert verdict.envelope is None
        assert verdict.candidates == ()


def test_prose_around_the_envelope_stays_at_hand() -> None:
    text = f"Words before.\n{EXECUTOR}\nWords after.\n"

    verdict = judge(text)

    assert verdict.span is not None
    start, end = verdict.span
    assert verdict.read_text[:start] == "Words before.\n"
    assert verdict.read_text[start:end] == EXECUTOR
    assert verdict.read_text[end:] == "\nWords after.\n"
