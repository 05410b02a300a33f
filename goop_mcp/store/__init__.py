"""The database: reports, events, memories and attempts of a project, on SQLite or PostgreSQL.

The modules named here are loaded on first use, as most processes never open a database.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import modules_on_demand

__all__ = ["graph_rows", "measured", "migrations", "opening", "sqlite"]

if TYPE_CHECKING:
    from goop_mcp.store import graph_rows, measured, migrations, opening, sqlite
else:
    __getattr__ = modules_on_demand(__name__, __all__)
