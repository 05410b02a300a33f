"""Rules about `<summary>`."""

import re

from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList
from goop_mcp.validation.samples import COMPLETE_REPLY

__all__ = ["SUMMARY_RULES", "count_sentences"]

_MOST_SENTENCES = 2
_END = re.compile(
    r"[.!?。！？](?:(?<=[.!?])['\")\]]*+\s++(?=[\"'(\[`*]*+[A-Z0-9])|(?<=[。！？])(?=[^\s。！？]))"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|fig|mr|ms|dr)|^\d+|\s\d+|\b[A-Z])\Z",
    re.IGNORECASE,
)


def count_sentences(text: str) -> int:
    """Return the number of sentences of `text`; abbreviations and list numbers end none."""
    text = text.strip()
    if not text:
        return 0
    return 1 + sum(
        1
        for end in _END.finditer(text)
        if not _ABBREVIATION.search(text, max(0, end.start() - 10), end.start())
    )


SUMMARY_RULES = RuleList()


@SUMMARY_RULES.rule(
    id="goop_report/summary-too-long",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="more than two sentences",
    why=(
        "The summary goes into the chronicle and into other agents' contexts; the prose of the"
        " reply holds the rest."
    ),
    fix="Say in one or two sentences what was accomplished; leave the rest in the prose.",
    requirements=("G-21",),
    example=Example(
        good="<summary>Added the login endpoint.</summary>",
        bad="<summary>Read the code. Added the endpoint. Ran the tests.</summary>",
        reply=COMPLETE_REPLY,
    ),
)
def _summary_too_long(report: Report, _expected: Expectations) -> Hit | None:
    # "1-2 sentence summary of what was accomplished" (Response Envelope Structure)
    if not report.summary or (count := count_sentences(report.summary)) <= _MOST_SENTENCES:
        return None
    return Hit(
        message=f"summary has {count} sentences; expected 1 or 2",
        path="/goop_report/summary",
        found=excerpt(report.summary, 80),
    )
