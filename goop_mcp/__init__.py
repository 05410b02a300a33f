"""Check, repair and route the envelopes that agents end their replies with.

>>> from goop_mcp import validate
>>> validate("Done. All tests pass.").verdict
'rejected'
"""

from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.on_demand import names_on_demand

# Not that of `typing`: to load it takes a third as long as Python's start, which a host waits for.
TYPE_CHECKING = False

__all__ = [
    "Attempt",
    "Candidate",
    "Decision",
    "Example",
    "Expectations",
    "Finding",
    "GoopError",
    "Hit",
    "Hooks",
    "Job",
    "Limits",
    "NotAcceptedError",
    "Outcome",
    "Repair",
    "RetryPolicy",
    "RoutingContext",
    "Rule",
    "Severity",
    "UnknownNameError",
    "Verdict",
    "__version__",
    "ask_many",
    "ask_until_accepted",
    "ask_until_accepted_sync",
    "enveloped",
    "follow",
    "route",
    "shared_budget",
    "validate",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from goop_mcp.protocols import validate
    from goop_mcp.retry import (
        Attempt,
        Hooks,
        Job,
        NotAcceptedError,
        Outcome,
        RetryPolicy,
        ask_many,
        ask_until_accepted,
        ask_until_accepted_sync,
        enveloped,
        follow,
        shared_budget,
    )
    from goop_mcp.routing import Decision, RoutingContext, route
    from goop_mcp.validation.expectations import Expectations
    from goop_mcp.validation.findings import Finding, Hit, Repair, Severity
    from goop_mcp.validation.limits import Limits
    from goop_mcp.validation.rules import Example, Rule
    from goop_mcp.validation.verdict import Candidate, Verdict
else:
    # Importing only what is used makes a start that only validates several times faster.
    __getattr__ = names_on_demand(
        __name__,
        {
            "Attempt": "retry",
            "Candidate": "validation.verdict",
            "Decision": "routing",
            "Example": "validation.rules",
            "Expectations": "validation.expectations",
            "Finding": "validation.findings",
            "Hit": "validation.findings",
            "Hooks": "retry",
            "Job": "retry",
            "Limits": "validation.limits",
            "NotAcceptedError": "retry",
            "Outcome": "retry",
            "Repair": "validation.findings",
            "RetryPolicy": "retry",
            "RoutingContext": "routing",
            "Rule": "validation.rules",
            "Severity": "validation.findings",
            "Verdict": "validation.verdict",
            "ask_many": "retry",
            "ask_until_accepted": "retry",
            "ask_until_accepted_sync": "retry",
            "enveloped": "retry",
            "follow": "retry",
            "route": "routing",
            "shared_budget": "retry",
            "validate": "protocols",
        },
    )
