"""The examples of the workflow's rules, which are JSON objects, as the facts that are judged."""

import json
from dataclasses import fields
from typing import Any

from goop_mcp.workflow.gates import GateFacts
from goop_mcp.workflow.phases import Move
from goop_mcp.workflow.project_rules import ProjectFacts

__all__ = ["gate_facts_in", "move_in", "project_facts_in"]


def gate_facts_in(example: str) -> GateFacts:
    """Return the facts of an example; what it does not name keeps the default."""
    values = json.loads(example)
    return GateFacts(
        **{each.name: values[each.name] for each in fields(GateFacts) if each.name in values}
    )


def move_in(example: str) -> Move:
    """Return the move of an example."""
    return Move(**json.loads(example))


def project_facts_in(example: str) -> ProjectFacts:
    """Return the facts of an example; what it does not name keeps the default."""
    values = json.loads(example)
    known: dict[str, Any] = {
        each.name: tuple(value) if isinstance(value := values[each.name], list) else value
        for each in fields(ProjectFacts)
        if each.name in values
    }
    return ProjectFacts(**known)
