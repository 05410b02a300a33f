"""Secrets and private parts taken out of a text, before anything is stored, indexed, logged or shown.

`redact` is pure, never raises and takes time linear to the text. Redacting twice changes nothing more (WORKFLOW,
section 7).
"""

from goop_mcp.redaction.redacting import PRIVATE, REDACTED, Redacted, may_hold_secrets, redact
from goop_mcp.redaction.structures import map_texts, redact_structure

__all__ = [
    "PRIVATE",
    "REDACTED",
    "Redacted",
    "map_texts",
    "may_hold_secrets",
    "redact",
    "redact_structure",
]
