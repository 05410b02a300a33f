"""Where a request stands: fences of every kind, prose around, other XML, several requests."""

import pytest

from tests.protocols.agent_request.prompts import (
    PROMPT,
    changed,
    judge,
    judge_both,
    read_case,
    request_of,
    rules_of,
    the_finding,
    weighty_rules,
)
from tests.requirements import requirement

XML = PROMPT[
    PROMPT.index("<agent_request") : PROMPT.index("```\n", PROMPT.index("</agent_request>"))
]
POM = "```xml\n<project><modelVersion>4.0.0</modelVersion></project>\n```\n"


def fenced(opening: str, closing: str, *, margin: str = "") -> str:
    block = f"{opening}\n{XML}{closing}\n"
    return (
        "# Task: T\n\n" + "".join(f"{margin}{line}\n" for line in block.splitlines()) + "\nProse.\n"
    )


@requirement("H-27")
@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param(fenced("```xml", "```"), id="three_backticks"),
        pytest.param(fenced("`````xml", "`````"), id="five_backticks"),
        pytest.param(fenced("```xml", "`````"), id="longer_end"),
        pytest.param(fenced("~~~xml", "~~~"), id="tildes"),
        pytest.param(fenced("``` XML", "```"), id="upper_case_with_a_blank"),
        pytest.param(fenced('```xml title="handoff"', "```"), id="more_words_after_the_language"),
        pytest.param(fenced("```xml", "```", margin="   "), id="indented"),
        pytest.param(fenced("```xml", "```").replace("\n", "\r\n"), id="windows_line_ends"),
        pytest.param(fenced("```xml", "").replace("\nProse.\n", ""), id="never_closed"),
        pytest.param(f"````markdown\n{PROMPT}````\n", id="inside_a_markdown_fence"),
        pytest.param(f"```markdown\n{PROMPT}", id="inside_a_markdown_fence_of_the_same_length"),
        pytest.param("\ufeff" + PROMPT, id="byte_order_mark"),
        pytest.param(
            PROMPT + "\nUse ```xml in prose, `<agent_request>` and more.\n", id="mentions_in_prose"
        ),
        pytest.param(
            changed(PROMPT, ("```xml\n", '```xml\n<?xml version="1.0"?>\n<!-- a <b> -->\n')),
            id="xml_declaration",
        ),
    ],
)
def test_a_request_in_any_fence_marked_xml_is_read_without_a_word(prompt: str) -> None:
    for verdict in judge_both(prompt):
        assert weighty_rules(verdict) == set()
        assert request_of(verdict).target_agent == "backend-agent"


@requirement("H-27")
def test_a_fence_inside_a_longer_fence_is_content() -> None:
    request = request_of(judge(read_case("fence_in_details")))

    assert request.task_details is not None
    assert "```" in request.task_details


@requirement("H-27")
def test_a_fence_that_closes_the_outer_one_is_read_over() -> None:
    lenient, strict = judge_both(read_case("fence_in_details_3bt"))

    assert rules_of(lenient) == ["agent_request/fence-collision"]
    assert lenient.accepted
    assert not strict.accepted
    assert request_of(lenient).task_details == "Run:\n```bash\nmake test\n```\nand read the log"
    assert request_of(lenient).paths == ("result.json",)
    assert [(repair.before, repair.after) for repair in lenient.repairs] == [("```xml", "````xml")]


@requirement("H-19")
def test_a_fence_of_another_language_and_a_missing_fence_are_distinguished() -> None:
    for name, rule in (("no_lang_fence", "fence-language"), ("unfenced", "unfenced")):
        lenient, strict = judge_both(read_case(name))

        assert rules_of(lenient) == [f"agent_request/{rule}"]
        assert lenient.accepted
        assert not strict.accepted
        assert request_of(lenient).mode == "spawn"


def test_the_language_that_was_found_is_named() -> None:
    finding = the_finding(judge(fenced("```html", "```")), "agent_request/fence-language")

    assert finding.message == "the fence around the request is marked as html; expected xml"
    assert finding.line == 3


@requirement("H-26")
def test_an_xml_block_of_another_kind_is_no_handoff() -> None:
    verdict = judge(read_case("foreign_xml_only"))

    assert verdict.accepted
    assert verdict.protocol is None
    assert rules_of(verdict) == ["agent_request/no-envelope", "envelope/foreign-block"]
    finding = the_finding(verdict, "envelope/foreign-block")
    assert (finding.line, finding.column, finding.found) == (6, 1, "<project>")


