"""Factory replies in plain Markdown, read for backward compatibility (F-25, D-58).

Four openings are recognised. What Markdown cannot say stays absent; question ids are given by
position.
"""

import re
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
    r" (?P<verdict>PASS|BLOCKING)\b\.?"
    r")[*_ \t]*\r?$",
    re.MULTILINE,
)
_HEADING = re.compile(
    r"^[ \t]{0,3}(?:#{1,6}[ \t]+)?[*_]*(?P<name>[A-Z][A-Za-z ]{2,30}?)[*_]*:[*_]*[ \t]*",
    re.MULTILINE,
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
    "attempted": "attempted",
    "error": "error",
    "reason": "error",
    "issue": "error",
    "cause": "error",
    "concerns": "concerns",
    "blocking issues": "blocking_issues",
    "issues": "blocking_issues",
}


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
        return None

    # An opening inside a fence quotes the form. Of the others the last one counts, as agents draft
    # first, and it reaches to the end of the text because the form has no end mark.
    fences = Regions((start, end) for start, end, _ in fence_spans(text))
    starts = [each.start() + len(each[0]) - len(each[0].lstrip()) for each in openings]
    blocks = [
        Block(root=FORM, start=start, end=each.end(), complete=False)
        for start, each in zip(starts, openings, strict=True)
        if not fences.hold(start, each.end())
    ]
    last = choose_last(hide_unspoken(text, blocks))

    return None if last is None else replace(last, end=len(text), complete=True)


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
    groups: Mapping[str, str | None] = opening.groupdict() if opening is not None else {}
    sections = _sections(source, opening.end() if opening is not None else 0)
    verdict = groups.get("verdict")
    # The opening of a critic has a verdict and no status: a review that finds errors has succeeded.
    status = next((name for name in ("questions", "failure") if groups.get(name)), "success")
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
        if "summary" in sections and (summary := sections["summary"].words()):
            values["summary"] = summary
            locator.positions["/summary"] = sections["summary"].start
        if "deliverables" in sections:
            values["deliverables"] = _deliverables(sections["deliverables"], locator)
        if "concerns" in sections:
            values["concerns"] = [text for text, _, _ in sections["concerns"].items()]
        if "blocking_issues" in sections:
            values["blocking_issues"] = [
                {"id": found["id"], "title": text[found.end() :]}
                if (found := _ISSUE_ID.match(text))
                else {"id": f"B{number}", "title": text}
                for number, (text, _, _) in enumerate(sections["blocking_issues"].items(), 1)
            ]
            locator.positions["/blocking_issues"] = sections["blocking_issues"].start

    for name in ("recommendation", "attempted"):
        if name in sections and (words := sections[name].words()):
            values[name] = words

    return values


def _sections(source: str, after: int) -> dict[str, _Section]:
    """Return the known sections; the last one ends with its paragraph."""
    headings = [
        each
        for each in _HEADING.finditer(source, after)
        if each["name"].strip().lower() in _SECTIONS
    ]
    sections: dict[str, _Section] = {}

    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(source)
        name = _SECTIONS[heading["name"].strip().lower()]
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
