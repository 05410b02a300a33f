"""The store on one SQLite file in the project."""

from goop_mcp.store.sqlite.connection import DatabaseFile
from goop_mcp.store.sqlite.store import LOCK_FILE, SqliteStore

__all__ = ["LOCK_FILE", "DatabaseFile", "SqliteStore"]
