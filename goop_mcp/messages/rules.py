"""The visual style as rules, and the checker that applies them to messages (V-16, V-17)."""

import re
import unicodedata
from collections.abc import Iterator

from goop_mcp.messages.icons import KNOWN_ICONS, PRIMARY_ICON, SEPARATOR
from goop_mcp.messages.templates import DIVIDER, HEADER
from goop_mcp.structs import DataStruct
from goop_mcp.validation.expectations import NOTHING_EXPECTED, Expectations
from goop_mcp.validation.findings import Finding, Hit, Severity, excerpt
from goop_mcp.validation.rules import Example, RuleList, run_checks

__all__ = ["VISUAL_STYLE_RULES", "RenderedMessage", "check_message"]

_LONGEST_MESSAGE = 256 * 1024
_MAIN_HEADING = re.compile(r"#{1,2}(?!#)\s*")
_SECTION_HEADING = re.compile(r"#{3,6}\s")
_BULLET = re.compile(r"[-*]\s+(\S+)\s")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BOX = re.compile(r"\s*+\|?\s*+\+[-=]{2,}")
_CALL = re.compile(r"(?:[-*]\s+)?(?:\*\*)?(?:run|next(?:\s+step)?)(?:\*\*)?\s*:", re.IGNORECASE)
_COMMAND_ALONE = re.compile(r"`?/goop-[\w-]+`?\s*$")
_NEXT_STEP = re.compile(r"#{3,6}\s+next\s+step", re.IGNORECASE)
_SYMBOLS = frozenset({"So", "Sm", "Sk", "Po"})
_PLAIN_MARKS = frozenset("*`\"'(&#@/…\\")

_SAMPLE = """\
## 🔮 GoopSpec · Progress

**Phase:** ⚡ Execute | **Wave:** 2/3 | **Task:** 4/6

### Completed
- ✓ Task 2.1: add the login endpoint

### Next Step
→ `/goop-accept`

---"""


class RenderedMessage(DataStruct, frozen=True):
    """A rendered message; `lines` are those outside of fences, each with its number from 1."""

    lines: tuple[tuple[int, str], ...]


def check_message(text: str) -> tuple[Finding, ...]:
    """Return every breach of the visual style in one message as warnings, in order of lines.

    Code in fences is not looked at, nor what lies beyond 256 KiB.
    """
    message = RenderedMessage(tuple(_outside_fences(text[:_LONGEST_MESSAGE])))
    findings = [
        Finding(
            rule=problem.rule.id,
            severity=problem.rule.lenient,
            message=problem.hit.message,
            line=problem.hit.offset,
            found=problem.hit.found,
            fix=problem.hit.fix or problem.rule.fix,
        )
        for problem in run_checks(VISUAL_STYLE_RULES, message, NOTHING_EXPECTED)
    ]

    return tuple(sorted(findings, key=lambda finding: finding.line or 0))


def _outside_fences(text: str) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif opened:
            fence = opened[1]
        else:
            yield number, line.rstrip()


def _hit(number: int, line: str, message: str) -> Hit:
    # The offset of these hits is the number of the line.
    return Hit(message=message, offset=number, found=excerpt(line))


def _opens_section(line: str) -> bool:
    """Return whether `line` is reported for itself when no blank line stands before it."""
    return (
        line == DIVIDER
        or _MAIN_HEADING.match(line) is not None
        or _SECTION_HEADING.match(line) is not None
    )


def _is_foreign_icon(word: str) -> bool:
    if word in KNOWN_ICONS or word == "→" or word[0] in _PLAIN_MARKS:
        return False
    return unicodedata.category(word[0]) in _SYMBOLS and not word[0].isascii()


VISUAL_STYLE_RULES = RuleList()


@VISUAL_STYLE_RULES.rule(
    id="visual_style/header-form",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=f"main header not `{HEADER}…` (U+00B7 with a space on both sides)",
    why="People find the messages of the workflow by this line.",
    fix=f"Begin the message with '{HEADER}' and the phase or context.",
    requirements=("V-01", "V-02", "V-03", "V-17"),
    example=Example(
        good=f"## {PRIMARY_ICON} GoopSpec {SEPARATOR} Progress",
        bad="## GoopSpec - Status",
        reply=_SAMPLE,
    ),
)
def _header_form(message: RenderedMessage, _expected: Expectations) -> list[Hit]:
    # "Always use `## 🔮 GoopSpec · [Context]` for main headers"
    written = [(number, line) for number, line in message.lines if line]
    hits = [
        _hit(
            number,
            line,
            f"main header is {excerpt(line, 60)!r}; expected '{HEADER}…' (U+00B7 between two"
            " blanks)",
        )
        for number, line in written
        if _MAIN_HEADING.match(line) and not (line.startswith(HEADER) and len(line) > len(HEADER))
    ]
    if written and not _MAIN_HEADING.match(written[0][1]):
        hits.insert(
            0, _hit(*written[0], f"the message begins without its header; expected '{HEADER}…'")
        )

    return hits


