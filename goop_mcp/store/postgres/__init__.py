"""The store on PostgreSQL, for several machines.

Loaded for such a URL only: the driver costs a start 0.1 s.
"""

from goop_mcp.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
