"""Save until the disk is full: a clear error, nothing half done, and saves work again with room.

`python -m tests.store.fault_injection.full_disk FOLDER` fills the disk of FOLDER, which should be a
small one. With `--limit`, files may not grow beyond a limit instead, which fails at the same steps.
"""

import os
import resource
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from goop_mcp.errors import StoreFullError
from goop_mcp.store.interface import Store, WriteTransaction
from goop_mcp.store.opening import open_store
from goop_mcp.store.records import StoredMemory
from tests.store.fault_injection.acknowledged import Acknowledged, find_defects
from tests.store.rows import EVENT, new_memory

_ROOMS: Final = (0, 4, 8, 16, 33, 64, 100, 150, 200, 300, 500)
_LIMITS: Final = (1, 4, 5, 33, 64, 100, 200, 300)
_KIB = 1024
_MANY_SAVES = 2000


def fill_disk(folder: Path) -> list[str]:
    """Return the defects, for several amounts of room in KiB left before the first save."""
    return [f"{room} KiB left: {defect}" for room in _ROOMS for defect in _with_room(folder, room)]


def limit_files(folder: Path) -> list[str]:
    """Return what went wrong, for several sizes in KiB beyond which no file may grow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return [
        f"files of {limit} KiB: {defect}"
        for limit in _LIMITS
        for defect in _with_limit(folder / str(limit), limit)
    ]


def _with_room(folder: Path, room: int) -> list[str]:
    project, ballast = folder / str(room), folder / "ballast"
    project.mkdir()
    free = os.statvfs(folder)
    with ballast.open("wb") as file:
        file.write(bytes(max(free.f_bavail * free.f_frsize - room * _KIB, 0)))

    return _save_and_go_on(project, make_room=ballast.unlink) + _removed(project)


def _with_limit(project: Path, limit: int) -> list[str]:
    project.mkdir()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit * _KIB, hard))
    return _save_and_go_on(
        project, make_room=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    )


def _save_and_go_on(project: Path, *, make_room: Callable[[], None]) -> list[str]:
    store = open_store(None, project=project)
    acknowledged, error = _save_until_full(store)
    defects = (
        []
        if "no space is left" in str(error) and str(project) not in str(error)
        else [f"the error is {error}"]
    )
    defects += _reading_defects(store, acknowledged)
    make_room()
    acknowledged.append(_acknowledged(store.write(partial(_save, number=_MANY_SAVES))))
    defects += find_defects(store, acknowledged)
    store.close()

    return defects


def _save_until_full(store: Store) -> tuple[list[Acknowledged], StoreFullError | None]:
    acknowledged: list[Acknowledged] = []
    for number in range(_MANY_SAVES):
        try:
            acknowledged.append(_acknowledged(store.write(partial(_save, number=number))))
        except StoreFullError as error:
            return acknowledged, error

    return acknowledged, None


def _reading_defects(store: Store, acknowledged: list[Acknowledged]) -> list[str]:
    """Look at what can be read while the disk is still full."""
    try:
        known = store.read(lambda reading: reading.revision())
    except StoreFullError:
        return []

    return (
        []
        if known == len(acknowledged)
        else [f"{len(acknowledged)} were acknowledged, {known} are stored"]
    )


def _save(writing: WriteTransaction, number: int) -> StoredMemory:
    memory = writing.add_memory(
        replace(new_memory(str(number)), content=f"word{number} and others " * 40)
    )
    writing.add_event(replace(EVENT, text=memory.uid))
    return memory


def _acknowledged(memory: StoredMemory) -> Acknowledged:
    return Acknowledged(memory.id, memory.revision, memory.uid)


def _removed(project: Path) -> list[str]:
    for path in (*(project / ".goopspec").iterdir(), project / ".goopspec", project):
        path.rmdir() if path.is_dir() else path.unlink()
    return []


if __name__ == "__main__":
    found = (limit_files if "--limit" in sys.argv else fill_disk)(Path(sys.argv[1]))
    sys.exit("\n".join(found) or 0)