@requirement("H-26")
@pytest.mark.parametrize("prompt", [POM + "\n" + PROMPT, PROMPT + "\n" + POM])
def test_a_request_next_to_another_xml_block_is_read(prompt: str) -> None:
    verdict = judge(prompt)

    assert rules_of(verdict) == ["envelope/foreign-block"]
    assert request_of(verdict).workflow == "TDD"


def test_xml_in_a_fence_without_the_word_is_nobodys_business() -> None:
    assert rules_of(judge(PROMPT + "\n```\n<project/>\n```\n")) == []


@requirement("H-30")
def test_a_prompt_in_prose_is_accepted_with_a_warning() -> None:
    for verdict in judge_both(read_case("1_1_freeform")):
        assert verdict.accepted
        assert verdict.envelope is None
        assert rules_of(verdict) == ["agent_request/no-envelope"]


def test_a_near_miss_is_named() -> None:
    finding = the_finding(
        judge("# T\n\n<agent_handoff>x</agent_handoff>"), "agent_request/no-envelope"
    )

    assert "<agent_handoff>" in finding.message


def test_two_requests_in_two_fences_are_an_error_of_their_own() -> None:
    for verdict in judge_both(PROMPT + PROMPT):
        finding = the_finding(verdict, "agent_request/multiple-requests")
        assert rules_of(verdict) == ["agent_request/multiple-requests"]
        assert "others on line 6" in finding.message
        assert finding.line == PROMPT.count("\n") + 6
        assert [candidate.chosen for candidate in verdict.candidates] == [False, True]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("</agent_request>\n", "</agent_request>\nand so on\n", 21),
        ("</agent_request>\n", "</agent_request>\n<server/>\n", 21),
        ("```xml\n", "```xml\nHere it is:\n", 6),
    ],
)
def test_a_fence_is_read_as_one_document(old: str, new: str, line: int) -> None:
    for verdict in judge_both(changed(PROMPT, (old, new))):
        assert rules_of(verdict) == ["xml/malformed"]
        assert verdict.findings[0].line == line


def test_text_before_the_request_is_seen_where_a_fence_in_it_closes_the_outer_one() -> None:
    details = "<task_details>Run:\n```bash\nmake test\n```\n</task_details>"
    block = XML.replace(
        XML[XML.index("<task_details>") : XML.index("</task_details>") + 15], details
    )

    verdict = judge(f"```xml\nSee below.\n{block}```\n")

    assert {"agent_request/fence-collision", "xml/malformed"} <= set(rules_of(verdict))


def test_two_roots_in_one_fence_are_malformed() -> None:
    (finding,) = judge(read_case("8_3_versions_fragment")).findings

    assert finding.rule == "xml/malformed"
    assert finding.line == 9
    assert "second <agent_request> in one fence" in finding.message


@requirement("H-28")
@pytest.mark.parametrize("before", [0, 1, 40])
def test_the_line_of_a_finding_is_the_line_in_the_prompt(before: int) -> None:
    prompt = "prose\n" * before + changed(PROMPT, ("<mode>spawn", "<mode>fork"))

    finding = the_finding(judge(prompt), "agent_request/unknown-mode")
    assert prompt.split("\n")[(finding.line or 0) - 1] == "  <mode>fork</mode>"
    assert finding.column == len("  <mode>") + 1


def test_a_request_that_a_host_escaped_is_read() -> None:
    escaped = (
        XML.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    )
    verdict = judge(
        f"<task-notification>\n<result>```xml\n{escaped}```</result>\n</task-notification>"
    )

    assert request_of(verdict).workflow == "TDD"
    assert "envelope/host-transformed" in rules_of(verdict)


def test_a_request_in_a_thinking_block_is_a_draft() -> None:
    verdict = judge(f"<thinking>\n{PROMPT}</thinking>\n\n{PROMPT}")

    assert rules_of(verdict) == ["envelope/in-thinking"]


def test_nothing_is_completed_when_the_request_stops_in_the_middle() -> None:
    cut = PROMPT[: PROMPT.index("</task_details>")]

    for verdict in judge_both(cut):
        assert rules_of(verdict) == ["envelope/truncated"]
        assert request_of(verdict).partial
        assert verdict.repairs == ()


def test_only_the_missing_end_of_the_root_is_form() -> None:
    cut = PROMPT[: PROMPT.index("</agent_request>")]

    lenient, strict = judge_both(cut)
    assert rules_of(lenient) == ["envelope/root-not-closed"]
    assert lenient.accepted
    assert not strict.accepted
