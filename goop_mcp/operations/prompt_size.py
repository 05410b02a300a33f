"""What a prompt with a request weighs, and how much of that is markup (H-58)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from goop_mcp.protocols.agent_request import Request

__all__ = ["PromptSize", "measure_prompt"]

_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSize:
    """Sizes in bytes of UTF-8: the whole prompt, and its words alone, without elements, attributes and the fence.

    `tokens` is about what the prompt takes of a model's context: a token is counted as four characters.
    """

    bytes: int
    text_bytes: int
    tokens: int

    @property
    def overhead(self) -> float:
        """The share that the markup adds to the words, with three decimals: 0.25 stands for 25 %."""
        return (
            round((self.bytes - self.text_bytes) / self.text_bytes, 3) if self.text_bytes else 0.0
        )

    def to_dict(self) -> dict[str, int | float]:
        """Return the figures as JSON values."""
        return {
            "bytes": self.bytes,
            "text_bytes": self.text_bytes,
            "overhead": self.overhead,
            "tokens": self.tokens,
        }


def measure_prompt(text: str, request: Request, *, title: str, context: str = "") -> PromptSize:
    """Return what `text`, the prompt made of the other arguments, weighs."""
    words = "\n".join([title, *_words(request), *([context] if context else [])])
    return PromptSize(
        bytes=len(text.encode()),
        text_bytes=len(words.encode()),
        tokens=math.ceil(len(text) / _CHARACTERS_A_TOKEN),
    )


def _words(request: Request) -> Iterator[str]:
    attributes = (request.session_id, request.parent_agent, request.target_agent, request.priority)
    texts = (
        request.mode,
        request.original_intent,
        request.current_task_summary,
        request.workflow,
        request.task_details,
        *(request.constraints or ()),
        *(word for each in request.deliverables or () for word in (each.path, each.text)),
        request.backlog_notes,
    )
    return (str(text) for text in (*attributes, *texts) if text)
