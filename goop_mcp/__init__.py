"""Check, repair and route the envelopes that agents end their replies with.

>>> from goop_mcp import validate
>>> validate("Done. All tests pass.").verdict
'rejected'
"""

from goop_mcp.errors import GoopError, UnknownNameError
from goop_mcp.protocols import validate
from goop_mcp.routing import Decision, RoutingContext, route
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Finding, Repair, Severity
from goop_mcp.validation.limits import Limits
from goop_mcp.validation.verdict import Candidate, Verdict

__all__ = [
    "Candidate",
    "Decision",
    "Expectations",
    "Finding",
    "GoopError",
    "Limits",
    "Repair",
    "RoutingContext",
    "Severity",
    "UnknownNameError",
    "Verdict",
    "__version__",
    "route",
    "validate",
]

__version__ = "0.1.0"
