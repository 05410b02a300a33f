"""The pages about the protocols, for authors of agents and orchestrators."""

from goop_mcp.assets import list_assets, read_asset
from goop_mcp.errors import UnknownNameError

__all__ = ["list_documents", "read_document"]

_SUFFIX = ".md"


def list_documents() -> tuple[str, ...]:
    """Return the names of the protocols with a page, sorted."""
    return tuple(name.removesuffix(_SUFFIX) for name in list_assets("docs", _SUFFIX))


def read_document(protocol: str) -> str:
    """Return the page about `protocol` as Markdown.

    Raises UnknownNameError, which suggests the nearest name.
    """
    known = list_documents()
    if protocol not in known:
        raise UnknownNameError("document", protocol, known)
    return read_asset("docs", protocol + _SUFFIX)
