"""Kill writers of the diary while entries move to the archive; each must be in exactly one."""

import random
import signal
import subprocess
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from goop_mcp.store.failpoints import Failpoint
from goop_mcp.store.interface import WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import NewEvent
from goop_mcp.workspace.archive import MOST_ENTRIES
from goop_mcp.workspace.files import ProjectFiles
from goop_mcp.workspace.projections import open_conflicts
from goop_mcp.workspace.recovery import recover
from tests.repository import ROOT
from tests.workspace.projects import NOW, as_it_is

__all__ = ["ArchiveReport", "kill_archivers"]

_WRITES: Final = 6
_ROUNDS_A_PROJECT: Final = 20
_LONGEST_RUN: Final = 300
_DOCUMENT: Final = "CHRONICLE.md"


@dataclass(slots=True)
class ArchiveReport:
    """What came of it; `kills` counts by the step at which a writer died."""

    kills: Counter[str] = field(default_factory=Counter)
    entries: int = 0
    defects: list[str] = field(default_factory=list)


def kill_archivers(wanted: int, *, seed: int, folder: Path) -> ArchiveReport:
    """Kill `wanted` writers, one after the other, in projects with more entries than are kept."""
    report, chance = ArchiveReport(), random.Random(seed)
    while report.kills.total() < wanted and not report.defects:
        with TemporaryDirectory(dir=folder) as project:
            _one_project(Path(project), report, wanted, chance)

    return report


def _one_project(project: Path, report: ArchiveReport, wanted: int, chance: random.Random) -> None:
    with closing(open_store(None, project=project)) as store:
        for number in range(MOST_ENTRIES):
            store.write(partial(_add, number=number))

    for number in range(_ROUNDS_A_PROJECT):
        point, nth = chance.choice(list(Failpoint)), chance.randint(1, _WRITES)
        command = [
            sys.executable,
            "-m",
            "tests.workspace.recorder",
            str(project),
            f"w{number}",
            str(_WRITES),
        ]
        ended = subprocess.run(
            [*command, str(point), str(nth)], check=False, timeout=_LONGEST_RUN, cwd=ROOT
        )
        report.kills[str(point)] += ended.returncode == -signal.SIGKILL
        _tear(project, chance)
        report.defects += _defects(project, report)
        if report.defects or report.kills.total() >= wanted:
            break


def _add(writing: WriteTransaction, number: int) -> None:
    text = f"- entry first-{number}."
    writing.add_event(
        NewEvent(kind="report", author="first", text=text, created_at=NOW, document=_DOCUMENT)
    )


def _tear(project: Path, chance: random.Random) -> None:
    """Cut off the end of an append that was not confirmed, as a crash of the machine would."""
    with closing(open_store(None, project=project)) as store:
        rows = store.read(lambda reading: reading.projections())

    unsure = [row for row in rows if row.path.endswith("/archive/CHRONICLE") and row.pending_sha256]
    diary = next((row for row in rows if row.path.endswith(_DOCUMENT)), None)
    chronicle, [*archives] = (
        project / ".goopspec" / _DOCUMENT,
        (project / ".goopspec" / "archive").glob("*.md"),
    )
    if not unsure or diary is None or not archives or not chronicle.exists():
        return
    # Once the document goes without the entries, the append has been synced, and nothing takes it
    # back.
    if f"<!-- goop:rev {unsure[0].pending_sha256} -->" in chronicle.read_text(encoding="utf-8"):
        data = archives[0].read_bytes()
        last = data.rfind(b"<!-- goop:rev ")
        if f"<!-- goop:rev {unsure[0].pending_sha256} -->".encode() in data[last:]:
            archives[0].write_bytes(data[: chance.randint(last, len(data))])


def _defects(project: Path, report: ArchiveReport) -> list[str]:
    files, store = ProjectFiles(project), open_store(None, project=project)
    with closing(store):
        recover(store, files, now=NOW, redact=as_it_is)
        events = store.read(lambda reading: reading.events(document=_DOCUMENT))
        conflicts = store.read(open_conflicts)

    places = [project / ".goopspec" / _DOCUMENT, *(project / ".goopspec" / "archive").glob("*.md")]
    found = Counter(
        line
        for path in places
        if path.exists()
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.startswith("- entry")
    )
    wanted = Counter(event.text for event in events if event.kind == "report")
    report.entries = max(report.entries, len(wanted))
    defects = {"lost": wanted - found, "twice": found - wanted, "conflicts": conflicts}

    return [f"{what}: {value}" for what, value in defects.items() if value]
