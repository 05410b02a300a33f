"""The memories of a project: saved once and without secrets, found by words or by meaning.

The modules named here are loaded on first use, as they import the database.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["drafts", "repository", "saving", "searching"]

if TYPE_CHECKING:
    from goop_mcp.memory import drafts, repository, saving, searching
else:
    __getattr__ = modules_on_demand(__name__, __all__)
