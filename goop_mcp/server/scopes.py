"""The scopes of tokens: what a caller may do.

On stdio every caller may do everything. Over HTTP without tokens, on this machine, callers may do
all but confirm: what confirms must be given by name.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["ALL_SCOPES", "CONFIRM", "DEFAULT_SCOPES", "READ", "SCOPES", "WORKSPACE", "WRITE"]

READ: Final = "read"
WRITE: Final = "write"
WORKSPACE: Final = "workspace"
CONFIRM: Final = "confirm"

SCOPES: Final[Mapping[str, str]] = {
    READ: (
        "validate replies, read documents, memories and the state of the project; every caller"
        " needs it"
    ),
    WRITE: "change what is recorded, and take the steps of the project",
    WORKSPACE: (
        "verify claims with the files and commits of the project, judge replies in its files, and"
        " open the prompts of its sessions"
    ),
    CONFIRM: "answer what needs a person",
}
"""What each scope allows."""

ALL_SCOPES: Final = frozenset(SCOPES)

DEFAULT_SCOPES: Final = ALL_SCOPES - {CONFIRM}
"""What a token without `scopes` allows, and what a caller without a token may do over HTTP."""
