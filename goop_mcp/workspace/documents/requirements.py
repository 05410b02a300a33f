"""Read REQUIREMENTS.md: the results of the interview, counted for the discovery gate."""

import re
from dataclasses import dataclass

from goop_mcp.workspace.documents.markdown import (
    Line,
    Section,
    fields,
    items,
    normal_title,
    prose,
    read_markdown,
    tables,
)
from goop_mcp.workspace.documents.status_markers import without_checkbox

__all__ = ["InterviewFacts", "read_requirements"]

_SENTENCE_END = re.compile(r"[.!?…](?:[\"'”’)\]]*)(?=\s|\Z)")
_SHORT = re.compile(r"\b(?:e\.g|i\.e|etc|vs|approx|cf|Mr|Ms|Dr|St|No)\.(?=\s)", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"\[[^\]\[]{1,200}\](?!\()")
_NOTHING = frozenset({"", "none", "n a", "tbd", "todo", "pending"})
# Headings of the form itself, which say nothing without a text.
_GROUPS = frozenset({"technical constraints", "practical constraints", "integration constraints"})
_YES = re.compile(r"✓|✅|\b(?:yes|true|complete|completed|done)\b", re.IGNORECASE)
_NO = re.compile(r"✗|⏳|\b(?:no|not|false|incomplete|pending|in progress)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class InterviewFacts:
    """The facts that the discovery gate needs from REQUIREMENTS.md.

    Template text in brackets does not count. `interview_complete` is what the document states, None
    if it states nothing; state.json decides.
    """

    name: str | None = None
    interview_complete: bool | None = None
    vision_sentences: int = 0
    must_haves: int = 0
    constraints: int = 0
    out_of_scope: int = 0
    assumptions: int = 0
    mitigated_risks: int = 0
    open_questions: int = 0


def read_requirements(text: str) -> InterviewFacts:
    """Read REQUIREMENTS.md tolerantly: any order, any case, missing parts. Never raises."""
    document = read_markdown(text)
    title = next((section.title for section in document.walk() if section.level == 1), None)
    found = fields(document.all_lines())
    interview = found.get("interview complete") or found.get("interview status") or ""
    # "not complete" matches both patterns, so a negative one decides.
    complete = False if _NO.search(interview) else True if _YES.search(interview) else None

    # The two fields of the section are part of the vision, although they are not prose.
    lines = _lines(document, "vision")
    extra = fields(lines)
    texts = (prose(lines), extra.get("problem solved", ""), extra.get("why now", ""))
    vision = " ".join(_PLACEHOLDER.sub("", text) for text in texts)

    # A risk counts together with its mitigation: in one row of a table, or on one line of a list.
    risks, mitigated = _lines(document, "risks"), 0
    for table in tables(risks):
        named = table.cells("risk", "risks")
        answers = table.cells("mitigation", "mitigations", "response")
        mitigated += sum(
            _is_filled_in(risk) and _is_filled_in(answer)
            for risk, answer in zip(named, answers, strict=False)
        )
    for item in items(risks):
        before, word, after = item.lower().partition("mitigation")
        mitigated += bool(word) and _is_filled_in(before) and _is_filled_in(after)

    return InterviewFacts(
        name=title.partition(":")[2].strip() or title if title else None,
        interview_complete=complete,
        vision_sentences=len(_SENTENCE_END.findall(_SHORT.sub("", vision))),
        must_haves=_count_entries(document, "must haves"),
        constraints=_count_entries(document, "constraints", "technical constraints"),
        out_of_scope=_count_entries(document, "out of scope"),
        assumptions=_count_entries(document, "assumptions"),
        mitigated_risks=mitigated,
        open_questions=_count_entries(document, "open questions"),
    )


def _lines(document: Section, title: str) -> tuple[Line, ...]:
    section = document.find(title)
    return tuple(section.all_lines()) if section is not None else ()


def _count_entries(document: Section, *titles: str) -> int:
    """Return the number of entries under one of `titles`.

    Entries are list items and table rows, else subsections, else the text as one entry.
    """
    section = document.find(*titles)
    if section is None:
        return 0

    lines = tuple(section.all_lines())
    entries = [without_checkbox(item) for item in items(lines)]
    entries += [" ".join(row) for table in tables(lines) for row in table.rows]
    if not entries:
        entries = [
            " ".join(
                [
                    *([] if normal_title(below.title) in _GROUPS else [below.title]),
                    prose(below.lines),
                ]
            )
            for below in section.sections
        ] or [prose(lines)]

    return sum(map(_is_filled_in, entries))


def _is_filled_in(text: str) -> bool:
    return normal_title(_PLACEHOLDER.sub("", text)) not in _NOTHING
