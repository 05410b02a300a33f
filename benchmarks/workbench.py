"""How long the pages of the workbench take with a hundred thousand reports and memories."""

import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import quantiles
from typing import Final

import anyio
import apsw
from starlette.testclient import TestClient

from benchmarks.history import load_reports
from benchmarks.notes import Notes
from benchmarks.replies import REPLY
from benchmarks.tables import Bound, Table
from goop_mcp.cli.demo import full_texts
from goop_mcp.context import AppContext
from goop_mcp.delegation import Graph, GraphAgent, GraphLimits, Task, run_graph
from goop_mcp.routing import RoutingContext
from goop_mcp.services.project_steps import ProjectStep, take_step
from goop_mcp.services.record_report import record_report
from goop_mcp.settings import Settings
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.records import NewMemory
from goop_mcp.workbench.local import LocalWorkbench
from goop_mcp.workbench.pages import ROUTES
from goop_mcp.workbench.visits import WorkbenchPage

__all__ = ["run"]

_ROWS: Final = 100_000
_BATCH: Final = 5_000
_REQUESTS: Final = 60
_NOW: Final = "2026-11-20T08:00:00.000Z"
# Milliseconds. Three times as long is a defect even where other programs run.
_P95: Final = Bound(goal=100.0, defect=300.0)
# The first request of a page after the start also counts what the later ones only continue.
_FIRST: Final = Bound(goal=500.0, defect=5_000.0)
_RUNS: Final = 200
_TASKS: Final = 1_000
_FIRST_PAGE: Final = 60_000


def run() -> Table:
    """Ask for each page in a project without rows, and in one with many."""
    size = int(os.environ.get("GOOP_BENCH_ROWS", _ROWS))
    table = Table(
        "workbench",
        ("page", "kB", "empty p50 ms", "first ms", "p50 ms", "p95 ms", "to an empty one"),
        [
            f"{size:,} reports and memories, {_RUNS} runs of 5 tasks and one of {_TASKS:,};"
            f" {_REQUESTS} requests a page after the first, with all middleware"
        ],
    )
    with tempfile.TemporaryDirectory() as few, tempfile.TemporaryDirectory() as many:
        for folder, rows in ((few, 0), (many, size)):
            _make(Path(folder), rows)
        large = _make_runs(Path(many))
        with _client(few) as empty, _client(many) as full:
            pages = [
                *(e.path for e in ROUTES if isinstance(e, WorkbenchPage) and "{" not in e.path),
                "/reports?text=nowhere",
                "/reports?before=500",
                "/reports/1",
                f"/reports/{max(size, 1)}",
                f"/runs/{large}",
                f"/runs/{large}/tasks/t500",
            ]
            for page in pages:
                # A project without reports and runs has no page of one.
                of_one = page.startswith(("/reports/", "/runs/"))
                _, (_, *floor) = _times(empty, "/" if of_one else page)
                taken, (first, *times) = _times(full, page)
                p95 = quantiles(times, n=20)[-1]
                table.add(
                    page,
                    f"{taken / 1e3:.1f}",
                    f"{_median(floor):.1f}",
                    f"{first:.1f}",
                    f"{_median(times):.1f}",
                    f"{p95:.1f}",
                    f"{_median(times) / _median(floor):.2f}",
                    judgement=_worse(_P95.judge(p95), _FIRST.judge(first)),
                )

            whole = _first_page(full)
            table.add(
                "first page with all its files",
                f"{whole / 1e3:.1f}",
                *("" for _ in range(5)),
                judgement="ok" if whole <= _FIRST_PAGE else "DEFECT",
            )

    return table


def _make(folder: Path, rows: int) -> None:
    """Make a project in execution with its plan, a real report, and `rows` copies of it."""
    settings = Settings(project=folder)
    with AppContext(settings) as application:
        context = application.writing_context()
        take_step(context, ProjectStep(action="init", name="linkcheck"), by="bench", now=_NOW)
        goopspec = folder / ".goopspec"
        for name, text in (
            ("REQUIREMENTS.md", full_texts.REQUIREMENTS),
            ("SPEC.md", full_texts.SPEC),
            ("BLUEPRINT.md", full_texts.BLUEPRINT),
        ):
            (goopspec / name).write_text(text, encoding="utf-8")
        reply = full_texts.report("W1.T1", of=(3, 2), summary="All pages of a folder are read")
        record_report(reply, RoutingContext(), context, check_workspace=False, now=_NOW)
        notes = Notes().rows()
        for _ in range(rows // _BATCH):
            application.store.write(partial(_add, rows=list(islice(notes, _BATCH))))

    if rows:
        database = folder / ".goopspec" / "goop.db"
        load_reports(database, rows)
        connection = apsw.Connection(str(database))
        connection.execute(
            "UPDATE reports SET envelope = r.envelope, verdict = r.verdict, decision = r.decision"
            " FROM (SELECT envelope, verdict, decision FROM reports WHERE id = 1) AS r"
        )
        connection.close()


def _make_runs(folder: Path) -> str:
    """Carry out many small graphs and a large one; return the id of the large run."""

    async def answer(_message: str) -> str:
        return REPLY

    async def carry_out(count: int) -> str:
        tasks = tuple(Task(f"t{number}", agent="worker") for number in range(count))
        limits = GraphLimits(max_tasks=_TASKS)
        agents = (GraphAgent("worker"),)
        graph = Graph(name=f"of-{count}", limits=limits, agents=agents, tasks=tasks)
        with AppContext(Settings(project=folder)) as application:
            store = application.store
            return (await run_graph(graph, store=store, agents={"worker": answer})).id

    for _ in range(_RUNS):
        anyio.run(carry_out, 5)
    return anyio.run(carry_out, _TASKS)


def _worse(*judgements: str) -> str:
    """Return the judgement that says most; "ok" says least."""
    return max(judgements, key=("ok", "over the goal", "DEFECT").index)


def _add(writing: WriteTransaction, rows: list[NewMemory]) -> None:
    for row in rows:
        if writing.memory_by_fingerprint(row.fingerprint) is None:
            writing.add_memory(row)


@contextmanager
def _client(folder: str) -> Iterator[TestClient]:
    application = AppContext(Settings(project=Path(folder)))
    # Without the limit for a person, which would be what is measured.
    local = LocalWorkbench(application, is_read_only=False, per_second=0)
    with TestClient(local, base_url="http://127.0.0.1") as client:
        page = client.get(f"/login/{local.codes.make()}").text
        # All pages of a login are below an address of its own.
        root = page.partition('data-root="')[2].partition('"')[0]
        client.base_url = client.base_url.join(root)
        yield client


def _times(client: TestClient, page: str) -> tuple[int, list[float]]:
    """Return the bytes of a page, and the milliseconds of each request, the first one included."""
    size, times = 0, []
    for _ in range(_REQUESTS + 1):
        began = time.perf_counter()
        answer = client.get(page)
        taken = time.perf_counter() - began
        answer.raise_for_status()
        times.append(taken * 1e3)
        size = len(answer.content)

    return size, times


def _median(times: list[float]) -> float:
    return sorted(times)[len(times) // 2]


def _first_page(client: TestClient) -> int:
    """Return the bytes of the first page with all files that it names."""
    page = client.get("/")
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
    return len(page.content) + sum(len(client.get(each).content) for each in files)
