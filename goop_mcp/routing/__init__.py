"""Route a verdict: a pure function from a verdict and a context to a decision."""

from goop_mcp.routing.context import RoutingContext
from goop_mcp.routing.context_parts import Counters, Policy, RoutingLimits, SessionState
from goop_mcp.routing.decision import Action, Decision, Retry, SessionResult
from goop_mcp.routing.router import route
from goop_mcp.routing.views import Issue, Option, OutcomeKind, Question

__all__ = [
    "Action",
    "Counters",
    "Decision",
    "Issue",
    "Option",
    "OutcomeKind",
    "Policy",
    "Question",
    "Retry",
    "RoutingContext",
    "RoutingLimits",
    "SessionResult",
    "SessionState",
    "route",
]
