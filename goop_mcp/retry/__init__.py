"""Ask agents again until their reports are accepted, and know when to stop."""

from typing import TYPE_CHECKING

from goop_mcp.errors import PolicyError, ReplyTypeError
from goop_mcp.on_demand import names_on_demand
from goop_mcp.retry.agent_records import AgentUnavailableError
from goop_mcp.retry.ask import (
    EnvelopedAgent,
    JobGroup,
    ask_many,
    ask_until_accepted,
    ask_until_accepted_sync,
    enveloped,
)
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
from goop_mcp.retry.loop import RetryLoop
from goop_mcp.retry.policy import FailedCall, RetryPolicy
from goop_mcp.retry.replies import Agent, Conversation, Message, Reply, Usage, Way
from goop_mcp.retry.review import Review

__all__ = [
    "Agent",
    "AgentInterruptedError",
    "AgentUnavailableError",
    "Attempt",
    "Conversation",
    "EnvelopedAgent",
    "FailedCall",
    "Hooks",
    "Job",
    "JobGroup",
    "Message",
    "NotAcceptedError",
    "Outcome",
    "PolicyError",
    "RecordedError",
    "Reply",
    "ReplyTypeError",
    "RetryLoop",
    "RetryPolicy",
    "Review",
    "Step",
    "StoppedBecause",
    "Usage",
    "Way",
    "WorkflowLoop",
    "WorkflowRun",
    "WorkflowStopReason",
    "ask_many",
    "ask_until_accepted",
    "ask_until_accepted_sync",
    "enveloped",
    "follow",
    "shared_budget",
]

if TYPE_CHECKING:
    from goop_mcp.retry.workflow import Step, WorkflowLoop, WorkflowRun, WorkflowStopReason, follow
else:
    # What needs the router is imported only when it is used.
    __getattr__ = names_on_demand(
        __name__,
        dict.fromkeys(
            ("Step", "WorkflowLoop", "WorkflowRun", "WorkflowStopReason", "follow"), "workflow"
        ),
    )
