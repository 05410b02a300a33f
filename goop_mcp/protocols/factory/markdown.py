"""Factory replies in plain Markdown, read for backward compatibility (F-25, D-58).

Four openings are recognised, and without one of them a line or a heading with the status or the
verdict, where a section of such a reply follows. What Markdown cannot say stays absent; question
ids are given by position.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from goop_mcp.protocols.factory.claims import unchecked_files
from goop_mcp.protocols.factory.reading import read_reply
from goop_mcp.protocols.factory.rules import MODEL_RULES
from goop_mcp.protocols.factory.rules.structure import (
    MARKDOWN_FORBIDDEN,
    MARKDOWN_REPLY,
    MISSING_FIELD,
)
from goop_mcp.protocols.factory.rules.values import PLACEHOLDER_LEFT
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.extraction import Block, Regions
from goop_mcp.validation.families import ParseResult
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.json_extraction import choose_last
from goop_mcp.validation.json_reading import written
from goop_mcp.validation.paths import bounds_of
from goop_mcp.validation.quotes import hide_unspoken
from goop_mcp.validation.rules import run_checks
from goop_mcp.validation.safe_json import JsonObjectValue

__all__ = ["FORM", "find_markdown", "read_markdown"]

FORM = "factory_markdown"

# The four openings of the specification, each alone on its line. Possessive quantifiers keep the
# search linear in long runs of blanks and marks.
_OPENING = re.compile(
    r"^[ \t#>*_]*+(?:"
    r"(?P<success>Task complete\.)|(?P<questions>Task paused [-–—] clarification needed\.)"
    r"|(?P<failure>Task failed [-–—] unable to proceed\.)|Review complete [-–—]"
    r" (?P<verdict>PASS|BLOCKING)(?: ISSUES?)?\b\.?"
    r")[*_ \t]*\r?$",
    re.MULTILINE,
)
# `**Status:** success`, `## Verdict: BLOCKING`, `## Task complete`, or a word below its heading.
_USUAL = re.compile(
    r"^[ \t]{0,3}+(?:"
    r"(?:[-*+][ \t]++)?(?:#{1,6}[ \t]++)?[*_]*+(?:Status|Verdict)[*_]*+[ \t]*+:[*_ \t]*+"
    r"|#{1,6}[ \t]++[*_]*+(?:Status|Verdict)[*_: \t]*+\r?\n(?:[ \t]*+\r?\n)?[*_ \t]*+"
    r"|#{1,6}[ \t]++[*_]*+(?P<title>Task )(?=complete)"
    r")[`✅❌🚫]*+[ \t]*+"
    r"(?:(?P<status>success|failure|questions|(?(title)complete|(?!)))"
    r"|(?P<verdict>PASS|BLOCKING)(?: ISSUES?)?)\b[*_`.! \t]*+\r?$",
    re.MULTILINE | re.IGNORECASE,
)
_HEADING = re.compile(
    r"^[ \t]{0,3}(?:(?P<marks>#{1,6}[ \t]+)|)[*_]*(?P<name>[A-Z][A-Za-z ]{2,30}?)"
    r"(?: \([a-z-]{2,30}\))?(?:[*_]*:[*_]*[ \t]*|(?P<alone>[*_ \t]*\r?)$)",
    re.MULTILINE,
)
_DETAIL = re.compile(
    r"^[ \t]*+(?:[-*+][ \t]++)?[*_]*+(?P<name>Resolution|Fix|Category|Description)[*_]*+"
    r":[*_]*+[ \t]*+(?P<text>[^\n]++)$",
    re.MULTILINE | re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?P<does>return|proceed) to (?:the )?(?P<to>architect|engineer|build)\b", re.IGNORECASE
)
_ITEM = re.compile(
    r"^(?P<indent>[ \t]*+)(?:[-*+]|\d{1,3}[.)])[ \t]++(?P<text>[^\n]++)$", re.MULTILINE
)
# A path in backticks, a slot of the template, or the first token. A slot is read as the path, so
# that it is reported as template text.
_DELIVERABLE = re.compile(
    r"`(?P<quoted>[^`\n]+)`|(?P<slot>\[[^\[\]\n]*\](?!\()|<[^<>\n]*>|\{[^{}\n]*\})|(?P<bare>\S+)"
)
_DASH = re.compile(r"\s*(?:[-–—:]+\s+|\()")
_ISSUE_ID = re.compile(r"\**(?P<id>[A-Z]\d{1,3})\**\s*[:.)–—-]+\**\s*")
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_NOTHING = frozenset({"", "none", "n/a", "-"})
_JUDGED = frozenset(
    {
        "factory/success-without-deliverable",
        "factory/no-questions",
        "factory/vague-summary",
        "factory/summary-contradicts-status",
        "factory/text-contradicts-status",
        "factory/blocking-without-issues",
        "factory/pass-with-issues",
    }
)
_RULES = tuple(rule for rule in MODEL_RULES if rule.id in _JUDGED)

_SECTIONS = {
    "deliverables": "deliverables",
    "files": "deliverables",
    "summary": "summary",
    "questions": "questions",
    "context": "context",
    "recommendation": "recommendation",
    "recommend": "recommendation",
    "attempted": "attempted",
    "error": "error",
    "reason": "error",
    "issue": "error",
    "cause": "error",
    "concerns": "concerns",
    "blocking issues": "blocking_issues",
    "issues": "blocking_issues",
}
_SHOWN_BY = {
    "success": {"deliverables"},
    "complete": {"deliverables"},
    "questions": {"questions"},
    "failure": {"error", "attempted"},
    None: {"blocking_issues", "concerns", "recommendation", "summary"},
}
"""Sections that show that a status, or a verdict, is that of a Factory reply."""


class _Section(Struct):
    """The text below a heading; `start` is its offset in the reply."""

    text: str
    start: int

    def items(self) -> Iterator[tuple[str, int, int]]:
        """Yield text, offset and indentation of each list item."""
        for item in _ITEM.finditer(self.text):
            if item["text"].strip().rstrip(".").lower() not in _NOTHING:
                yield (
                    item["text"].strip(),
                    self.start + item.start("text"),
                    len(item["indent"].expandtabs(4)),
                )

    def words(self) -> str | None:
        """Return the text without outer blanks; None when there is none."""
        return self.text.strip() or None


class _MarkdownLocator(Struct):
    positions: dict[str, int] = field(default_factory=dict)

    def locate(self, path: str, found: str | None) -> int | None:
        """Return the offset of the item at `path`, or of its container."""
        del found
        while path and path not in self.positions:
            path = path.rpartition("/")[0]
        return self.positions.get(path, 0)


def find_markdown(text: str) -> Block | None:
    """Return the last Markdown reply in `text` outside fences and thinking blocks, or None."""
    openings = list(_OPENING.finditer(text))
    if not openings:
        return _in_usual_form(text)

    # An opening inside a fence quotes the form. Of the others the last one counts, as agents draft
    # first, and it reaches to the end of the text because the form has no end mark.
    last = choose_last(_blocks(text, openings))

    return None if last is None else replace(last, end=len(text), complete=True)


def _blocks(text: str, openings: list[re.Match[str]]) -> list[Block]:
    """Return the openings as blocks, with a reason on those that the speaker does not say."""
    fences = Regions((start, end) for start, end, _ in fence_spans(text))
    starts = [each.start() + len(each[0]) - len(each[0].lstrip()) for each in openings]
    blocks = [
        Block(root=FORM, start=start, end=each.end(), complete=False)
        for start, each in zip(starts, openings, strict=True)
        if not fences.hold(start, each.end())
    ]
    return hide_unspoken(text, blocks)


def _in_usual_form(text: str) -> Block | None:
    """Return the reply from its first line with a status or verdict that has its sections."""
    lines = list(_USUAL.finditer(text))
    if not lines:
        return None

    spoken = [each for each in _blocks(text, lines) if each.why is None]
    found = _sections(text, spoken[0].end).keys() if spoken else set[str]()
    # Many texts have a status. Only sections of this protocol show that it is a reply.
    is_reply = any(
        not _SHOWN_BY[each["status"] and each["status"].lower()].isdisjoint(found) for each in lines
    )
    return replace(spoken[0], end=len(text), complete=True) if is_reply else None


def read_markdown(text: str, block: Block, expected: Expectations) -> ParseResult:
    """Convert the reply in `block` and judge what its form can hold (D-21)."""
    locator = _MarkdownLocator()
    # Half of a surrogate pair cannot be written as JSON.
    source = _HALF_PAIR.sub("\ufffd", text[block.start : block.end])
    values = _converted(source, locator)
    read = read_reply(values, bounds_of(expected))
    rule = MARKDOWN_FORBIDDEN if expected.markdown == "forbid" else MARKDOWN_REPLY
    form = source.partition("\n")[0].strip()
    named = rule.problem(
        "the reply is Markdown; expected the JSON object of the schema",
        offset=0,
        before=form,
        after=f'{{"status": "{values["status"]}", …}}',
    )
    # The form cannot hold every field of the JSON, so that most missing fields are not the agent's
    # error; only findings about values that it can hold are reported (D-21).
    problems = [
        named,
        *(
            problem
            for problem in read.problems
            if problem.rule.family == "path"
            or (problem.rule is MISSING_FIELD and problem.hit.path == "/error/message")
            or problem.rule.id == PLACEHOLDER_LEFT.id
        ),
    ]
    problems += [*run_checks(_RULES, read.model, expected), *unchecked_files(read.model, expected)]

    return ParseResult(
        start=block.start,
        problems=problems,
        locator=locator,
        envelope=read.model,
        repaired=written(values),
    )


def _converted(source: str, locator: _MarkdownLocator) -> JsonObjectValue:
    opening = _OPENING.match(source)
    sections = _sections(source, opening.end() if opening is not None else 0)
    stated = _stated(source, opening)
    # Of several words the one counts that lets less go on. A review that finds errors has succeeded
    # as a review: its opening has a verdict and no status.
    verdict = next((name for name in ("BLOCKING", "PASS") if name in stated), None)
    status = next((name for name in ("failure", "questions") if name in stated), "success")
    values: JsonObjectValue = {"status": status}
    if verdict is not None:
        values["verdict"] = verdict
    if status == "questions":
        values["questions"] = _questions(sections, locator)
    elif status == "failure":
        values["error"] = {}
        if "error" in sections:
            locator.positions["/error"] = sections["error"].start
            if message := sections["error"].words():
                values["error"] = {"message": message}
    else:
        values |= _delivered(sections, locator)

    for name in ("recommendation", "attempted"):
        if name in sections and (words := sections[name].words()):
            values[name] = words

    return values


def _delivered(sections: Mapping[str, _Section], locator: _MarkdownLocator) -> JsonObjectValue:
    """Return what a success or a review gives: summary, files, concerns and issues."""
    values: JsonObjectValue = {}
    if "summary" in sections and (summary := sections["summary"].words()):
        values["summary"] = summary
        locator.positions["/summary"] = sections["summary"].start
    if "deliverables" in sections:
        values["deliverables"] = _deliverables(sections["deliverables"], locator)
    if "concerns" in sections:
        values["concerns"] = [text for text, _, _ in sections["concerns"].items()]
    if "blocking_issues" in sections:
        values["blocking_issues"] = _issues(sections["blocking_issues"])
        locator.positions["/blocking_issues"] = sections["blocking_issues"].start
    wanted = sections.get("recommendation")
    if wanted is not None and (step := _NEXT.search(wanted.text)) is not None:
        values["next_action"] = f"{step['does']}_to_{step['to']}".lower()

    return values


def _stated(source: str, opening: "re.Match[str] | None") -> set[str]:
    """Return the words on status and verdict: that of the opening, and those in the usual forms."""
    groups: Mapping[str, str | None] = opening.groupdict() if opening is not None else {}
    stated = {name for name in ("questions", "failure") if groups.get(name)}
    stated.add(groups.get("verdict") or "")
    lines = list(_USUAL.finditer(source))
    spoken = {each.end for each in _blocks(source, lines) if each.why is None} if lines else ()
    for each in lines:
        if each.end() in spoken:
            # As they are written in JSON
            stated |= {(each["status"] or "").lower(), (each["verdict"] or "").upper()}

    return stated


def _issues(section: _Section) -> list[JsonObjectValue]:
    """Return the issues of a review; lines such as `Resolution: …` belong to the one before."""
    details = [
        (section.start + each.start("text"), each) for each in _DETAIL.finditer(section.text)
    ]
    found: list[JsonObjectValue] = []
    starts: list[int] = []
    for text, offset, _ in section.items():
        if _DETAIL.match(text) is not None:
            continue

        named = _ISSUE_ID.match(text)
        id, title = (named["id"], text[named.end() :]) if named else (f"B{len(found) + 1}", text)
        found.append({"id": id, "title": title})
        starts.append(offset)

    for offset, detail in details:
        at = bisect_right(starts, offset) - 1
        if at >= 0:
            name = detail["name"].lower()
            found[at].setdefault("resolution" if name == "fix" else name, detail["text"].strip())

    return found


def _sections(source: str, after: int) -> dict[str, _Section]:
    """Return the known sections; other headings end them, the last one ends with its paragraph."""
    headings = [
        each
        for each in _HEADING.finditer(source, after)
        if each["marks"]
        or (
            each["name"].strip().lower() in _SECTIONS
            and (each["alone"] is None or each[0].lstrip().startswith(("*", "_")))
        )
    ]
    sections: dict[str, _Section] = {}

    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(source)
        name = _SECTIONS.get(heading["name"].strip().lower())
        if name is None:
            continue

        text = source[heading.end() : end]
        # These are prose of one paragraph. Without this, closing words after the report would be
        # part of the last section.
        if name in ("summary", "recommendation", "attempted", "error", "context"):
            text = text[: len(text) - len(text.lstrip())] + text.lstrip().partition("\n\n")[0]

        sections.setdefault(name, _Section(text, heading.end()))

    return sections


def _deliverables(section: _Section, locator: _MarkdownLocator) -> list[JsonObjectValue]:
    found: list[JsonObjectValue] = []
    for text, offset, _ in section.items():
        path = _DELIVERABLE.search(text)
        if path is None:
            continue

        each: JsonObjectValue = {
            "path": (path["quoted"] or path["slot"] or path["bare"].rstrip(":,")).strip()
        }
        dash = _DASH.match(text, path.end())
        rest = text[dash.end() if dash else path.end() :].strip(" )")
        if rest:
            each["description"] = rest

        locator.positions[f"/deliverables/{len(found)}"] = offset
        found.append(each)

    return found


def _questions(
    sections: Mapping[str, _Section], locator: _MarkdownLocator
) -> list[JsonObjectValue]:
    """Return the questions in order; nested items are options, and all share the context."""
    found: list[JsonObjectValue] = []
    context = sections["context"].words() if "context" in sections else None
    least: int | None = None

    for text, offset, indent in sections["questions"].items() if "questions" in sections else ():
        # Lists may be indented as a whole: an item is nested only if it is deeper than the
        # shallowest.
        least = indent if least is None else min(least, indent)
        if indent > least and found:
            found[-1].setdefault("options", []).append(text)
            continue

        locator.positions[f"/questions/{len(found)}"] = offset
        found.append({"id": f"q{len(found) + 1}", "question": text})

    for each in found:
        if context is not None:
            each["context"] = context

    return found
