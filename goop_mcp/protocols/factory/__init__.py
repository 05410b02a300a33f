"""The JSON that Factory agents answer with, and the Markdown that stands for it."""

from goop_mcp.protocols.factory.family import FACTORY
from goop_mcp.protocols.factory.model import Reply
from goop_mcp.protocols.factory.writing import write_reply

__all__ = ["FACTORY", "Reply", "write_reply"]
