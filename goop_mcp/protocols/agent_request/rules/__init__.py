"""All rules of the agent_request family, listed by hand."""

from goop_mcp.protocols.agent_request.rules.placement import PLACEMENT_RULES
from goop_mcp.protocols.agent_request.rules.session import SESSION_RULES
from goop_mcp.protocols.agent_request.rules.structure import STRUCTURE_RULES
from goop_mcp.protocols.agent_request.rules.task import TASK_RULES
from goop_mcp.protocols.agent_request.rules.values import VALUE_RULES

__all__ = ["MODEL_RULES", "RULES"]

RULES = (*PLACEMENT_RULES, *STRUCTURE_RULES, *VALUE_RULES, *TASK_RULES, *SESSION_RULES)

MODEL_RULES = tuple(rule for rule in RULES if rule.check is not None)
"""The rules that judge a whole request; the others are reported where a value is read."""
