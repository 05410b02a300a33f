"""Compare the cost of a hook, a process an event, with a bare interpreter."""

import json
import os
import re
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
from tests.repository import ROOT

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
# A person waits for the hook at each prompt.
_BOUND_OF_A_PROMPT: Final = Bound(goal=2, defect=3)
_PROMPT: Final = "prompt of a person"
_SENT_BACK: Final = "sent back"
_VERIFIED: Final = "accepted, claims verified"
_CLAIMED_FILE: Final = re.compile(r'<file path="([^"]+)"')
_SUBJECT: Final = "feat(auth): implement JWT authentication service"
# Verifying starts git and reads the project's files.
_BOUND_OF_VERIFYING: Final = Bound(goal=16, defect=20)
_WITH_TRANSCRIPT: Final = "accepted report, transcript of 2 MB"
# All of it is searched for the lines that count.
_BOUND_OF_A_TRANSCRIPT: Final = Bound(goal=16, defect=20)
_TRANSCRIPT: Final = "agent.jsonl"
_TRANSCRIPT_BYTES = 2_000_000
_RECORD: Final = ROOT / "tests" / "cases" / "transcripts" / "claude-code" / "failed-fixed.jsonl"
_EVENTS: Final = {
    _PROMPT: ("UserPromptSubmit", None, None),
    "no report required": ("SubagentStop", "Explore", "done"),
    "accepted report": ("SubagentStop", "goop-executor", None),
    _WITH_TRANSCRIPT: ("SubagentStop", "goop-executor", None),
    _VERIFIED: ("SubagentStop", "goop-executor", None),
    _SENT_BACK: ("SubagentStop", "goop-executor", "done"),
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
        plain, verifying = Path(folder) / "plain", Path(folder) / "verifying"
        plain.mkdir()
        _write_transcript(plain / _TRANSCRIPT)
        report = _make_project(verifying)
        clocks = {_BARE: _Clock(("-c", "pass"), plain, None)}
        clocks |= {
            name: _Clock(_HOOK, verifying, name, report=report)
            if name == _VERIFIED
            else _Clock(_HOOK, plain, name, report=_seen_report())
            for name in _EVENTS
        }
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
            judgement="" if name == _BARE else _bound_of(name).judge(ratio),
        )

    return table


def _bound_of(name: str) -> Bound:
    bounds = {
        _PROMPT: _BOUND_OF_A_PROMPT,
        _VERIFIED: _BOUND_OF_VERIFYING,
        _WITH_TRANSCRIPT: _BOUND_OF_A_TRANSCRIPT,
    }
    return bounds.get(name, _BOUND)


def _make_project(folder: Path) -> str:
    """Create a project with a repository, and return a report all of whose claims are true."""
    (folder / ".goopspec").mkdir(parents=True)
    text = REPORT_FILE.read_text(encoding="utf-8")
    for name in _CLAIMED_FILE.findall(text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n", encoding="utf-8")

    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", _SUBJECT)):
        subprocess.run((*git, *words), check=True, timeout=_LONGEST_RUN)

    head = subprocess.run(
        (*git, "rev-parse", "--short=7", "HEAD"),
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=_LONGEST_RUN,
    )

    return text.replace("a1b2c3d", head.stdout.strip())


class _Clock:
    """Runs one kind of event; each turn is of another agent, and therefore its first request.

    `processor` holds the processor time of each run in seconds, including the warm-up.
    """

    def __init__(
        self,
        arguments: tuple[str, ...],
        folder: Path,
        name: str | None,
        *,
        report: str | None = None,
    ) -> None:
        self._command, self._folder, self._name = (sys.executable, *arguments), folder, name
        self._report = report or REPORT_FILE.read_text(encoding="utf-8")
        self.processor: list[float] = []

    def __call__(self) -> float:
        """Return the seconds from start to end."""
        folder = str(self._folder)
        content = b"" if self._name is None else _event(self._name, self._report, folder)
        environment = {
            **program_environment(),
            "CLAUDE_PROJECT_DIR": folder,
            "XDG_STATE_HOME": folder,
        }
        used, began = _processor_time(), perf_counter()
        ended = subprocess.run(
            self._command,
            input=content,
            check=True,
            stdout=subprocess.PIPE,
            timeout=_LONGEST_RUN,
            env=environment,
        )
        seconds = perf_counter() - began
        self.processor.append(_processor_time() - used)
        if (b'"block"' in ended.stdout) is not (self._name == _SENT_BACK):
            raise RuntimeError(f"{self._name}: the hook answered {ended.stdout[:500]!r}")

        return seconds


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _event(name: str, report: str, folder: str) -> bytes:
    event, agent, message = _EVENTS[name]
    values = {
        "hook_event_name": event,
        "agent_type": agent,
        "agent_id": os.urandom(8).hex(),
        "last_assistant_message": report if message is None else message,
        "prompt": "Add a login page.",
    }
    if name == _WITH_TRANSCRIPT:
        values["agent_transcript_path"] = f"{folder}/{_TRANSCRIPT}"

    return json.dumps(values).encode()


def _seen_report() -> str:
    """Return the report with the one check that the recorded transcript shows."""
    seen = '<check name="tests" passed="true">pytest: 2 passed</check>'
    text = REPORT_FILE.read_text(encoding="utf-8")
    return re.sub(r"(?s)<check .*</check>", seen, text)


def _write_transcript(path: Path) -> None:
    """Write a recorded transcript whose work is repeated, with the report about it."""
    *work, last = _RECORD.read_text(encoding="utf-8").splitlines()
    end = json.loads(last)
    end["message"]["content"] = [{"type": "text", "text": _seen_report()}]

    lines, size, turn = [work[0]], 0, 0
    while size < _TRANSCRIPT_BYTES:
        turn += 1
        again = [line.replace("toolu_", f"toolu_{turn}_") for line in work[1:]]
        lines += again
        size += sum(map(len, again))

    path.write_text("\n".join([*lines, json.dumps(end)]) + "\n", encoding="utf-8")
