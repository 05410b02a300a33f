"""Generate docs/routing.md from the tables; `make docs` writes it."""

import sys
from collections.abc import Iterable
from dataclasses import fields
from itertools import groupby

from goop_mcp.routing.adapters import ADAPTERS
from goop_mcp.routing.context_parts import RoutingLimits
from goop_mcp.routing.decision import Action
from goop_mcp.routing.recovery import STRATEGIES_BY_CAUTION
from goop_mcp.routing.row import Row
from goop_mcp.routing.table import ROWS
from goop_mcp.routing.task_states import BY_ACTION, BY_SOURCE

__all__ = ["routing_markdown"]

_HEAD = """\
# Routing

`route(verdict, context)` returns what happens next. It is pure: the same verdict and context give
the same decision. Rows are tried from top to bottom, the common ones first; the first row that fits
wins. Whatever no row can place ends in `ask_user` (R9), never in `continue_next`. This file is
generated from the tables by `make docs`.
"""

_OUTCOMES = """\
![A reply becomes a verdict, a verdict an outcome, an outcome the next step](_static/routing.svg)

## Outcomes

Each envelope is read into one model. Its outcome is the first line that fits. A rejected reply is
`invalid`, except a report whose only error is that it is COMPLETE with a failed check.
"""

_ROWS = """\
## Rows

"Sets" names the fields of the decision that a row sets in addition to `actions`, `rule`,
`reason`, `message`, `verdict` and `state_changes`.
"""

_CAUTION = """\
Where type and strategy of a speckit error contradict each other, the safer one counts, in this
order: {order}.
"""

_READINGS = """\
## How to read the rows

- Whatever the row, the decision carries the blockers of the report: no blocker is ever dropped.
  "None", "No blockers at this time", "Keine", "[]" and the like do not count as blockers.
- The work continues only with an agent that can be started: a name of the form `goop-[type]`,
  `memory-distiller`, one of the eleven speckit agents, or one of `known_agents`. G6 and S14 leave
  every other name, and a report that names no agent, to the user (R9). An unknown prerequisite is
  not run (S7b). G8b also accepts the orchestrator. A CHECKPOINT with a check that failed or shows
  no result does not continue either (R9).
- A check that is reported as passed, and whose text shows that nothing ran, sends the agent back to
  run it (G2c, S10b, F3c), in both modes: such a reply never counts as done. With a blocker or
  `ready` false the user decides first (G2b).
- Where the percentage and the counts of an implementation differ, the one that leaves tasks counts
  (S10).
- Only execution ends with its last task (G5): a verifier that continues the same numbering does not
  start itself again. A report without a phase counts as execution unless the context names another
  phase. A gate that the caller knows to be closed (`execution_gate` false) goes to the user (R9).
- A report without next_command gets the usual command of its phase whatever its status: a PARTIAL
  plan gives `/goop-execute` too, subject to the gate of that command.
- With `auto_default` the defaults are the answers only when every question has one (F1).
- A reply with a verdict is already a review and does not get a second one (F4b).
- A session of depends_on that failed is not open: it does not wait (H3) but asks the user (H3c).
- Missing deliverables (`evidence/*`) concern the session that has ended (H6); the request is not
  refused for them.
- A session that has ended is not started again (H4, H4b, H4c): with nothing missing the user
  decides (R9). A batch continues only from an accepted request (H7).
"""

_LIMITS = """\
## Limits

How often something is tried before a person is asked (`policy.limits`). The counters come in
with the context, and `state_changes` contains what to store. `record_report`, hooks and
`goop-mcp route` keep them in the database of the project, for each task and round; the larger of
the stored and the given ones counts. Callers of `route` and `route_next_action` keep them.
"""

_STATES = """\
## Task states

`a2a_task` gives the A2A 1.0 task that ended with a reply: files and commits are artifacts; what A2A
has no field for (memory, verification, confidence, next_action, the envelope itself) is in the
metadata under `urn:goop-mcp:envelope:1`. `decision_state` gives the states, of an A2A task and of
an MCP task, that the first action of a decision means.

```python
from goop_mcp import route, validate
from goop_mcp.routing.a2a import a2a_task
from goop_mcp.routing.task_states import decision_state

verdict = validate(reply)
task = a2a_task(verdict)
state = decision_state(route(verdict))
print(task["status"]["state"], state.a2a, state.mcp)
```
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
            *(
                _rows(protocol, rows)
                for protocol, rows in groupby(ROWS[:-1], key=lambda row: row.protocol)
            ),
            _rows("the rest", ROWS[-1:]),
            _CAUTION.replace("{order}", ", ".join(f"`{name}`" for name in STRATEGIES_BY_CAUTION)),
            _READINGS,
            _LIMITS,
            _table(
                ("limit", "default"),
                [
                    (
                        f"`{name}`",
                        str(value)
                        if isinstance(value, int)
                        else ", ".join(f"{edge} {limit}" for edge, limit in value.items()),
                    )
                    for name, value in (
                        (each.name, getattr(RoutingLimits(), each.name))
                        for each in fields(RoutingLimits)
                    )
                ],
            ),
            _STATES,
            _table(
                ("protocol", "source", "A2A state", "whole work"),
                [
                    (
                        row.protocol,
                        row.source,
                        f"`{row.state}`",
                        f"`{row.workflow}`" if row.workflow else "the same",
                    )
                    for row in BY_SOURCE
                ],
            ),
            _table(
                ("first action", "A2A state", "MCP task"),
                [
                    (
                        f"`{action}`",
                        f"`{states.a2a}`",
                        f"`{states.mcp}`{' with isError' if states.is_error else ''}",
                    )
                    for action, states in ((each, BY_ACTION[each]) for each in Action)
                ],
            ),
        ]
    )


def _rows(protocol: str, rows: Iterable[Row]) -> str:
    lines = [
        (
            row.rule,
            row.when,
            ", ".join(f"`{action}`" for action in row.actions),
            ", ".join(f"`{name}`" for name in row.sets),
            " ".join(row.requirements),
        )
        for row in rows
    ]
    head = ("rule", "when", "actions", "sets", "requirements")
    return f"### {_TITLES.get(protocol, protocol)}\n\n{_table(head, lines)}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n" for cells in lines
    )


if __name__ == "__main__":
    sys.stdout.write(routing_markdown())
