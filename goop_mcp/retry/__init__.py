"""Ask an agent again until its report is accepted, and know when to stop."""

from goop_mcp.retry.ask import EnvelopedAgent, ask_until_accepted, ask_until_accepted_sync, enveloped
from goop_mcp.retry.asking import Asking
from goop_mcp.retry.attempts import Attempt, NotAcceptedError, Outcome, StoppedBecause
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.judging import Task
from goop_mcp.retry.policy import PolicyError, RetryPolicy
from goop_mcp.retry.replies import Agent, Conversation, Message, Reply, ReplyTypeError, Usage, Way

__all__ = [
    "Agent",
    "Asking",
    "Attempt",
    "Conversation",
    "EnvelopedAgent",
    "Hooks",
    "Message",
    "NotAcceptedError",
    "Outcome",
    "PolicyError",
    "Reply",
    "ReplyTypeError",
    "RetryPolicy",
    "StoppedBecause",
    "Task",
    "Usage",
    "Way",
    "ask_until_accepted",
    "ask_until_accepted_sync",
    "enveloped",
]
