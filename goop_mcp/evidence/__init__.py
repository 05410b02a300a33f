"""What is known about an agent's work apart from its own report: commands, files, tool calls.

Pure: readers turn what a host keeps into an `AgentActivity`, the rules compare it with the claims
of a report. Loaded only where a caller passes evidence, and each name on first use: a hook and the
recorder need few of them.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import names_on_demand

__all__ = [
    "NO_ACTIVITY",
    "AgentActivity",
    "Evidence",
    "EvidenceSource",
    "KnownRuns",
    "ObservedCall",
    "ObservedCommand",
    "ObservedFile",
    "ObservedMemory",
    "RecordedRun",
    "RunCounts",
    "WorkTree",
]

if TYPE_CHECKING:
    from goop_mcp.evidence.activity import (
        NO_ACTIVITY,
        AgentActivity,
        ObservedCall,
        ObservedCommand,
        ObservedFile,
        ObservedMemory,
    )
    from goop_mcp.evidence.evidence import Evidence, EvidenceSource
    from goop_mcp.evidence.recorded_runs import KnownRuns, RecordedRun, RunCounts, WorkTree
else:
    __getattr__ = names_on_demand(
        __name__,
        {
            "NO_ACTIVITY": "activity",
            "AgentActivity": "activity",
            "Evidence": "evidence",
            "EvidenceSource": "evidence",
            "KnownRuns": "recorded_runs",
            "ObservedCall": "activity",
            "ObservedCommand": "activity",
            "ObservedFile": "activity",
            "ObservedMemory": "activity",
            "RecordedRun": "recorded_runs",
            "RunCounts": "recorded_runs",
            "WorkTree": "recorded_runs",
        },
    )
