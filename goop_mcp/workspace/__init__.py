"""The project folder: read its documents, write ours whole or not at all, report where they disagree (WORKFLOW).

Those named here are loaded by their first use: many a process looks at no file of a project.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["files", "places", "replacing"]

if TYPE_CHECKING:
    from goop_mcp.workspace import files, places, replacing
else:
    __getattr__ = modules_on_demand(__name__, __all__)
