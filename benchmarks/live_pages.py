"""How soon open pages learn of a report, and what they cost while nothing happens."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final

import httpx2

from benchmarks.tables import Bound, Table
from benchmarks.timing import program_environment
from goop_mcp.cli.demo import full_texts
from goop_mcp.context import AppContext
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_steps import ProjectStep, take_step
from goop_mcp.services.record_report import record_report
from goop_mcp.settings import Settings

__all__ = ["run"]

_UPDATES: Final = 20
_PAGES: Final = 20
_IDLE_SECONDS: Final = 5.0
_PATIENCE: Final = 30.0
_NOW: Final = "2026-11-20T08:00:00.000Z"
# Milliseconds from the commit until the page hears of it.
_LIVE: Final = Bound(goal=1_000.0, defect=5_000.0)
# How much more twenty pages may cost than one.
_SHARED: Final = Bound(goal=1.5, defect=4.0)


def run() -> Table:
    """Record reports while a page is open; then let 1 and 20 pages wait."""
    table = Table("live pages", ("case", "p50", "most"), ["a server of its own process"])
    with tempfile.TemporaryDirectory() as folder, AppContext(_settings(folder)) as application:
        context = application.writing_context()
        take_step(context, ProjectStep(action="init", name="linkcheck"), by="bench", now=_NOW)
        with _server(folder) as (process, address):
            client = httpx2.Client(follow_redirects=True, timeout=_PATIENCE)
            origin = address.partition("/login/")[0]
            client.get(address)

            times = []
            with _open_pages(client, origin, 1) as heard:
                for number in range(_UPDATES):
                    reply = full_texts.report("W1.T1", of=(3, 2), summary=f"Part {number} is done")
                    record_report(reply, RoutingContext(), context, check_workspace=False, now=_NOW)
                    began = time.perf_counter()
                    heard.get(timeout=_PATIENCE)
                    times.append((time.perf_counter() - began) * 1e3)
                one = _idle(process.pid)
            with _open_pages(client, origin, _PAGES):
                many = _idle(process.pid)

    times.sort()
    table.add(
        "a report until the page hears of it, ms",
        f"{times[len(times) // 2]:.0f}",
        f"{times[-1]:.0f}",
        judgement=_LIVE.judge(times[-1]),
    )
    table.add("one idle page, ms of processor time a second", f"{one:.1f}", "")
    table.add(
        f"{_PAGES} idle pages",
        f"{many:.1f}",
        "",
        judgement=_SHARED.judge(many / one if one else 1.0),
    )

    return table


def _settings(folder: str) -> Settings:
    return Settings(project=Path(folder))


@contextmanager
def _server(folder: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a read-only `goop-mcp ui` and its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "goop_mcp", "ui", "--no-open", "--project", folder],
        env=program_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the server has no output")
        yield process, process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(timeout=_PATIENCE)


@contextmanager
def _open_pages(client: httpx2.Client, origin: str, count: int) -> Iterator[SimpleQueue[str]]:
    """Keep the stream of changes of `count` pages open; yield what the first one hears."""
    heard: SimpleQueue[str] = SimpleQueue()
    ready: SimpleQueue[bool] = SimpleQueue()
    with ExitStack() as stack:
        for number in range(count):
            answer = stack.enter_context(client.stream("GET", f"{origin}/live?stamp=old"))

            def listen(answer: httpx2.Response = answer, is_first: bool = number == 0) -> None:
                begun = False
                try:
                    for line in answer.iter_lines():
                        if not line.startswith("data:"):
                            continue
                        # The first event is about the unknown stamp.
                        if begun and is_first:
                            heard.put(line)
                        elif not begun:
                            begun = True
                            ready.put(True)
                except (httpx2.HTTPError, RuntimeError):
                    # The stream was closed at the end of the measurement.
                    return

            threading.Thread(target=listen, daemon=True).start()

        for _ in range(count):
            ready.get(timeout=_PATIENCE)
        yield heard


def _idle(process: int) -> float:
    """Return the milliseconds of processor time a second that the process takes."""
    before = _processor_seconds(process)
    time.sleep(_IDLE_SECONDS)
    return (_processor_seconds(process) - before) / _IDLE_SECONDS * 1e3


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
