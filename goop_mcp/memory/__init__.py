"""What a project remembers: saved once and without secrets, found by words, forgotten only when asked.

Those named here are loaded by their first use: they bring the database with them.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["drafts", "keeping", "saving", "searching"]

if TYPE_CHECKING:
    from goop_mcp.memory import drafts, keeping, saving, searching
else:
    __getattr__ = modules_on_demand(__name__, __all__)
