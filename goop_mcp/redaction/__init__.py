"""Remove secrets and private parts from text before it is stored, indexed, logged or shown.

`redact` is pure, never raises and takes time linear in the length of the text. Redacting a redacted
text changes nothing.

The patterns are loaded when one of the names is first used: most calls have nothing to redact.
"""

from goop_mcp.on_demand import names_on_demand

# Not that of `typing`, which a hook would load for nothing else.
TYPE_CHECKING = False

__all__ = [
    "PRIVATE",
    "REDACTED",
    "KnownSecrets",
    "Redacted",
    "Replaced",
    "find_secrets",
    "hide_secrets",
    "map_texts",
    "may_hold_secrets",
    "redact",
    "redact_structure",
    "shareable",
    "with_marks",
]

if TYPE_CHECKING:
    from goop_mcp.redaction.known import KnownSecrets
    from goop_mcp.redaction.redacting import PRIVATE, REDACTED, Redacted, may_hold_secrets, redact
    from goop_mcp.redaction.spans import Replaced, with_marks
    from goop_mcp.redaction.structures import (
        find_secrets,
        hide_secrets,
        map_texts,
        redact_structure,
        shareable,
    )
else:
    __getattr__ = names_on_demand(
        __name__,
        {
            "PRIVATE": "redacting",
            "REDACTED": "redacting",
            "KnownSecrets": "known",
            "Redacted": "redacting",
            "Replaced": "spans",
            "find_secrets": "structures",
            "hide_secrets": "structures",
            "map_texts": "structures",
            "may_hold_secrets": "redacting",
            "redact": "redacting",
            "redact_structure": "structures",
            "shareable": "structures",
            "with_marks": "spans",
        },
    )
