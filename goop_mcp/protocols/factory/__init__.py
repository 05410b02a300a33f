"""The JSON that Factory agents answer with, and the Markdown in its place."""

from goop_mcp.protocols.factory.family import FACTORY
from goop_mcp.protocols.factory.model import Reply
from goop_mcp.protocols.factory.writing import write_reply

__all__ = ["FACTORY", "Reply", "write_reply"]
