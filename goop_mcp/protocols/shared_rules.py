"""The rules that belong to no one family."""

from typing import Final

from goop_mcp.evidence.rules import ACTIVITY_RULES, CORRECTION_RULES
from goop_mcp.messages import VISUAL_STYLE_RULES
from goop_mcp.validation.envelope_rules import ENVELOPE_RULES
from goop_mcp.validation.evidence_rules import EVIDENCE_RULES
from goop_mcp.validation.json_rules import JSON_RULES
from goop_mcp.validation.path_rules import PATH_RULES
from goop_mcp.validation.xml_rules import XML_RULES
from goop_mcp.workflow import memory_rules, project_rules, rules

__all__ = ["FORM_RULES", "PROJECT_RULES"]

FORM_RULES: Final = (
    *ENVELOPE_RULES,
    *XML_RULES,
    *JSON_RULES,
    *PATH_RULES,
    *EVIDENCE_RULES,
    *ACTIVITY_RULES,
    *CORRECTION_RULES,
)
"""What holds for the envelopes of every family; listed before theirs."""

PROJECT_RULES: Final = (
    *VISUAL_STYLE_RULES,
    *rules.WORKFLOW_RULES,
    *project_rules.PROJECT_RULES,
    *memory_rules.MEMORY_RULES,
)
"""Rules for messages, work, documents and memories; listed after those of the families."""
