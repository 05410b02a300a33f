"""Make a draft of a handoff from a description in prose, with a question for each gap (H-69).

A draft with gaps is a prompt with `{{slots}}` where something is missing, so that the validator
refuses it there. Nothing is invented: what `draft_facts` cannot prove is asked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.protocols.agent_request import AGENT_REQUEST, Request
from goop_mcp.protocols.agent_request.attributes import read_duration
from goop_mcp.protocols.agent_request.model import (
    Deliverable,
    Duration,
    Priority,
    RequestMode,
    RequestWorkflow,
)
from goop_mcp.protocols.agent_request.writing import normal_text, write_prompt
from goop_mcp.redaction import redact, redact_structure
from goop_mcp.services.build_request import RequestFieldsError, build_request
from goop_mcp.services.draft_facts import DraftFacts, Fact, Gap, Unread, extract_facts
from goop_mcp.services.hand_over import REQUEST_FIELDS, type_errors
from goop_mcp.validation import pipeline
from goop_mcp.validation.findings import counted_noun
from goop_mcp.validation.verdict import Verdict

__all__ = ["MOST_CHARACTERS", "Draft", "draft_of_fields", "draft_request"]

MOST_CHARACTERS: Final = 65_536
"""Length of the longest description."""

MOST_FACTS: Final = 400
"""How many facts and questions a description may give, together."""

_LISTS: Final = ("constraints", "deliverables", "depends_on", "notify_on_completion")
_MOST_UNREAD: Final = 20
_SHORTEST_SUMMARY, _LONGEST_SUMMARY = 10, 500
_QUESTIONS: Final = {
    "original_intent": "What is the goal of the work as a whole?",
    "current_task_summary": "What is this task, in one or two sentences (10 to 500 characters)?",
    "task_details": "What is to be done: which steps, and which files?",
    "deliverables": "What is to be delivered: which files (paths), decisions or reports?",
    "acceptance": "How is it known that the task is done? Add it to the description.",
    "target_agent": "Which agent does it?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a description gave: `fields` of a request, `facts` that prove them, `gaps` to ask about.

    `text` is the prompt, valid if and only if no gap is required, and otherwise with a slot at each
    of those; `verdict` is that of the validator in strict mode. `redactions` counts the secrets
    that were removed. `unread` are sentences that gave no field, and stand in the prompt.
    """

    fields: Mapping[str, Any]
    facts: tuple[Fact, ...]
    gaps: tuple[Gap, ...]
    text: str = field(repr=False)
    verdict: Verdict
    redactions: int = 0
    unread: tuple[Unread, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether the prompt is valid without an answer."""
        return not any(gap.required for gap in self.gaps)

    def to_dict(self) -> dict[str, Any]:
        """Return the draft as JSON values."""
        return {
            "kind": "agent_request",
            "complete": self.is_complete,
            "gaps": [gap.to_dict() for gap in self.gaps],
            "fields": dict(self.fields),
            "facts": [fact.to_dict() for fact in self.facts],
            "unread": [each.to_dict() for each in self.unread],
            "text": self.text,
            "verdict": self.verdict.to_dict(),
            "redactions": self.redactions,
        }


def draft_request(
    text: str, given: Mapping[str, object] | None = None, *, now: datetime | None = None
) -> Draft:
    """Return the draft of a handoff for the description `text`.

    `given` are answers: fields of a request, which count instead of what the description says.
    `now` is for the id of a session, as in `build_request`. Raises RequestFieldsError for an empty
    description, one of more than 65,536 characters, and one with more than 400 facts and questions,
    and UnknownNameError for an answer to no field.
    """
    if not text.strip():
        raise RequestFieldsError("the description is empty; write what is to be done")
    if len(text) > MOST_CHARACTERS:
        raise RequestFieldsError(
            f"the description has {len(text):,} characters; expected at most {MOST_CHARACTERS:,}"
        )

    for name in given or ():
        if name not in REQUEST_FIELDS:
            raise UnknownNameError("field", name, REQUEST_FIELDS)

    # Secrets go first, so that none reaches a fact, a question or the prompt.
    redacted = redact(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
    answers, removed = redact_structure(
        {name: value for name, value in (given or {}).items() if value not in (None, "")}
    )
    found = extract_facts(redacted.text)
    if len(found.facts) + len(found.gaps) > MOST_FACTS:
        raise RequestFieldsError(
            f"the description gives more than {MOST_FACTS} facts and questions; divide the task"
        )

    return _drafted(
        found,
        {**_fields_of(found), **answers},
        answers,
        redactions=redacted.count + removed,
        now=now,
    )


def draft_of_fields(fields: Mapping[str, object], *, now: datetime | None = None) -> Draft:
    """Return the draft of a handoff from `fields` alone, as an unfinished form has them."""
    answers, removed = redact_structure(
        {name: value for name, value in fields.items() if value not in (None, "", [])}
    )
    return _drafted(DraftFacts(), dict(answers), answers, redactions=removed, now=now)


def _drafted(
    found: DraftFacts,
    fields: dict[str, Any],
    answers: Mapping[str, Any],
    *,
    redactions: int,
    now: datetime | None,
) -> Draft:
    gaps = [
        *(gap for gap in found.gaps if gap.field not in answers),
        *_missing(fields, found),
    ]

    prompt, verdict, refusal = "", None, None
    if not any(gap.required for gap in gaps):
        try:
            if errors := type_errors(fields):
                raise RequestFieldsError("; ".join(errors))
            built = build_request(**fields, now=now)
            prompt, verdict = built.text, built.verdict
        except GoopError as error:
            # The fields are there and do not fit together; the validator says where.
            refusal = Gap("task_details", f"The draft is refused: {error} What is meant instead?")
            gaps.append(refusal)

    if verdict is None:
        prompt = _with_slots(fields, gaps)
        verdict = pipeline.validate(
            prompt, (AGENT_REQUEST,), protocol="agent_request", mode="strict"
        )

    return Draft(
        fields=fields,
        facts=tuple(fact for fact in found.facts if fact.field not in answers),
        gaps=tuple(sorted(gaps, key=lambda gap: (not gap.required, gap.line or 0))),
        text=prompt,
        verdict=verdict,
        redactions=redactions,
        unread=tuple(found.unread),
    )


def _fields_of(found: DraftFacts) -> dict[str, Any]:
    """Return the fields of a request that the facts give, texts of several parts put together."""
    fields: dict[str, Any] = {}
    for fact in found.facts:
        if fact.field in _LISTS:
            fields.setdefault(fact.field, []).append(fact.value)
        elif fact.field != "task_id":
            fields[fact.field] = fact.value

    if found.heading is not None:
        fields["title"] = found.heading

    # Where the details stand in a place of their own, the other text is background. A request in
    # the description would make a second one of the prompt, so that it is never background.
    details, context = found.details, "\n\n".join(filter(None, (found.context, found.rest)))
    if not details:
        details, context = found.rest, found.context
    if found.holds_request:
        details, context = "\n\n".join(filter(None, (details, context))), ""

    if whole := "\n\n".join(filter(None, (details, found.acceptance))):
        fields["task_details"] = whole
    if context:
        fields["context"] = context

    return fields


def _missing(fields: Mapping[str, Any], found: DraftFacts) -> list[Gap]:
    """Return questions for what the fields lack, as far as nothing else asks for it."""
    asked = {gap.field for gap in found.gaps}
    gaps = [
        Gap(name, question)
        for name, question in _QUESTIONS.items()
        if name not in ("acceptance", "target_agent") and name not in asked and not fields.get(name)
    ]

    summary = fields.get("current_task_summary")
    if (
        isinstance(summary, str)
        and not _SHORTEST_SUMMARY <= len(summary.strip()) <= _LONGEST_SUMMARY
    ):
        gaps.append(
            Gap(
                "current_task_summary",
                f"The summary of the task has {counted_noun(len(summary.strip()), 'character')}; 10"
                " to 500 are allowed. What is this task, in one or two sentences?",
            )
        )

    if found.heading is not None:
        # The heading is offered and not taken: it may name a ticket, a project or a file.
        gaps = [
            gap._replace(question=f"{gap.question} The heading says: {found.heading[:120]!r}.")
            if gap.field == "current_task_summary"
            else gap
            for gap in gaps
        ]

    if found.unread:
        gaps.append(_about_unread(found.unread))
    if not found.acceptance and "task_details" not in asked:
        gaps.append(Gap("acceptance", _QUESTIONS["acceptance"], required=False))
    if not fields.get("target_agent") and "target_agent" not in asked:
        gaps.append(Gap("target_agent", _QUESTIONS["target_agent"], required=False))

    return gaps


def _about_unread(unread: Sequence[Unread]) -> Gap:
    """Return the sentences that gave no field as one question, which names the first of them."""
    named = [f"line {each.line} {each.text!r}" for each in unread[:_MOST_UNREAD]]
    more = len(unread) - len(named)
    named += [counted_noun(more, "more sentence")] if more > 0 else []
    question = f"Not understood, and kept in the details word for word: {'; '.join(named)}."
    return Gap("task_details", question, unread[0].line, required=False)


def _with_slots(fields: Mapping[str, Any], gaps: list[Gap]) -> str:
    """Return the prompt with a slot for each gap that is required."""
    wanted = dict.fromkeys(gap.field for gap in gaps if gap.required)

    def text_of(name: str) -> str:
        value = fields.get(name)
        if name in wanted or not isinstance(value, str):
            return f"{{{{{name}}}}}"
        return normal_text(_writable(value))

    deliverables = [
        Deliverable(
            kind=each["kind"],
            path=each.get("path"),
            required=bool(each.get("required", True)),
            text=normal_text(_writable(str(each.get("text") or ""))),
        )
        for each in fields.get("deliverables") or ()
        if isinstance(each, Mapping) and each.get("kind") in ("file", "decision", "report")
    ]
    if "deliverables" in wanted or not deliverables:
        deliverables.append(Deliverable(kind="report", text="{{deliverables}}"))

    def duration_of(name: str) -> Duration | None:
        value = fields.get(name)
        return read_duration(value) if isinstance(value, str) else None

    # Values of attributes are words of lists, so that a slot for one stands as a foreign attribute.
    parts = ("original_intent", "current_task_summary", "task_details", "deliverables")
    attributes = tuple((name, f"{{{{{name}}}}}") for name in wanted if name not in parts)
    request = Request(
        mode=RequestMode.SPAWN,
        original_intent=text_of("original_intent"),
        current_task_summary=text_of("current_task_summary"),
        workflow=next(
            (each for each in RequestWorkflow if each == fields.get("workflow")),
            RequestWorkflow.STANDARD,
        ),
        task_details=text_of("task_details"),
        constraints=tuple(
            normal_text(_writable(each))
            for each in fields.get("constraints") or ()
            if isinstance(each, str)
        )
        or None,
        deliverables=tuple(deliverables),
        priority=next((each for each in Priority if each == fields.get("priority")), None),
        estimated_duration=duration_of("estimated_duration"),
        timeout=duration_of("timeout"),
        extra_attributes=attributes,
    )

    # A title that is none would be one more gap; the summary is what it becomes in the end.
    title = str(fields.get("title") or text_of("current_task_summary"))
    context = fields.get("context")

    return write_prompt(
        request,
        title=_writable(title),
        context=_writable(context) if isinstance(context, str) else "",
    )


def _writable(text: str) -> str:
    """Return `text` without the characters that no XML can carry; a draft is shown all the same."""
    return "".join(each if each in "\n\t" or each.isprintable() else "�" for each in text)
