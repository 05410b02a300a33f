"""The names of the gates, apart from what they ask: every reader of a command needs only these."""

from enum import StrEnum

__all__ = ["GateName"]


class GateName(StrEnum):
    """The five gates, in the order in which a project meets them."""

    DISCOVERY = "Discovery"
    SPEC = "Spec"
    EXECUTION = "Execution"
    ACCEPTANCE = "Acceptance"
    MERGE = "Merge"
