"""Which steps need not be done again: the same agent answered the same prompt before.

What is the same is a key (`Graph.key_of`), of which the keys of all needs are a part: a task that
needs something new is new too, as its work may begin from other files.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from goop_mcp.delegation.changes import KnownStep, key_of_gate, step_of, value_of
from goop_mcp.delegation.graph import Graph
from goop_mcp.delegation.parts import GraphGate, GraphStep, GraphTask
from goop_mcp.delegation.placeholders import INPUT, fill_in
from goop_mcp.redaction import PRIVATE, REDACTED
from goop_mcp.store.graph_rows import GraphTaskRow
from goop_mcp.store.interface import ReadTransaction
from goop_mcp.validation.safe_json import JsonValue

__all__ = ["Reused", "known_steps", "reusable_steps", "reused_from"]

Find = Callable[[GraphStep, str], GraphTaskRow | None]
"""Returns the accepted row of a step with this key, None where it has to be done."""


class Reused(NamedTuple):
    """Where the result of a task is from: the run in which its agent was asked, and the task."""

    run: str
    task: str


def known_steps(graph: Graph, input: JsonValue, find: Find) -> dict[str, KnownStep]:
    """Return the steps of `graph` that `find` has a row for, as all that they need."""
    values: dict[str, JsonValue] = {INPUT: input}
    known: dict[str, KnownStep] = {}
    # Waves in their order, so that the keys of what a task needs are known before its own.
    for wave in graph.waves:
        for name in wave:
            step = graph.steps[name]
            # One that needs something new is new too: its prompt would have other values.
            if not known.keys() >= set(step.needs):
                continue

            prompt = None
            if isinstance(step, GraphGate):
                key = key_of_gate(step)
            else:
                try:
                    # A need without a value, which only a new graph can have.
                    prompt = fill_in(graph.prompt_of(step), values)
                except ValueError:
                    continue
                key = graph.key_of(step, prompt, [known[need].key for need in step.needs])
            row = find(step, key)
            if row is not None:
                known[name] = KnownStep(row, key, prompt)
                values[name] = value_of(row)

    return known


def reusable_steps(
    reading: ReadTransaction, graph: Graph, input: JsonValue
) -> dict[str, KnownStep]:
    """Return the tasks of a new run of `graph` that other runs of the project have results for.

    `input` is the one that the run keeps.
    """
    origins: dict[str, Reused | None] = {}

    @cache
    def origin_at(run: str, id: str) -> Reused | None:
        row = reading.graphs.task(run, id)
        if row is None or row.state != "accepted":
            return None
        return reused_from(row) or Reused(run, id)

    def find(step: GraphStep, key: str) -> GraphTaskRow | None:
        if not isinstance(step, GraphTask) or graph.agent_named[step.agent].by_hand:
            # What a person decided or wrote was about that run.
            return None
        row = reading.graphs.accepted_task(key) if _stays_in_place(step) else None
        if row is None or not _is_whole(row):
            return None
        # A need may have been done once more since: the key is the same, its work is not.
        needs = {origin_at(row.run, need) for need in reading.graphs.needs(row.run, row.id)}
        if needs != {origins[need] for need in step.needs}:
            return None

        origins[step.id] = origin_at(row.run, row.id)
        return row

    return known_steps(graph, _without_secrets(input), find)


def reused_from(row: GraphTaskRow) -> Reused | None:
    """Return where the result of a task is from, None where its own agent was asked for it."""
    found: Mapping[str, str] | None = json.loads(row.result or "{}").get("reused_from")
    return None if row.state != "accepted" or found is None else Reused(**found)


def _without_secrets(input: JsonValue) -> JsonValue:
    """Return the input without its values that were redacted: all passwords look the same then."""
    if not isinstance(input, dict):
        return input
    written = {name: json.dumps(value) for name, value in input.items()}
    return {
        name: value
        for name, value in input.items()
        if REDACTED not in written[name] and PRIVATE not in written[name]
    }


def _stays_in_place(step: GraphStep) -> bool:
    """Whether all that a task did is in the project and its report."""
    # The work of a worktree is on a branch, which may be merged, changed or gone; what a report
    # added to its run has no key, and would be missing.
    return isinstance(step, GraphTask) and step.workspace == "project" and not step.expands


def _is_whole(row: GraphTaskRow) -> bool:
    result = json.loads(row.result or "{}")
    # Prompts take values from the envelope; a report that was never recorded is recorded from its
    # text, which `--keep-output none` removes. "by" names a person who wrote the report.
    return (
        _stays_in_place(step_of(row))
        and "by" not in result
        and result.get("envelope") is not None
        and bool(result.get("text") or row.report)
    )
