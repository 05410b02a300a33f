"""What a hook costs a host: a process an event, beside a bare interpreter."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.replies import REPORT_FILE
from benchmarks.tables import Bound, Table
from benchmarks.timing import Clock, process_clock, program_environment, take_turns

__all__ = ["run"]

_TURNS = 15
_LONGEST_RUN = 60
_BARE: Final = "python -c pass"
_BOUND: Final = Bound(goal=8, defect=10)
_EVENTS: Final = {
    "no report owed": ("SubagentStop", "Explore", "done"),
    "accepted report": ("SubagentStop", "goop-executor", None),
    "sent back": ("SubagentStop", "goop-executor", "done"),
    "rules told": ("SubagentStart", "goop-executor", None),
    "main agent ends": ("Stop", None, "done"),
}


def run() -> Table:
    """Measure whole processes from start to end, with the event on standard input."""
    table = Table(
        "hook", ("", "p10 ms", "median ms", "× bare p10"), ["goop-mcp hook claude-code, one process an event"]
    )
    with tempfile.TemporaryDirectory() as folder:
        clocks = {_BARE: process_clock((sys.executable, "-c", "pass"))}
        clocks |= {name: _hook_clock(Path(folder), name) for name in _EVENTS}
        timings = take_turns(clocks, turns=_TURNS)
    bare = timings[_BARE].p10
    for name, timing in timings.items():
        ratio = timing.p10 / bare
        table.add(
            name,
            f"{timing.p10 * 1e3:.0f}",
            f"{timing.median * 1e3:.0f}",
            f"{ratio:.1f}",
            judgement="" if name == _BARE else _BOUND.judge(ratio),
        )
    return table


def _hook_clock(folder: Path, name: str) -> Clock:
    """Return a clock for one kind of event; every turn is another agent's, so that it is always the first request."""

    def read() -> float:
        content = _event(name, agent_id=os.urandom(8).hex())
        began = perf_counter()
        subprocess.run(
            (sys.executable, "-m", "goop_mcp", "hook", "claude-code"),
            input=content,
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=_LONGEST_RUN,
            env={**program_environment(), "CLAUDE_PROJECT_DIR": str(folder), "XDG_STATE_HOME": str(folder)},
        )
        return perf_counter() - began

    return read


def _event(name: str, *, agent_id: str) -> bytes:
    event, agent, message = _EVENTS[name]
    message = REPORT_FILE.read_text(encoding="utf-8") if message is None else message
    values = {"hook_event_name": event, "agent_type": agent, "agent_id": agent_id, "last_assistant_message": message}
    return json.dumps(values).encode()
