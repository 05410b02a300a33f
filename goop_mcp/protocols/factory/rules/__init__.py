"""All rules of the factory family, listed by hand."""

from goop_mcp.protocols.factory.rules.contradictions import CONTRADICTION_RULES
from goop_mcp.protocols.factory.rules.questions import QUESTION_RULES
from goop_mcp.protocols.factory.rules.structure import STRUCTURE_RULES
from goop_mcp.protocols.factory.rules.success import SUCCESS_RULES
from goop_mcp.protocols.factory.rules.values import VALUE_RULES
from goop_mcp.protocols.factory.rules.verdict import VERDICT_RULES

__all__ = ["MODEL_RULES", "RULES"]

RULES = (
    *STRUCTURE_RULES,
    *VALUE_RULES,
    *SUCCESS_RULES,
    *QUESTION_RULES,
    *VERDICT_RULES,
    *CONTRADICTION_RULES,
)

MODEL_RULES = tuple(rule for rule in RULES if rule.check is not None)
"""The rules that judge a whole reply; the others are reported where a value is read."""
