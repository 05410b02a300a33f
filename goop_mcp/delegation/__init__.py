"""Delegation graphs: who does what after whom, kept in the store so that a crash loses nothing."""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import names_on_demand

__all__ = [
    "Gate",
    "Graph",
    "GraphAgent",
    "GraphError",
    "GraphLimits",
    "GraphOutcome",
    "GraphRetry",
    "KeptRun",
    "ProcrastinateDispatcher",
    "RunError",
    "RunView",
    "Task",
    "TaskOutcome",
    "events",
    "resume",
    "run_graph",
    "run_task",
]

if TYPE_CHECKING:
    from goop_mcp.delegation.changes import RunError
    from goop_mcp.delegation.dispatch import run_task
    from goop_mcp.delegation.graph import Graph, GraphError
    from goop_mcp.delegation.kept_runs import KeptRun
    from goop_mcp.delegation.parts import Gate, GraphAgent, GraphLimits, GraphRetry, Task
    from goop_mcp.delegation.procrastinate_queue import ProcrastinateDispatcher
    from goop_mcp.delegation.run_views import RunView, events
    from goop_mcp.delegation.runner import GraphOutcome, TaskOutcome, resume, run_graph
else:
    __getattr__ = names_on_demand(
        __name__,
        {
            "Gate": "parts",
            "Graph": "graph",
            "GraphAgent": "parts",
            "GraphError": "graph",
            "GraphLimits": "parts",
            "GraphOutcome": "runner",
            "GraphRetry": "parts",
            "KeptRun": "kept_runs",
            # Needs the extra of that name.
            "ProcrastinateDispatcher": "procrastinate_queue",
            "RunError": "changes",
            "RunView": "run_views",
            "Task": "parts",
            "TaskOutcome": "runner",
            "events": "run_views",
            "resume": "runner",
            "run_graph": "runner",
            "run_task": "dispatch",
        },
    )
