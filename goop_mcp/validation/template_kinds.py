"""What a field holds, which decides how much template text says there."""

from enum import Enum
from functools import lru_cache
from typing import Final

from goop_mcp.validation.template_phrases import NUMBERS

__all__ = ["ValueKind", "value_kind"]


class ValueKind(Enum):
    """The role of a value; some template text counts in one role only."""

    TEXT = "text"
    """Anything: an extension, an option."""
    NUMBER = "number"
    PATH = "path"
    SHA = "sha"
    SUMMARY = "summary"
    """What was done, in a sentence or two."""
    ACCOUNT = "account"
    """What was done or found."""
    PLAN = "plan"
    """What is to be done next."""
    CONTENT = "content"
    """What a file holds: a list of changes, perhaps."""
    GOAL = "goal"
    """What a request is for."""
    ORDER = "order"
    """What a request asks for: a summary of the changes, perhaps."""


_WHOLE_NAMES: Final = {
    "original_intent": ValueKind.GOAL,
    "current_task_summary": ValueKind.GOAL,
    "next_action": ValueKind.PLAN,
    "task_name": ValueKind.PLAN,
    "for_orchestrator": ValueKind.PLAN,
    "task_details": ValueKind.PLAN,
    "backlog_notes": ValueKind.PLAN,
}
_LAST_WORDS: Final = {
    ValueKind.PATH: "path file dir directory folder",
    ValueKind.SHA: "sha hash commit",
    ValueKind.NUMBER: " ".join(NUMBERS),
    ValueKind.SUMMARY: "summary accomplished",
    ValueKind.ACCOUNT: (
        "check saved message blocker blockers reason rationale attempted"
        " context evidence changes explanation justification note notes finding observation"
        " concern concerns decision"
    ),
    ValueKind.PLAN: "next step steps recommendation resolution constraint",
    ValueKind.CONTENT: "description",
}
_BY_LAST_WORD: Final = {word: kind for kind, words in _LAST_WORDS.items() for word in words.split()}
_BESIDES_ATTRIBUTES: Final = {
    ValueKind.PATH: ValueKind.CONTENT,
    ValueKind.SHA: ValueKind.ACCOUNT,
    ValueKind.NUMBER: ValueKind.TEXT,
}


@lru_cache(maxsize=512)
def value_kind(name: str, *, has_attributes: bool = False) -> ValueKind:
    """Return the role of a value by the name of its attribute, element or key.

    `has_attributes`: the text of a file or a commit that has its path or hash in an attribute
    describes it.
    """
    whole = name.rpartition("}")[2].lower().replace("-", "_")
    kind = _WHOLE_NAMES.get(whole) or _BY_LAST_WORD.get(whole.rpartition("_")[2], ValueKind.TEXT)
    return _BESIDES_ATTRIBUTES.get(kind, kind) if has_attributes else kind
