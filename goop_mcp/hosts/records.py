"""What was in a host's files before goop-mcp changed them, kept in the person's own state folder.

It lies there and not beside the files, where it would be committed with whatever secrets they hold.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_state_path

from goop_mcp.errors import StoreError
from goop_mcp.hosts.targets import ConfigurationError, Target
from goop_mcp.store.write_lock import WriteLock
from goop_mcp.validation.safe_json import JsonValue
from goop_mcp.workspace.replacing import sha256

__all__ = ["Record", "Records"]

_MOST_BACKUPS = 5
_BEFORE = "before"
_RECORD = "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What installing did to one file.

    `before` is what it held, None when it was not there; `after` the digest of what was written;
    `folders` those made for it; `written` every value that is ours; `owners` the hosts for which it
    was written.
    """

    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()
    written: tuple[JsonValue, ...] = ()
    owners: tuple[str, ...] = ()

    def is_untouched(self, data: bytes | None) -> bool:
        """Tell whether the file still holds exactly what was written."""
        return data is not None and sha256(data) == self.after


class Records:
    """The records of this person.

    Methods raise ConfigurationError when the state folder is of no use.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Keep the records in `folder`, by default in the state folder of the person who runs this."""
        self._folder = (folder or user_state_path("goop-mcp", appauthor=False)) / "hosts"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Let nobody else install or uninstall meanwhile."""
        with self._faults():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = WriteLock(self._folder / "lock", name="the lock of installations")
            lock.acquire()

        try:
            yield
        finally:
            lock.forget()

    def read(self, target: Target) -> Record | None:
        """Return what is known of a file; None when nothing is, or nothing that can be read."""
        folder = self._folder / target.digest
        try:
            found = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
            before = (folder / _BEFORE).read_bytes() if found["existed"] else None
            return Record(
                before=before,
                after=str(found["after"]),
                folders=tuple(map(str, found["folders"])),
                written=tuple(found["written"]),
                owners=tuple(map(str, found["owners"])),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, target: Target, record: Record) -> None:
        """Write the record of a file; the copy of what was there before first."""
        folder = self._folder / target.digest
        values = asdict(record) | {"existed": record.before is not None, "path": str(target.path)}
        del values["before"]
        with self._faults():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if record.before is not None:
                _write(folder / _BEFORE, record.before)

            _write(folder / _RECORD, json.dumps(values, ensure_ascii=False, indent=2).encode())

    def forget(self, target: Target) -> None:
        """Drop the record of a file; its backups stay."""
        folder = self._folder / target.digest
        for name in (_RECORD, _BEFORE):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).unlink()

    def back_up(self, target: Target, data: bytes) -> Path:
        """Keep `data`, which is about to be replaced, and return where; the oldest copies beyond five go."""
        folder = self._folder / target.digest
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        copy = folder / f"backup-{stamp}-{Path(target.name).name}"

        with self._faults():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write(copy, data)
            for old in sorted(folder.glob("backup-*"))[:-_MOST_BACKUPS]:
                old.unlink()

        return copy

    @contextlib.contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (OSError, StoreError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise ConfigurationError(
                f"no backup can be kept in {self._folder} ({reason}), so nothing was changed; "
                "make that folder writable, or name another one with XDG_STATE_HOME"
            ) from error


def _write(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(
        beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600
    )
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)

    beside.replace(path)
