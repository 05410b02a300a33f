"""Records of what a host's files held before goop-mcp changed them, in the user's state folder.

They are not kept next to the files, where they might be committed together with secrets.
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

__all__ = ["InstallRecord", "InstallRecords"]

_MOST_BACKUPS = 5
_BEFORE = "before"
_RECORD = "record.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallRecord:
    """What installing did to one file.

    `before` is its original content, None when it did not exist; `after` the SHA-256 digest of what
    was written; `folders` those created for it; `written` every value that is ours; `owners` the
    hosts for which it was written.
    """

    before: bytes | None
    after: str
    folders: tuple[str, ...] = ()
    written: tuple[JsonValue, ...] = ()
    owners: tuple[str, ...] = ()

    def is_untouched(self, data: bytes | None) -> bool:
        """Return whether the file still holds exactly what was written."""
        return data is not None and sha256(data) == self.after


class InstallRecords:
    """The records of the current user.

    Methods raise ConfigurationError when the state folder cannot be used.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Keep the records in `folder`, by default in the state folder of the current user."""
        self._folder = (folder or user_state_path("goop-mcp", appauthor=False)) / "hosts"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Block other processes that install or uninstall until the end of the block."""
        with self._explained_errors():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = WriteLock(self._folder / "lock", name="the lock of installations")
            lock.acquire()

        try:
            yield
        finally:
            lock.forget()

    def read(self, target: Target) -> InstallRecord | None:
        """Return the record of a file; None when there is none, or when it cannot be read."""
        folder = self._folder / target.digest
        try:
            found = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
            before = (folder / _BEFORE).read_bytes() if found["existed"] else None
            return InstallRecord(
                before=before,
                after=str(found["after"]),
                folders=tuple(map(str, found["folders"])),
                written=tuple(found["written"]),
                owners=tuple(map(str, found["owners"])),
            )
        except (OSError, ValueError, KeyError, TypeError):
            # A damaged record counts as none: uninstall then finds our entries by their command.
            return None

    def keep(self, target: Target, record: InstallRecord) -> None:
        """Write the record of a file."""
        folder = self._folder / target.digest
        values = asdict(record) | {"existed": record.before is not None, "path": str(target.path)}
        del values["before"]
        with self._explained_errors():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # The original first: a record without it could not be restored.
            if record.before is not None:
                _write(folder / _BEFORE, record.before)

            _write(folder / _RECORD, json.dumps(values, ensure_ascii=False, indent=2).encode())

    def forget(self, target: Target) -> None:
        """Delete the record of a file; its backups stay."""
        folder = self._folder / target.digest
        for name in (_RECORD, _BEFORE):
            with contextlib.suppress(FileNotFoundError):
                (folder / name).unlink()

    def back_up(self, target: Target, data: bytes) -> Path:
        """Save `data` before it is replaced; return the path. The newest five copies are kept."""
        folder = self._folder / target.digest
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")
        copy = folder / f"backup-{stamp}-{Path(target.name).name}"

        with self._explained_errors():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write(copy, data)
            for old in sorted(folder.glob("backup-*"))[:-_MOST_BACKUPS]:
                old.unlink()

        return copy

    @contextlib.contextmanager
    def _explained_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, StoreError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise ConfigurationError(
                f"no backup can be kept in {self._folder} ({reason}), so nothing was changed; "
                "make that folder writable, or name another one with XDG_STATE_HOME"
            ) from error


def _write(path: Path, data: bytes) -> None:
    # Written under another name and renamed, so that a reader never sees half of it; only its owner
    # may read it, because the files of hosts may hold secrets.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(
        temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o600
    )
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)

    temporary.replace(path)
