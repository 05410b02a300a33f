"""What was looked at and what was found."""

from dataclasses import dataclass
from enum import StrEnum

from goop_mcp.redaction import redact

__all__ = ["Check", "Outcome", "fault", "fine", "warning"]


class Outcome(StrEnum):
    """How a check ended; only a fault keeps something from working."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: what was looked at, what is the case, and what to do; `cure` is None when all is well.

    No text of it holds a secret.
    """

    subject: str
    outcome: Outcome
    message: str
    cure: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Return the check as JSON shows it."""
        return {
            "subject": self.subject,
            "outcome": self.outcome.value,
            "message": self.message,
            "cure": self.cure,
        }


def fine(subject: str, message: str) -> Check:
    """Return a check that found nothing wrong."""
    return Check(subject=subject, outcome=Outcome.OK, message=redact(message).text)


def warning(subject: str, message: str, cure: str) -> Check:
    """Return a check that found something which people should know."""
    return Check(
        subject=subject,
        outcome=Outcome.WARNING,
        message=redact(message).text,
        cure=redact(cure).text,
    )


def fault(subject: str, message: str, cure: str) -> Check:
    """Return a check that found something which keeps goop-mcp from working."""
    return Check(
        subject=subject, outcome=Outcome.FAULT, message=redact(message).text, cure=redact(cure).text
    )