@VISUAL_STYLE_RULES.rule(
    id="visual_style/divider-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="message does not end with `---`",
    why="The divider shows where the message ends and the talk continues.",
    fix=f"End the message with a blank line and '{DIVIDER}'.",
    requirements=("V-02", "V-17"),
    example=Example(good="\n\n---", bad="", reply=_SAMPLE),
)
def _divider_missing(message: RenderedMessage, _expected: Expectations) -> Hit | None:
    # "Use `---` to separate sections"
    written = [(number, line) for number, line in message.lines if line]
    if written and written[-1][1] == DIVIDER:
        return None

    number, line = written[-1] if written else (1, "")

    return _hit(
        number, line, f"the message ends without a divider; expected '{DIVIDER}' as its last line"
    )


@VISUAL_STYLE_RULES.rule(
    id="visual_style/blank-line-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="no blank line between sections",
    why=(
        "Without it Markdown reads text above a divider as a heading, and sections run into each"
        " other."
    ),
    fix="Put a blank line between the header, the sections and the divider.",
    requirements=("V-17",),
    example=Example(good="Progress\n\n", bad="Progress\n", reply=_SAMPLE),
)
def _blank_line_missing(message: RenderedMessage, _expected: Expectations) -> list[Hit]:
    # "Include blank lines between sections"
    # Lines within fences are missing here and count as blank: code next to a heading is accepted.
    texts = dict(message.lines)
    hits = []
    for number, line in message.lines:
        main = _MAIN_HEADING.match(line) is not None
        before = main or line == DIVIDER or _SECTION_HEADING.match(line) is not None
        after = main or line == DIVIDER
        if before and texts.get(number - 1):
            hits.append(_hit(number, line, "no blank line before this section; expected one"))
        elif after and texts.get(number + 1) and not _opens_section(texts[number + 1]):
            hits.append(
                _hit(
                    number + 1,
                    texts[number + 1],
                    "no blank line after the line above; expected one",
                )
            )

    return hits


@VISUAL_STYLE_RULES.rule(
    id="visual_style/unknown-icon",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="status bullet with an icon outside the table",
    why="An icon has one meaning; another one has none.",
    fix="Use ✓ for done, ⏳ for under way, ✗ for blocked.",
    requirements=("V-06", "V-07", "V-17"),
    example=Example(good="- ✓ Task 2.1", bad="- ☑ Task 2.1", reply=_SAMPLE),
)
def _unknown_icon(message: RenderedMessage, _expected: Expectations) -> list[Hit]:
    # "Use ✓ ✗ ⏳ for status"
    return [
        _hit(
            number,
            line,
            f"the bullet has the icon {excerpt(match[1], 20)}; expected one of the style's icons",
        )
        for number, line in message.lines
        if (match := _BULLET.match(line)) and _is_foreign_icon(match[1])
    ]


@VISUAL_STYLE_RULES.rule(
    id="visual_style/arrow-missing",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="next step without `→`",
    why="The arrow marks the one line that a person acts upon.",
    fix="Begin the line with '→ '.",
    requirements=("V-17",),
    example=Example(good="→ `/goop-accept`", bad="Run: /goop-accept", reply=_SAMPLE),
)
def _arrow_missing(message: RenderedMessage, _expected: Expectations) -> list[Hit]:
    # 'Use → for "next step" callouts'
    hits = []
    heading = False
    for number, line in message.lines:
        if _CALL.match(line) or (heading and _COMMAND_ALONE.match(line)):
            hits.append(
                _hit(
                    number,
                    line,
                    "the next step has no arrow; expected '→' at the start of the line",
                )
            )

        heading = _NEXT_STEP.match(line) is not None or (heading and not line)

    return hits


@VISUAL_STYLE_RULES.rule(
    id="visual_style/box",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches="`+====+` or `+----+` box in a message",
    why="Boxes are kept for the principles; messages are set apart by dividers.",
    fix="Leave the box out.",
    requirements=("V-16",),
    example=Example(good="### Completed\n", bad="+====+ GOOPSPEC > PLAN\n", reply=_SAMPLE),
)
def _box(message: RenderedMessage, _expected: Expectations) -> list[Hit]:
    return [
        _hit(number, line, f"a box line stands in the message; expected the divider '{DIVIDER}'")
        for number, line in message.lines
        if _BOX.match(line)
    ]
