"""docs/routing.md, made from the tables: `python -m goop_mcp.routing.page` prints it."""

import sys
from collections.abc import Iterable
from dataclasses import fields
from itertools import groupby

from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.context import RoutingLimits
from goop_mcp.routing.decision import Action
from goop_mcp.routing.recovery import STRATEGIES_BY_CAUTION
from goop_mcp.routing.row import Row
from goop_mcp.routing.table import ROWS
from goop_mcp.routing.task_states import BY_ACTION, BY_SOURCE

__all__ = ["routing_markdown"]

_HEAD = """\
# Routing

`route(verdict, context)` says what happens next. It is pure: the same verdict and context give the same decision. Rows
are tried from top to bottom, the common ones first; the first row that fits wins. Whatever no row can place ends in
`ask_user` (R9), never in `continue_next`. This file is made from the tables by `make docs`.
"""

_OUTCOMES = """\
## Outcomes

Each envelope is read into one model. What it comes to is the first line that fits. A rejected reply is `invalid`, but
for a report whose only error is that it is COMPLETE with a failed check.
"""

_ROWS = """\
## Rows

"Carries" names the fields of the decision that a row sets beside `actions`, `rule`, `reason`, `message`, `verdict` and
`state_changes`.
"""

_CAUTION = """\
Where type and strategy of a speckit error contradict each other, the safer one counts, in this order: {order}.
"""

_LIMITS = """\
## Limits

How often something is tried before a person is asked (`policy.limits`). Counters live with the caller: they come in
with the context, and `state_changes` says what to store.
"""

_STATES = """\
## Task states

`goop_mcp.routing.task_states` gives the state of an A2A 1.0 task or an MCP task.
"""

_TITLES = {"any": "All protocols"}


def routing_markdown() -> str:
    """Return docs/routing.md, ending with a line feed."""
    return "\n".join(
        [
            _HEAD,
            _OUTCOMES,
            _table(
                ("protocol", "native", "outcome"),
                [
                    (name, row.native, f"`{row.outcome}`")
                    for name, adapter in ADAPTERS.items()
                    for row in adapter.outcomes
                ],
            ),
            _ROWS,
            *(_rows(protocol, rows) for protocol, rows in groupby(ROWS[:-1], key=lambda row: row.protocol)),
            _rows("the rest", ROWS[-1:]),
            _CAUTION.replace("{order}", ", ".join(f"`{name}`" for name in STRATEGIES_BY_CAUTION)),
            _LIMITS,
            _table(("limit", "default"), [(f"`{each.name}`", _limit(each.name)) for each in fields(RoutingLimits)]),
            _STATES,
            _table(
                ("protocol", "source", "A2A state", "whole work"),
                [
                    (row.protocol, row.source, f"`{row.state}`", f"`{row.workflow}`" if row.workflow else "the same")
                    for row in BY_SOURCE
                ],
            ),
            _table(("first action", "A2A state", "MCP task"), map(_action, Action)),
        ]
    )


def _rows(protocol: str, rows: Iterable[Row]) -> str:
    lines = [
        (
            row.rule,
            row.when,
            ", ".join(f"`{action}`" for action in row.actions),
            ", ".join(f"`{name}`" for name in row.carries),
            " ".join(row.requirements),
        )
        for row in rows
    ]
    head = ("rule", "when", "actions", "carries", "requirements")
    return f"### {_TITLES.get(protocol, protocol)}\n\n{_table(head, lines)}"


def _limit(name: str) -> str:
    value = getattr(RoutingLimits(), name)
    return str(value) if isinstance(value, int) else ", ".join(f"{edge} {limit}" for edge, limit in value.items())


def _action(action: Action) -> tuple[str, ...]:
    states = BY_ACTION[action]
    mcp = f"`{states.mcp}`{' with isError' if states.is_error else ''}"
    return f"`{action}`", f"`{states.a2a}`", mcp


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(routing_markdown())
