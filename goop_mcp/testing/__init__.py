"""For your own tests: a scripted agent, and replies corrupted in the ways that models corrupt them.

Fixtures for pytest are in `goop_mcp.testing.plugin`, which nothing here imports.
"""

from goop_mcp.errors import NotCorruptibleError, ScriptEndedError
from goop_mcp.retry.replies import Message, Reply, Usage
from goop_mcp.testing.agents import ScriptedAgent, ScriptedReply
from goop_mcp.testing.cases import KINDS, CorruptedReply, corrupt, load_corpus

__all__ = [
    "KINDS",
    "CorruptedReply",
    "Message",
    "NotCorruptibleError",
    "Reply",
    "ScriptEndedError",
    "ScriptedAgent",
    "ScriptedReply",
    "Usage",
    "corrupt",
    "load_corpus",
]
