"""Put the application together: the one place that knows which database a project uses."""

from pathlib import Path

from goop_mcp.store.interface import Store
from goop_mcp.store.sqlite import SqliteStore
from goop_mcp.workspace.layout import DATABASE, document_path

__all__ = ["open_store"]


def open_store(project: Path) -> Store:
    """Return the memory of `project`; it is opened when first asked, and created when first written."""
    name = document_path(DATABASE)
    return SqliteStore(project / name, name=name)
