"""A step of the demo."""

from dataclasses import dataclass

from goop_mcp.server.models import DecisionModel, VerdictModel

__all__ = ["DemoStep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStep:
    """The outcome of one step; the last five fields are shown, if they are not None.

    The demo ends at a step that is not `as_expected`.
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
        """Return the step as JSON values, without the fields that are None."""
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
