"""Run a check, and record on which files it ran and how it ended.

Loaded only where a run is started or recorded runs are compared with a report, and then part by
part, because the command that is to be run waits. Nothing here uses the database;
`goop_mcp.services.recorded_runs` keeps the runs.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["describing", "result_files", "sealing", "tree_digest", "trust"]

if TYPE_CHECKING:
    from goop_mcp.recording import (
        describing,
        result_files,
        sealing,
        tree_digest,
        trust,
    )
else:
    __getattr__ = modules_on_demand(__name__, __all__)
