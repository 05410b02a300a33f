"""Good envelopes in odd places, of either syntax."""

import html
from typing import Final

from goop_mcp.testing.corruptions import Corruption, placed, refused
from goop_mcp.testing.good_replies import GoodReply, fenced, unfenced

__all__ = ["JSON_PLACEMENTS", "LONG_PROSE", "PLACEMENTS", "XML_PLACEMENTS"]

# A single sentence, repeated: the corpus stores it once, with its count.
LONG_PROSE: Final = "We looked at every file and wrote down what we saw. "
_MEGABYTE: Final = 1_000_000

_OTHER_FENCE: Final = "```python\nprint({'ok': 1 < 2})\n```\n\n"
# By the syntax of the good reply: the other envelope is of a protocol in the other syntax.
_OTHER_PROTOCOL: Final = {
    "xml": (
        '{"status": "success", "summary": "Another agent said so", "deliverables": [{"path":'
        ' "a.md"}]}'
    ),
    "json": "<goop_report><status>COMPLETE</status></goop_report>",
}


def _as_example(good: GoodReply) -> str:
    quoted = "".join(f"> {line}\n" for line in good.draft.splitlines())
    return f"The task shows this example:\n\n{quoted}\nMine is:\n\n{good.fenced}"


PLACEMENTS: Final[tuple[Corruption, ...]] = (
    placed("bare", "the envelope and nothing else", lambda good: good.envelope),
    placed("prose_and_fence", "prose, then the envelope in a fence", lambda good: good.fenced),
    placed(
        "prose_without_fence",
        "prose, then the envelope without a fence",
        lambda good: unfenced(good.envelope),
    ),
    placed(
        "think_block_with_draft",
        "a draft in a think block, then the answer",
        lambda good: f"<think>\nPerhaps so:\n{good.draft}\n</think>\n\n{good.fenced}",
        never="draft taken",
    ),
    placed(
        "draft_then_final",
        "a draft in a fence, then the answer",
        lambda good: f"First a draft:\n\n```{good.syntax}\n{good.draft}\n```\n\n" + good.fenced,
        never="draft taken",
    ),
    placed(
        "unclosed_fence", "the fence is never closed", lambda good: good.fenced.rstrip().rstrip("`")
    ),
    placed(
        "other_fence_first",
        "code in another language comes first",
        lambda good: _OTHER_FENCE + good.fenced,
    ),
    placed(
        "lone_think_end",
        "a draft, a lone end of thinking, then the answer",
        lambda good: f"Perhaps so:\n{good.draft}\nNo, better.\n</think>\n\n{good.fenced}",
        never="draft taken",
    ),
    placed("quoted_example", "an example is quoted first", _as_example, never="example taken"),
    placed(
        "fence_of_another_name",
        "the fence says that it holds text",
        lambda good: fenced(good.envelope, "text"),
    ),
    placed(
        "byte_order_mark",
        "a byte order mark before the envelope",
        lambda good: "\ufeff" + good.envelope,
    ),
    placed(
        "windows_line_ends",
        "lines end as on Windows",
        lambda good: good.fenced.replace("\n", "\r\n"),
    ),
    placed(
        "long_prose", "a megabyte of prose comes first", lambda good: long_prose() + good.fenced
    ),
    placed(
        "indented_by_host",
        "a host indents the reply and adds lines of its own",
        lambda good: (
            "[Subagent hand-back]\n"
            + "".join(f"  {line}\n" for line in good.fenced.splitlines())
            + "agentId: a1b2c3\n<usage>tokens: 812</usage>\n"
        ),
    ),
    refused(
        "two_protocols",
        "envelopes of two protocols, and neither ends the text",
        lambda good: (
            f"{good.fenced}\nThe other agent had said:\n\n{_OTHER_PROTOCOL[good.syntax]}\n\n"
            "Both hold, I think.\n"
        ),
        "envelope/ambiguous",
        never="one of two taken",
    ),
    refused(
        "no_envelope",
        "prose only",
        lambda good: "The work is done and the tests pass.\n" + good.narrative,
        "no-envelope",
        never="made up from nothing",
    ),
)

XML_PLACEMENTS: Final[tuple[Corruption, ...]] = (
    placed(
        "prose_after",
        "a line of prose with a < comes after",
        lambda good: f"{good.fenced}\nDone <3\n",
    ),
    placed(
        "escaped_by_host",
        "a host escapes the reply",
        lambda good: (
            f"<task-notification>\n<result>{html.escape(good.fenced)}</result>\n"
            "</task-notification>\n"
        ),
    ),
)

JSON_PLACEMENTS: Final[tuple[Corruption, ...]] = (
    placed(
        "prose_after",
        "prose with braces comes after",
        lambda good: f"{good.fenced}\nUse {{name}} and {{}} there.\n",
    ),
)


def long_prose() -> str:
    """Return a megabyte of prose and an empty line."""
    return LONG_PROSE * (_MEGABYTE // len(LONG_PROSE)) + "\n\n"
