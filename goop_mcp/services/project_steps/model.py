"""What a step is, what it would do, and what became of it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from goop_mcp.errors import GoopError
from goop_mcp.redaction import redact
from goop_mcp.services.project_context import ProjectContext
from goop_mcp.services.project_snapshot import ProjectSnapshot
from goop_mcp.services.project_step import ProjectStep
from goop_mcp.store.interface import ReadTransaction, WriteTransaction
from goop_mcp.store.records import Confirmation, KeptDocument, KeptStep
from goop_mcp.validation.findings import Finding, excerpt, one_line
from goop_mcp.workflow.gates import GateFacts, GateName, GateResult, judge_gate
from goop_mcp.workspace.checkpoints import checkpoint_id
from goop_mcp.workspace.documents.blueprint import Blueprint
from goop_mcp.workspace.file_changes import GuardedWrite
from goop_mcp.workspace.replacing import sha256
from goop_mcp.workspace.report_claims import RoundClaims
from goop_mcp.workspace.state import ProjectState
from goop_mcp.workspace.state_changes import StateChange

__all__ = [
    "MOST_OF_A_REASON",
    "QUESTION_WIDTH",
    "NotDone",
    "Plan",
    "Restored",
    "Stage",
    "StepArgumentError",
    "StepQuestion",
    "StepResult",
    "digest_of",
    "question_lines",
]

QUESTION_WIDTH = 100
"""How many characters of a line the dialogs of hosts show."""

MOST_OF_A_REASON = 500
"""How many characters of a reason or comment are kept."""

StepStatus = Literal["done", "unchanged", "refused", "waiting"]


class StepArgumentError(GoopError, ValueError):
    """Raised when an argument of a step is missing or wrong; the text says what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """What became of a step.

    `message` is Markdown for people and agents. A step that waits has its `confirmation`, the
    `question` (lines of `question_lines`), the positive and the negative choice, and the `command`
    by which a person answers; a refused one has what is `missing` and the command to run. `undo`
    says how to take the step back. `findings` are warnings such as a step back.
    `claims` is what a round rests on that is accepted, None for any other step.
    """

    status: StepStatus
    action: str
    message: str
    phase: str | None = None
    phase_before: str | None = None
    round: int = 1
    confirmation: Confirmation | None = None
    question: tuple[str, ...] = ()
    choices: tuple[str, str] | None = None
    command: str | None = None
    missing: tuple[str, ...] = ()
    undo: str | None = None
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    revision: int | None = None
    claims: RoundClaims | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        asked = self.confirmation
        return {
            "status": self.status,
            "action": self.action,
            "message": self.message,
            "phase": self.phase,
            "phase_before": self.phase_before,
            "round": self.round,
            "confirmation": {
                "id": asked.id,
                "action": asked.action,
                "subject": asked.subject,
                "asked_by": asked.asked_by,
                "asked_at": asked.asked_at,
            }
            if asked is not None
            else None,
            "question": list(self.question),
            "choices": list(self.choices) if self.choices is not None else [],
            "command": self.command,
            "missing": list(self.missing),
            "undo": self.undo,
            "findings": [finding.to_dict() for finding in self.findings],
            "files": list(self.files),
            "resources": list(self.resources),
            "remarks": list(self.remarks),
            "revision": self.revision,
            "claims": self.claims.to_dict() if self.claims is not None else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StepQuestion:
    """What a person confirms: `subject` identifies exactly what, `key` separates equal actions.

    `lines` are those of `question_lines`.
    """

    lines: tuple[str, ...]
    choices: tuple[str, str]
    subject: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a step would do.

    `entry` is its line in CHRONICLE.md, `log` its entry in ADL.md, None for a step that decides
    nothing. `spec` is the new text of SPEC.md. `keeps` are the texts to keep for later
    comparison, by document and step. `step` is the step as a request for its confirmation keeps it,
    None if that is as it was asked for. `claims` are those of the result. `then` adds the other
    rows and returns the other files to write.
    """

    message: str
    entry: str
    log: str | None = None
    change: StateChange = field(default_factory=StateChange)
    asks: StepQuestion | None = None
    undo: str | None = None
    spec: str | None = None
    keeps: Mapping[tuple[str, KeptStep], str] = field(default_factory=dict)
    step: ProjectStep | None = None
    claims: RoundClaims | None = None
    then: Callable[[WriteTransaction], tuple[GuardedWrite, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotDone:
    """Why a step is not done. `unchanged` means that there is nothing to do."""

    message: str
    missing: tuple[str, ...] = ()
    command: str | None = None
    unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """An unreadable state that was replaced: the checkpoint it comes from, and a line about it."""

    id: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The project as a step finds it, within its transaction."""

    step: ProjectStep
    context: ProjectContext
    reading: ReadTransaction
    snapshot: ProjectSnapshot
    state: ProjectState
    by: str
    now: str
    restored: Restored | None = None

    @property
    def blueprint(self) -> Blueprint | None:
        """The plan, None if it is not written yet."""
        return self.snapshot.project.blueprint

    @property
    def has_folder(self) -> bool:
        """Whether the project's folder is on this machine."""
        return self.snapshot.project.has_folder

    @property
    def round(self) -> int:
        """The number of the newest round."""
        return self.snapshot.round.number

    @property
    def next_checkpoint(self) -> str:
        """The id of a checkpoint that this step saves."""
        return checkpoint_id(now=self.now, revision=self.reading.revision() + 1)

    def text_of(self, document: str) -> str:
        """Return the text of a document of people that exists."""
        return self.snapshot.project.sources[document]

    def gate(self, name: GateName, facts: GateFacts | None = None) -> GateResult:
        """Return the result of a gate, for `facts` as they will be or for the present ones."""
        return judge_gate(name, facts or self.snapshot.facts)

    def kept(self, document: str, step: KeptStep) -> KeptDocument | None:
        """Return the document as a step of this round kept it, None without one."""
        return self.reading.kept_document(document, step=step, round=self.round)

    def reason(self) -> str:
        """Return the reason of a step that must have one. Raises StepArgumentError."""
        reason = (self.step.reason or "").strip()
        if not reason:
            raise StepArgumentError(
                f"reason is missing; {self.step.action} is logged in ADL.md with its reason"
            )
        return redact(excerpt(reason, MOST_OF_A_REASON)).text


def question_lines(about: str, *lines: str) -> tuple[str, ...]:
    """Return the lines of a question, the filled ones of `lines` in whole.

    They hold what is recorded in the name of the person who confirms it, such as the reason that an
    agent gave: whoever shows a part of them asks for another thing than is done. `about` is cut.
    """
    return (excerpt(about, QUESTION_WIDTH), *(one_line(each) for each in lines if each.strip()))


def digest_of(*parts: str) -> str:
    """Return a digest of what is confirmed where it is not a document."""
    return sha256(json.dumps(parts, ensure_ascii=False).encode())
