"""Remove secrets and private parts from text before it is stored, indexed, logged or shown.

`redact` is pure, never raises and takes time linear in the length of the text. Redacting a redacted
text changes nothing.
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
