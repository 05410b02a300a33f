"""What must never be lost: one database behind a small interface.

Those named here are loaded by their first use: many a process never opens a database.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["measured", "opening"]

if TYPE_CHECKING:
    from goop_mcp.store import measured, opening
else:
    __getattr__ = modules_on_demand(__name__, __all__)
