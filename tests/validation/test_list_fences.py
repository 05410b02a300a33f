"""Fences in list items are those that CommonMark sees; markdown-it is asked (D-07)."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from goop_mcp import validate
from goop_mcp.validation.fences import common_indentation, fence_spans
from goop_mcp.validation.list_fences import fences_in_lists
from goop_mcp.validation.samples import REQUEST_PROMPT
from tests.requirements import requirement

MORE = settings(max_examples=10 * settings().max_examples)
PIECES = (
    "- a",
    "* b",
    "+",
    "-",
    "1. c",
    "10. d",
    "2) e",
    "text",
    "more text",
    "# head",
    "---",
    "- - f",
    "> quote",
)
FENCES = (
    "```xml",
    "```",
    "~~~",
    "````",
    "- ```xml",
    "10. ~~~",
    "``` a`b",
    "1.  ```",
    "-     ```",
    "~~~~ x",
)
LINES = st.builds(
    lambda indent, piece: " " * indent + piece if piece else "",
    st.sampled_from([0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
    st.sampled_from(["", "", *PIECES, *FENCES, *FENCES]),
)
DOCUMENTS = st.lists(LINES, min_size=1, max_size=14).map(lambda lines: "\n".join(lines) + "\n")
PARSER = MarkdownIt("commonmark")
XML = REQUEST_PROMPT[
    REQUEST_PROMPT.index("<agent_request") : REQUEST_PROMPT.index("</agent_request>") + 16
]


def fences_of_the_parser(text: str) -> list[tuple[int, str]]:
    """Return the line of the content and the info string of each fence, blockquotes aside."""
    return [
        (token.map[0] + 1, token.info.strip())
        for token in PARSER.parse(text)
        if token.type == "fence" and token.map is not None
    ]


def is_read_by_commonmark(text: str) -> bool:
    """Return whether the parser follows CommonMark, where an indented line never ends a paragraph.

    The parser lets one that looks like a heading or a list do so in a list item.
    """
    tokens = PARSER.parse(text)
    ends = {token.map[1] for token in tokens if token.type == "inline" and token.map is not None}

    return not any(
        token.type == "code_block" and token.map is not None and token.map[0] in ends
        for token in tokens
    )


def fences_of_ours(text: str, spans: list[tuple[int, int, str]]) -> list[tuple[int, str]]:
    return [(text.count("\n", 0, start), info) for start, _, info in spans]


@MORE
@given(DOCUMENTS)
@example("10. Do this:\n\n    ```xml\n    x\n    ```\n")
@example("- a\nb\n  ```\n  x\n")
@example("text\n10. d\n    ```\n")
@example("-\n\n  ```\n")
@example("- a\n\n      ```\n")
@example("1. a\n   - b\n     ```\n   text\n```\n")
def test_fences_of_lists_are_those_of_commonmark(text: str) -> None:
    assume(is_read_by_commonmark(text))

    assert fences_of_ours(text, fences_in_lists(text, 0)) == fences_of_the_parser(text)


@MORE
@given(DOCUMENTS)
def test_fences_of_any_text_are_those_of_commonmark(text: str) -> None:
    assume(is_read_by_commonmark(text))
    assume(common_indentation(text) == 0)  # what indents all lines is a host's doing, and taken off

    assert fences_of_ours(text, fence_spans(text)) == fences_of_the_parser(text)


@MORE
@given(DOCUMENTS)
def test_content_of_a_fence_ends_where_commonmark_ends_it(text: str) -> None:
    assume(is_read_by_commonmark(text))
    ends = [
        token.map[0] + 1 + token.content.count("\n")
        for token in PARSER.parse(text)
        if token.type == "fence" and token.map is not None
    ]
    ours = [text[:end].rstrip("\n").count("\n") + 1 for _, end, _ in fences_in_lists(text, 0)]

    assert len(ours) == len(ends)
    for mine, theirs in zip(ours, ends, strict=True):
        assert mine <= theirs


def in_item(marker: str, indent: int) -> str:
    margin = " " * indent
    block = f"```xml\n{XML}\n```"
    return f"# Task\n\n{marker} Hand this over:\n\n" + "".join(
        f"{margin}{line}\n" for line in block.split("\n")
    )


@requirement("H-01")
@pytest.mark.parametrize(
    ("marker", "indent"),
    [("10.", 4), ("10.", 5), ("-", 2), ("-", 4), ("1.", 3), ("100)", 5), ("*", 5)],
)
def test_request_fenced_in_a_list_item_is_fenced(marker: str, indent: int) -> None:
    for mode in ("lenient", "strict"):
        verdict = validate(in_item(marker, indent), mode=mode)

        assert verdict.accepted, verdict.feedback
        assert not [each for each in verdict.findings if each.rule.startswith("agent_request/")]


@pytest.mark.parametrize(("marker", "indent"), [("10.", 8), ("-", 6), ("text", 4)])
def test_request_in_indented_code_is_not_fenced(marker: str, indent: int) -> None:
    rules = {each.rule for each in validate(in_item(marker, indent)).findings}

    assert "agent_request/unfenced" in rules


def test_item_that_ends_closes_its_fence() -> None:
    text = "- a\n\n  ```\n  x\nNo more code.\n\n```xml\ny\n```\n"

    assert [info for _, _, info in fence_spans(text)] == ["", "xml"]


def test_a_thousand_items_in_one_line_take_no_time() -> None:
    text = "- " * 100_000 + "\n" + "  ```\n" * 100_000

    assert fence_spans(text)
