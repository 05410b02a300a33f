"""A step of the story as it went, and what is shown of it."""

from dataclasses import dataclass

from goop_mcp.server.models import DecisionModel, VerdictModel

__all__ = ["Step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step as it went; the last five fields are what there is to see.

    `as_expected`: the story may go on.
    """

    name: str
    title: str
    words: str
    as_expected: bool = True
    reply: str | None = None
    verdict: VerdictModel | None = None
    feedback: str | None = None
    decision: DecisionModel | None = None
    answer: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the step as JSON values, without what it does not show."""
        values = {
            "name": self.name,
            "title": self.title,
            "words": self.words,
            "as_expected": self.as_expected,
            "reply": self.reply,
            "verdict": self.verdict.model_dump(mode="json") if self.verdict is not None else None,
            "feedback": self.feedback,
            "decision": (
                self.decision.model_dump(mode="json") if self.decision is not None else None
            ),
            "answer": self.answer,
        }
        return {key: value for key, value in values.items() if value is not None}
