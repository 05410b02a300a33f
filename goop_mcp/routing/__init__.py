"""Route a verdict: a pure function from a verdict and a context to a decision.

The names are loaded on first use: a hook needs a part of this package, and starts with each event.
"""

from typing import TYPE_CHECKING

from goop_mcp.on_demand import names_on_demand

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

if TYPE_CHECKING:
    from goop_mcp.routing.context import RoutingContext
    from goop_mcp.routing.context_parts import Counters, Policy, RoutingLimits, SessionState
    from goop_mcp.routing.decision import Action, Decision, Retry, SessionResult
    from goop_mcp.routing.router import route
    from goop_mcp.routing.views import Issue, Option, OutcomeKind, Question
else:
    __getattr__ = names_on_demand(
        __name__,
        {
            "Action": "decision",
            "Counters": "context_parts",
            "Decision": "decision",
            "Issue": "views",
            "Option": "views",
            "OutcomeKind": "views",
            "Policy": "context_parts",
            "Question": "views",
            "Retry": "decision",
            "RoutingContext": "context",
            "RoutingLimits": "context_parts",
            "SessionResult": "decision",
            "SessionState": "context_parts",
            "route": "router",
        },
    )
