"""A reply of an agent's turn compared with its first one (D-108), from what is kept between hooks.

Loaded when a reply is judged: most messages of a main agent are no reports.
"""

import json

from goop_mcp.evidence.corrections import Correction, Stated, has_changed_claims, prose_around
from goop_mcp.services.stop_hooks.attempts import TurnState
from goop_mcp.validation.plain_values import model_from, plain_values
from goop_mcp.validation.verdict import Verdict

__all__ = ["correction_after", "doubt_about", "has_changed_claims", "kept_of"]

# Kilobytes of text, of which a fifth is left.
_LOSS, _LOSS_FACTOR = 1_000, 5


def correction_after(before: TurnState | None) -> Correction:
    """Return the attempt that follows on `before`, which may be None for the first of a turn."""
    if before is None or not before.stated:
        return Correction()
    try:
        return Correction(model_from(Stated, json.loads(before.stated)))
    except ValueError:
        # A file that somebody has damaged, or one of another version.
        return Correction()


def kept_of(correction: Correction, verdict: Verdict) -> tuple[str, int]:
    """Return what to keep of a rejected reply: what it claims, and the length of its prose."""
    stated = correction.stated(verdict)
    claims = "" if stated is None else json.dumps(plain_values(stated))
    return claims, len(prose_around(verdict))


def doubt_about(name: str, verdict: Verdict, before: TurnState | None) -> str | None:
    """Return what a person has to know of an accepted report that lacks text, None for nothing.

    `before` are the attempts of the same turn before it.
    """
    left = len(prose_around(verdict))
    if before is None or before.prose < _LOSS or left * _LOSS_FACTOR > before.prose:
        return None
    return (
        f"goop-mcp accepted the report of {name}; an earlier reply had {before.prose:,} characters"
        f" of text around its envelope, and this one has {left:,}. What it found may only stand in"
        " the earlier reply."
    )
