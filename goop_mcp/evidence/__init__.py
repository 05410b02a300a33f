"""What is known about an agent's work apart from its own report: commands, files, tool calls.

Pure: readers turn what a host keeps into an `AgentActivity`, the rules compare it with the claims
of a report. Loaded only where a caller passes evidence.
"""

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
