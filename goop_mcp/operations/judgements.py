"""Count what was judged where nobody keeps attempts, so that statistics can tell of it later."""

import logging
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from goop_mcp.errors import StoreError
from goop_mcp.redaction import redact
from goop_mcp.store.interface import Store
from goop_mcp.store.records import NewJudgement, Surface
from goop_mcp.validation.findings import Finding, Severity
from goop_mcp.validation.verdict import Verdict

__all__ = ["agent_named", "count_judgement", "judgement_of", "storable"]

_PATIENCE: Final = 2.0  # seconds; an answer is not held up for statistics
_LONGEST_NAME: Final = 200
# What no database keeps: NUL, and halves of characters.
_UNSTORABLE: Final[Mapping[int, str]] = {
    0: "\ufffd",
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),
}
_log = logging.getLogger(__name__)


def judgement_of(
    verdict: Verdict,
    *,
    surface: Surface,
    now: str,
    agent: str | None = None,
    session_id: str | None = None,
    number: int | None = None,
    ended: str | None = None,
    result: Literal["accepted", "rejected"] | None = None,
    findings: Sequence[Finding] | None = None,
) -> NewJudgement:
    """Return what is kept of `verdict`: names of rules and whose reply it was, not a word of it.

    `agent` is who was asked, for an envelope that names nobody. `result` and `findings` are given
    where somebody weighed the verdict differently.
    """
    weighed = verdict.findings if findings is None else findings
    return NewJudgement(
        surface=surface,
        result=result or verdict.verdict,
        has_envelope=any(candidate.chosen for candidate in verdict.candidates),
        created_at=now,
        protocol=verdict.protocol,
        agent=_name(agent_named(verdict) or agent),
        session_id=_name(session_id),
        rules=tuple(
            sorted({finding.rule for finding in weighed if finding.severity is Severity.ERROR})
        ),
        number=number,
        ended=ended,
    )


def count_judgement(store: Store, judgement: NewJudgement, *, asked_for: bool = False) -> None:
    """Keep `judgement`; a failure is only logged.

    A database is made for it only where it was `asked_for`.
    """
    try:
        if asked_for or store.exists():
            store.write(lambda writing: writing.add_judgement(judgement), timeout=_PATIENCE)
    except StoreError as error:
        _log.warning("a judgement could not be counted: %s", error)


def agent_named(verdict: Verdict | None) -> str | None:
    """Return whom the envelope names as its writer, None when it names nobody."""
    envelope = verdict.envelope if verdict is not None else None
    name = envelope.to_dict().get("agent") if envelope is not None else None
    return name if isinstance(name, str) and name else None


def storable(text: str | None) -> str | None:
    """Return `text` with a mark in place of each character that no database keeps."""
    return None if text is None else text.translate(_UNSTORABLE)


def _name(text: str | None) -> str | None:
    """Return a name that somebody gave, short and without secrets; None for none."""
    return storable(redact(" ".join(text.split())).text[:_LONGEST_NAME]) if text else None
