"""The pages about the protocols, for authors of agents and orchestrators."""

from goop_mcp.assets import list_assets, read_asset
from goop_mcp.errors import UnknownNameError
from goop_mcp.messages.boxes import principles

__all__ = ["list_documents", "read_document"]

_SUFFIX = ".md"
_WITH_PRINCIPLES = "goop_report"


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
    page = read_asset("docs", protocol + _SUFFIX)
    if protocol != _WITH_PRINCIPLES:
        return page

    # After the heading: whoever opens the page to write a report reads them first (P-04).
    heading, _, rest = page.partition("\n")
    return f"{heading}\n\n```text\n{principles()}\n```\n{rest}"
