"""The project folder: read its documents, write ours atomically, report where they disagree.

The modules named here are loaded on first use: many processes read no file of a project.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = [
    "claimed_memories",
    "definitions",
    "document_lookup",
    "files",
    "git",
    "goopspec_database",
    "replacing",
]

if TYPE_CHECKING:
    from goop_mcp.workspace import (
        claimed_memories,
        definitions,
        document_lookup,
        files,
        git,
        goopspec_database,
        replacing,
    )
else:
    __getattr__ = modules_on_demand(__name__, __all__)
