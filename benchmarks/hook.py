"""Compare the cost of a hook, a process an event, with a bare interpreter."""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.replies import REPORT_FILE
from benchmarks.tables import Bound, Table
from benchmarks.timing import Timing, program_environment, take_turns

__all__ = ["run"]

_TURNS = 15
_LONGEST_RUN = 60
_BARE: Final = "python -c pass"
# What the script of an installed goop-mcp does.
_HOOK: Final = (
    "-c",
    (
        "import re, sys; from goop_mcp.__main__ import main; sys.argv[:] = ['', 'hook',"
        " 'claude-code']; sys.exit(main())"
    ),
)
_BOUND: Final = Bound(goal=8, defect=10)
_EVENTS: Final = {
    "no report required": ("SubagentStop", "Explore", "done"),
    "accepted report": ("SubagentStop", "goop-executor", None),
    "sent back": ("SubagentStop", "goop-executor", "done"),
    "rules shown": ("SubagentStart", "goop-executor", None),
    "main agent ends": ("Stop", None, "done"),
}


def run() -> Table:
    """Measure whole processes from start to end, with the event on standard input."""
    notes = [
        "goop-mcp hook claude-code, one process an event",
        "judged by processor time, in which other programs have no part",
    ]
    table = Table("hook", ("", "wall p10 ms", "× bare", "cpu p10 ms", "× bare"), notes)

    with tempfile.TemporaryDirectory() as folder:
        clocks = {_BARE: _Clock(("-c", "pass"), Path(folder), None)}
        clocks |= {name: _Clock(_HOOK, Path(folder), name) for name in _EVENTS}
        wall = take_turns(clocks, turns=_TURNS)

    cpu = {name: Timing(tuple(clock.processor[1:])) for name, clock in clocks.items()}

    for name in clocks:
        ratio = cpu[name].p10 / cpu[_BARE].p10
        table.add(
            name,
            f"{wall[name].p10 * 1e3:.0f}",
            f"{wall[name].p10 / wall[_BARE].p10:.1f}",
            f"{cpu[name].p10 * 1e3:.0f}",
            f"{ratio:.1f}",
            judgement="" if name == _BARE else _BOUND.judge(ratio),
        )

    return table


class _Clock:
    """Runs one kind of event; each turn is of another agent, and therefore its first request.

    `processor` holds the processor time of each run in seconds, including the warm-up.
    """

    def __init__(self, arguments: tuple[str, ...], folder: Path, name: str | None) -> None:
        self._command, self._folder, self._name = (sys.executable, *arguments), folder, name
        self.processor: list[float] = []

    def __call__(self) -> float:
        """Return the seconds from start to end."""
        content = b"" if self._name is None else _event(self._name, agent_id=os.urandom(8).hex())
        folder = str(self._folder)
        environment = {
            **program_environment(),
            "CLAUDE_PROJECT_DIR": folder,
            "XDG_STATE_HOME": folder,
        }
        used, began = _processor_time(), perf_counter()
        subprocess.run(
            self._command,
            input=content,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=_LONGEST_RUN,
            env=environment,
        )
        seconds = perf_counter() - began
        self.processor.append(_processor_time() - used)

        return seconds


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _event(name: str, *, agent_id: str) -> bytes:
    event, agent, message = _EVENTS[name]
    message = REPORT_FILE.read_text(encoding="utf-8") if message is None else message
    values = {
        "hook_event_name": event,
        "agent_type": agent,
        "agent_id": agent_id,
        "last_assistant_message": message,
    }

    return json.dumps(values).encode()
