"""The result of one check of the doctor."""

from dataclasses import dataclass
from enum import StrEnum

from goop_mcp.redaction import redact

__all__ = ["CheckOutcome", "DoctorCheck", "failure", "ok", "warning"]


class CheckOutcome(StrEnum):
    """How a check ended; only an error keeps goop-mcp from working."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorCheck:
    """One check: its subject, what was found, and what to do; `fix` is None when all is well.

    Secrets are removed from the texts.
    """

    subject: str
    outcome: CheckOutcome
    message: str
    fix: str | None = None

    def to_dict(self) -> dict[str, str | None]:
        """Return the check as JSON values."""
        return {
            "subject": self.subject,
            "outcome": self.outcome.value,
            "message": self.message,
            "fix": self.fix,
        }


def ok(subject: str, message: str) -> DoctorCheck:
    """Return a check that found no problem."""
    return DoctorCheck(subject=subject, outcome=CheckOutcome.OK, message=redact(message).text)


def warning(subject: str, message: str, fix: str) -> DoctorCheck:
    """Return a check that found a problem with which goop-mcp still works."""
    return DoctorCheck(
        subject=subject,
        outcome=CheckOutcome.WARNING,
        message=redact(message).text,
        fix=redact(fix).text,
    )


def failure(subject: str, message: str, fix: str) -> DoctorCheck:
    """Return a check that found an error which keeps goop-mcp from working."""
    return DoctorCheck(
        subject=subject,
        outcome=CheckOutcome.ERROR,
        message=redact(message).text,
        fix=redact(fix).text,
    )
