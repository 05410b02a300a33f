"""The store on PostgreSQL, for several machines.

Imported only for a URL of PostgreSQL, as importing the driver takes 0.1 s.
"""

from goop_mcp.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
