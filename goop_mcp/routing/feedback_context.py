"""The FEEDBACK_CONTEXT for an agent that runs again because of findings (S-05 to S-08, S-28)."""

import json
from collections.abc import Sequence

from goop_mcp.routing.views import Issue

__all__ = ["UNKNOWN_LOCATION", "compose_feedback_context"]

UNKNOWN_LOCATION = "unknown:0"
"""Stands where an issue has no place, in the form `file:line` that the field needs."""

_ENCODE = json.JSONEncoder(ensure_ascii=False).encode


def compose_feedback_context(
    feedback_from: str, issues: Sequence[Issue], *, iteration: int, max_iterations: int
) -> str:
    """Return the text block with `issues` in their order, one a line; `iteration` counts from 1."""
    # Line by line: the encoder's own indentation would cost more than the rest of a decision.
    values = [
        {
            "severity": issue.severity,
            "type": issue.type,
            "message": issue.message,
            "location": issue.location or UNKNOWN_LOCATION,
            "recommendation": issue.fix or "Fix what the message describes.",
        }
        for issue in issues
    ]
    listed = ",\n".join(f"    {_ENCODE(each)}" for each in values)

    return (
        "FEEDBACK_CONTEXT:\n"
        "{\n"
        f'  "feedback_from": {_ENCODE(feedback_from)},\n'
        f'  "iteration": {iteration},\n'
        f'  "max_iterations": {max_iterations},\n'
        f'  "issues_to_fix": [\n{listed}\n  ]\n'
        "}\n"
    )
