"""What the text of a check shows: counts of a runner, an exit code, or that nothing ran.

Pure and independent of any protocol: the same reader serves the evidence that agents write and the
output of a command.
"""

from goop_mcp.validation.check_texts.claims import (
    TextFlaw,
    judge_claim,
    judge_summary,
    shows_no_result,
    summary_failure,
)
from goop_mcp.validation.check_texts.results import CheckResult, parse_result
from goop_mcp.validation.check_texts.summaries import admitted_in

__all__ = [
    "CheckResult",
    "TextFlaw",
    "admitted_in",
    "judge_claim",
    "judge_summary",
    "parse_result",
    "shows_no_result",
    "summary_failure",
]
