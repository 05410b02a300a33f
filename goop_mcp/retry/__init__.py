"""Ask agents again until their reports are accepted, and know when to stop."""

from typing import TYPE_CHECKING

from goop_mcp.errors import PolicyError, ReplyTypeError
from goop_mcp.on_demand import names_on_demand
from goop_mcp.retry.agent_records import AgentUnavailableError
from goop_mcp.retry.ask import (
    EnvelopedAgent,
    ask_until_accepted,
    ask_until_accepted_sync,
    enveloped,
)
from goop_mcp.retry.asking import Asking
from goop_mcp.retry.attempts import (
    Attempt,
    NotAcceptedError,
    Outcome,
    RecordedError,
    StoppedBecause,
)
from goop_mcp.retry.budget import shared_budget
from goop_mcp.retry.calls import AgentInterruptedError
from goop_mcp.retry.hooks import Hooks
from goop_mcp.retry.jobs import Job
from goop_mcp.retry.many import ask_many
from goop_mcp.retry.policy import RetryPolicy
from goop_mcp.retry.replies import Agent, Conversation, Message, Reply, Usage, Way
from goop_mcp.retry.review import Review

__all__ = [
    "Agent",
    "AgentInterruptedError",
    "AgentUnavailableError",
    "Asking",
    "Attempt",
    "Conversation",
    "EnvelopedAgent",
    "Following",
    "Hooks",
    "Job",
    "Journey",
    "JourneyEnd",
    "Message",
    "NotAcceptedError",
    "Outcome",
    "PolicyError",
    "RecordedError",
    "Reply",
    "ReplyTypeError",
    "RetryPolicy",
    "Review",
    "Step",
    "StoppedBecause",
    "Usage",
    "Way",
    "ask_many",
    "ask_until_accepted",
    "ask_until_accepted_sync",
    "enveloped",
    "follow",
    "shared_budget",
]

if TYPE_CHECKING:
    from goop_mcp.retry.following import Following, follow
    from goop_mcp.retry.journey import Journey, JourneyEnd, Step
else:
    # What needs the router: nobody who only asks pays for it.
    __getattr__ = names_on_demand(
        __name__,
        {
            "Following": "following",
            "Journey": "journey",
            "JourneyEnd": "journey",
            "Step": "journey",
            "follow": "following",
        },
    )
