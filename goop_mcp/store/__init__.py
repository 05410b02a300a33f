"""What must never be lost: one database behind a small interface.

The module named here is loaded by its first use: many a process never opens a database.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["opening"]

if TYPE_CHECKING:
    from goop_mcp.store import opening
else:
    __getattr__ = modules_on_demand(__name__, __all__)
