"""Run the fault injection at full length and print a table.

Usage: `python -m tests.store.fault_injection [--only KIND] …`.

Exit code 1 when anything was lost, damaged or late, or a kind of fault injection could not run.
"""

import argparse
import atexit
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from tests.postgres import Server as PostgresServer
from tests.reliability.replicas import kill_replicas
from tests.reliability.served_kills import kill_servers
from tests.store.fault_injection.archiving import kill_archivers
from tests.store.fault_injection.crowding import write_together
from tests.store.fault_injection.kills import kill_writers
from tests.store.fault_injection.small_disk import (
    can_mount,
    defects_on_small_disk,
    defects_with_small_files,
)
from tests.store.fault_injection.wal_stress import stress_wal
from tests.store.postgres.killed_server import kill_server

Row = tuple[str, str, list[str]]

_CROWDS = ((8, 500, 0.5), (50, 80, 4.0))
_NO_DISK = (
    "this user may not mount a disk; allow user namespaces (unshare -rm true has to work), or name"
    " the other kinds, one a run, with --only"
)
_LONGEST_RESTART = 1.0
_LONGEST_SILENCE = 10.0
_LONGEST_START = 5.0
# A disk in memory, where checkpoints are fastest
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108


def main() -> int:
    """Print a row for each kind of fault injection when it is done; return the exit code."""
    asked = _arguments()
    failed = False
    for name, measured, defects in _rows(asked):
        failed |= bool(defects)
        sys.stdout.write(f"{name:<32} {measured:<100} {'; '.join(defects) or 'ok'}\n")
        sys.stdout.flush()

    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.store.fault_injection")
    parser.add_argument("--only", choices=list(_KINDS), help="one kind of fault injection")
    parser.add_argument(
        "--kills", type=int, default=1000, help="how many writers are killed at least"
    )
    parser.add_argument(
        "--part", type=float, default=1.0, help="which part of the usual saves a crowd makes"
    )
    parser.add_argument(
        "--rounds", type=int, default=10, help="how many rounds of stress there are"
    )
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="how long a round of stress lasts"
    )
    parser.add_argument(
        "--servers", type=int, default=5, help="how many times the PostgreSQL server is killed"
    )
    parser.add_argument(
        "--served",
        type=int,
        default=25,
        help="how many rounds four of eight MCP servers are killed in",
    )
    parser.add_argument(
        "--replicas", type=int, default=10, help="how many times one of two replicas is killed"
    )
    parser.add_argument(
        "--slack", type=float, default=1.0, help="how many times longer than expected may be waited"
    )
    parser.add_argument(
        "--seed", type=int, default=int(time.time()), help="which moments the kills choose"
    )

    return parser.parse_args()


def _rows(asked: argparse.Namespace) -> Iterator[Row]:
    for kind, rows in _KINDS.items():
        if asked.only in {None, kind}:
            yield from rows(asked)


def _killed(asked: argparse.Namespace) -> Iterator[Row]:
    report = kill_writers(asked.kills, seed=asked.seed, folder=_new_folder())
    places = ", ".join(f"{place} {count}" for place, count in sorted(report.kills.items()) if place)
    saves = f"{report.acknowledged} acknowledged, restart {report.restart:.2f} s"
    late = _late(report.restart, _LONGEST_RESTART * asked.slack)
    yield (
        f"kill -9, seed {asked.seed}",
        f"{report.kills.total()} kills ({places}), {saves}",
        report.defects + late,
    )


def _archived(asked: argparse.Namespace) -> Iterator[Row]:
    report = kill_archivers(max(asked.kills // 10, 10), seed=asked.seed, folder=_new_folder())
    places = ", ".join(f"{place} {count}" for place, count in sorted(report.kills.items()) if count)
    measured = f"{report.kills.total()} kills ({places}), up to {report.entries} entries a diary"
    yield "diary and archive, kill -9", measured, report.defects


def _crowded(asked: argparse.Namespace) -> Iterator[Row]:
    for writers, usual, longest in _CROWDS:
        writes = max(round(usual * asked.part), 1)
        report = write_together(writers, writes=writes, folder=_new_folder())
        wait = f"longest wait {report.longest_wait:.2f} s"
        measured = f"{report.acknowledged} acknowledged in {report.seconds:.1f} s, {wait}"
        yield (
            f"{writers} writers x {writes}",
            measured,
            report.defects + _late(report.longest_wait, longest * asked.slack),
        )


def _stressed(asked: argparse.Namespace) -> Iterator[Row]:
    saves, defects = 0, []
    for _ in range(asked.rounds):
        acknowledged, found = stress_wal(
            _new_folder(_MEMORY_DISK if _MEMORY_DISK.is_dir() else None), seconds=asked.seconds
        )
        saves += acknowledged
        defects += found

    yield "WAL stress", f"{asked.rounds} x {asked.seconds:g} s, {saves} acknowledged", defects


def _filled(_: argparse.Namespace) -> Iterator[Row]:
    yield (
        "files that may not grow",
        "8 limits from 1 to 300 KiB",
        defects_with_small_files(_new_folder()).splitlines(),
    )
    if can_mount():
        measured, defects = (
            "11 amounts of room from 0 to 500 KiB",
            defects_on_small_disk(_new_folder()),
        )
    else:
        measured, defects = "not tried", _NO_DISK

    yield "full disk", measured, defects.splitlines()


def _server_killed(asked: argparse.Namespace) -> Iterator[Row]:
    report = kill_server(rounds=asked.servers, folder=_new_folder())
    measured = (
        f"{report.acknowledged} acknowledged, {report.repeated} repeated, {report.silence:.1f} s"
        " without a save"
    )
    late = _late(report.silence, _LONGEST_SILENCE * asked.slack)
    yield f"PostgreSQL kill -9 x {asked.servers}", measured, report.defects + late


def _served(asked: argparse.Namespace) -> Iterator[Row]:
    report = kill_servers(asked.served, seed=asked.seed, folder=_new_folder())
    acknowledged = f"{report.saves} saves and {report.records} reports acknowledged"
    measured = f"{report.kills} kills, {acknowledged}, start to first write {report.restart:.2f} s"
    late = _late(report.restart, _LONGEST_START * asked.slack)
    yield f"8 MCP servers, 4 killed, x {asked.served}", measured, report.defects + late


def _replicas(asked: argparse.Namespace) -> Iterator[Row]:
    with PostgresServer(durable=True) as postgres, postgres.database() as database:
        report = kill_replicas(database, _new_folder(), rounds=asked.replicas, clients=8, saves=100)
    measured = f"{len(report.acknowledged)} saves acknowledged, {report.repeated} sent again"
    yield f"2 replicas on HTTP, 1 killed, x {asked.replicas}", measured, report.defects


_KINDS: Final[dict[str, Callable[[argparse.Namespace], Iterator[Row]]]] = {
    "kills": _killed,
    "archive": _archived,
    "crowds": _crowded,
    "stress": _stressed,
    "disk": _filled,
    "postgres": _server_killed,
    "served": _served,
    "replicas": _replicas,
}


def _late(seconds: float, longest: float) -> list[str]:
    return [f"{seconds:.2f} s, expected less than {longest:g} s"] if seconds >= longest else []


def _new_folder(parent: Path | None = None) -> Path:
    folder = mkdtemp(prefix="goop-fault-injection-", dir=parent)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


if __name__ == "__main__":
    sys.exit(main())
