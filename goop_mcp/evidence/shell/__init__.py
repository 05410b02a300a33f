"""Which commands of a shell line its exit status speaks for."""

from goop_mcp.evidence.shell.deciding import Part, parts_of

__all__ = ["Part", "parts_of"]
