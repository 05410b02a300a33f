"""The scopes of tokens: what a caller may do.

Without tokens, on stdio and on this machine, every caller may do everything.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["ALL_SCOPES", "READ", "SCOPES", "WORKSPACE", "WRITE"]

READ: Final = "read"
WRITE: Final = "write"
WORKSPACE: Final = "workspace"

SCOPES: Final[Mapping[str, str]] = {
    READ: (
        "validate replies, read documents, memories and the state of the project; every caller"
        " needs it"
    ),
    WRITE: (
        "call tools that change something: record_report, build_handoff, save_memory, forget_memory"
    ),
    WORKSPACE: "verify claims with the files and commits of the project: check_workspace",
}
"""What each scope allows."""

ALL_SCOPES: Final = frozenset(SCOPES)
