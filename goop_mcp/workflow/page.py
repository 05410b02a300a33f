"""docs/workflow.md, made from the tables: `python -m goop_mcp.workflow.page` prints it."""

import sys
from collections.abc import Iterable, Mapping

from goop_mcp.workflow.agents import PHASE_AGENTS, STAND_INS
from goop_mcp.workflow.commands import COMMANDS, Command, usual_next
from goop_mcp.workflow.gates import GATES, Gate
from goop_mcp.workflow.phases import MOVES, RESET_ON_CLOSE, Moves

__all__ = ["workflow_markdown"]

_HEAD = """\
# Workflow

Phases, gates, commands and agents of a GoopSpec project, as the program knows them. This file is
generated from its tables by `make docs`.
"""

_MOVES = """\
## Phases and moves

Staying in a phase is always legal. A rework edge is legal and reported as `workflow/rework-edge`;
going back never clears the lock on the specification. Everything else is
`workflow/illegal-transition`: nothing is written, unless it is forced.
"""

_PROGRESS = """\
Progress by itself happens only from specify to execute, execute to accept and accept to idle, each
after its gate has opened. The move from accept to idle sets {resets}.
"""

_GATES = """\
## Gates

A gate that is closed names the command to run. Spec, Acceptance and Merge are never skipped.
"""

_COMMANDS = """\
## Commands

`[0.1.x]` marks what holds in that version of the package only.
"""

_AGENTS = """\
## Agents

`goop-executor` stands for the tier that the task names.
"""


def workflow_markdown() -> str:
    """Return docs/workflow.md, ending with a line feed."""
    return "\n".join(
        [
            _HEAD,
            _MOVES,
            *(_moves(profile, moves) for profile, moves in MOVES.items()),
            _PROGRESS.replace("{resets}", ", ".join(f"`{key}`" for key in RESET_ON_CLOSE)),
            _GATES,
            _table(
                (
                    "gate",
                    "stands before",
                    "passes when",
                    "sentence on failure",
                    "run",
                    "may be skipped for",
                ),
                map(_gate, GATES.values()),
            ),
            _COMMANDS,
            _table(
                ("command", "phase", "needs", "usual next", "in versions", "in v1"),
                map(_command, COMMANDS.values()),
            ),
            _AGENTS,
            _table(("phase", "agents", "when one is missing, take"), map(_agents, PHASE_AGENTS)),
        ]
    )


def _moves(profile: str, moves: Mapping[str, Moves]) -> str:
    rows = [(phase, ", ".join(each.legal), ", ".join(each.rework)) for phase, each in moves.items()]
    return f"### Profile {profile}\n\n{_table(('from', 'legal', 'rework'), rows)}"


def _gate(gate: Gate) -> tuple[str, ...]:
    return (
        gate.name,
        f"`{gate.before}`" if gate.before.startswith("/") else gate.before,
        "; ".join(condition.name for condition in gate.conditions),
        f"`{gate.sentence.replace('{tasks}', '[N]').replace('{wave}', '[M]')}`",
        f"`{gate.command}`",
        ", ".join(sorted(gate.bypasses)) or "nothing",
    )


def _command(command: Command) -> tuple[str, ...]:
    phase = command.phase or "stays"
    if command.phase_in_v1:
        phase += f" (v1: {command.phase_in_v1})"

    older = usual_next(command.name, version="0.1.6")
    following = " or ".join(f"`{name}`" for name in command.next)
    if older is not None and older not in command.next:
        following += f" [0.1.x] `{older}`"

    versions = [
        f"from {command.since}" if command.since else "",
        f"until {command.until}" if command.until else "",
    ]
    needs = command.needs or ("a locked specification" if command.needs_locked_spec else "")

    return (
        f"`{command.name}`",
        phase,
        needs,
        following,
        " ".join(filter(None, versions)),
        "yes" if command.in_v1 else "",
    )


def _agents(phase: str) -> tuple[str, ...]:
    missing = "; ".join(f"{agent}: {other}" for agent, other in STAND_INS[phase].items())
    return phase, ", ".join(PHASE_AGENTS[phase]), missing


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    sys.stdout.write(workflow_markdown())
