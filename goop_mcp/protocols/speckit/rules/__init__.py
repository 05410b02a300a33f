"""All rules of the speckit family, listed by hand."""

from goop_mcp.protocols.speckit.rules.agent import AGENT_RULES
from goop_mcp.protocols.speckit.rules.contexts import CONTEXT_RULES
from goop_mcp.protocols.speckit.rules.contradictions import CONTRADICTION_RULES
from goop_mcp.protocols.speckit.rules.counts import COUNT_RULES
from goop_mcp.protocols.speckit.rules.errors import ERROR_RULES
from goop_mcp.protocols.speckit.rules.gates import GATE_RULES
from goop_mcp.protocols.speckit.rules.structure import STRUCTURE_RULES
from goop_mcp.protocols.speckit.rules.values import VALUE_RULES

__all__ = ["INPUT_RULES", "RESPONSE_RULES", "RULES"]

RULES = (
    *STRUCTURE_RULES,
    *VALUE_RULES,
    *AGENT_RULES,
    *ERROR_RULES,
    *GATE_RULES,
    *COUNT_RULES,
    *CONTRADICTION_RULES,
    *CONTEXT_RULES,
)

INPUT_RULES = tuple(rule for rule in CONTEXT_RULES if rule.check is not None)
"""The rules that judge what an agent is given."""

RESPONSE_RULES = tuple(
    rule for rule in RULES if rule.check is not None and rule not in CONTEXT_RULES
)
"""The rules that judge a whole answer; the others are reported where a value is read."""
