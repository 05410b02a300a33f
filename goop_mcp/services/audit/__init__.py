"""What agents claimed in transcripts that are there already, compared with what they ran.

Reads only: nothing is changed, and nothing is sent.
"""

from goop_mcp.services.audit.auditing import audit
from goop_mcp.services.audit.page import audit_page
from goop_mcp.services.audit.places import Found, Places, find_transcripts, home_places
from goop_mcp.services.audit.results import Audit, AuditLimits, Case

__all__ = [
    "Audit",
    "AuditLimits",
    "Case",
    "Found",
    "Places",
    "audit",
    "audit_page",
    "find_transcripts",
    "home_places",
]
