"""All rules of the goop_report family, listed by hand."""

from goop_mcp.protocols.goop_report.rules.agent import AGENT_RULES
from goop_mcp.protocols.goop_report.rules.artifacts import ARTIFACT_RULES
from goop_mcp.protocols.goop_report.rules.handoff import HANDOFF_RULES
from goop_mcp.protocols.goop_report.rules.legacy_forms import LEGACY_FORM_RULES
from goop_mcp.protocols.goop_report.rules.memory import MEMORY_RULES
from goop_mcp.protocols.goop_report.rules.state import STATE_RULES
from goop_mcp.protocols.goop_report.rules.status import STATUS_RULES
from goop_mcp.protocols.goop_report.rules.structure import STRUCTURE_RULES
from goop_mcp.protocols.goop_report.rules.summary import SUMMARY_RULES
from goop_mcp.protocols.goop_report.rules.values import VALUE_RULES
from goop_mcp.protocols.goop_report.rules.verification import VERIFICATION_RULES

__all__ = ["MODEL_RULES", "RULES"]

RULES = (
    *STRUCTURE_RULES,
    *VALUE_RULES,
    *STATUS_RULES,
    *AGENT_RULES,
    *STATE_RULES,
    *SUMMARY_RULES,
    *ARTIFACT_RULES,
    *MEMORY_RULES,
    *VERIFICATION_RULES,
    *HANDOFF_RULES,
    *LEGACY_FORM_RULES,
)

MODEL_RULES = tuple(rule for rule in RULES if rule.check is not None)
"""The rules that judge a whole report; the others are reported where a value is read."""
