"""Measure the size of a prompt with a request, and the share of its markup (H-58)."""

import math
from dataclasses import dataclass

from goop_mcp.protocols.agent_request import Request

__all__ = ["PromptSize", "measure_prompt"]

_CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptSize:
    """Sizes in bytes of UTF-8: the whole prompt, and its text without markup and fence.

    `tokens` estimates the size in a model's context, with four characters for each token.
    """

    bytes: int
    text_bytes: int
    tokens: int

    @property
    def overhead(self) -> float:
        """The ratio of markup to text, with three decimals: 0.25 stands for 25 %."""
        return (
            round((self.bytes - self.text_bytes) / self.text_bytes, 3) if self.text_bytes else 0.0
        )

    def to_dict(self) -> dict[str, int | float]:
        """Return the sizes as JSON values."""
        return {
            "bytes": self.bytes,
            "text_bytes": self.text_bytes,
            "overhead": self.overhead,
            "tokens": self.tokens,
        }


def measure_prompt(text: str, request: Request, *, title: str, context: str = "") -> PromptSize:
    """Return the size of `text`, the prompt built from the other arguments."""
    texts = (
        title,
        request.session_id,
        request.parent_agent,
        request.target_agent,
        request.priority,
        request.mode,
        request.original_intent,
        request.current_task_summary,
        request.workflow,
        request.task_details,
        *(request.constraints or ()),
        *(text for each in request.deliverables or () for text in (each.path, each.text)),
        request.backlog_notes,
        context,
    )
    plain = "\n".join(str(each) for each in texts if each)

    return PromptSize(
        bytes=len(text.encode()),
        text_bytes=len(plain.encode()),
        tokens=math.ceil(len(text) / _CHARACTERS_A_TOKEN),
    )
