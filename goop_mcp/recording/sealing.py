"""The key of this machine, and recorded runs as texts that it authenticates.

The key stops a run that somebody wrote into the database by hand, or copied from another machine.
It does not stop a program of the same user that reads the key on purpose.
"""

import hmac
import json
import os
import secrets
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.errors import GoopError
from goop_mcp.evidence.recorded_runs import MacState, RecordedRun, RunCounts, WorkTree
from goop_mcp.recording.state_folder import recorder_folder

__all__ = [
    "KeyFileError",
    "MachineKey",
    "machine_key",
    "new_run_id",
    "seal",
    "unseal",
]

_BYTES: Final = 32
_NAME: Final = 4
_RANDOM: Final = 4
_OTHERS: Final = 0o077
_LISTS: Final = (
    "argv", "paths", "kinds", "defined_by", "variables", "passed_names", "skipped_names",
)  # fmt: skip


class KeyFileError(GoopError):
    """Raised when the key cannot be used; the text says what to do."""


class MachineKey(NamedTuple):
    """A key; `name` are the first four hexadecimal digits of its digest."""

    name: str
    secret: bytes

    def __repr__(self) -> str:
        return f"MachineKey({self.name})"


def machine_key(*, create: bool) -> MachineKey | None:
    """Return the key of this user on this machine, None if there is none and `create` is False.

    Raises KeyFileError.
    """
    path = Path(recorder_folder()) / "key"
    try:
        if create and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            temporary = path.with_name(f".key.{os.getpid()}.{secrets.token_hex(_RANDOM)}")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as new:
                new.write(secrets.token_hex(_BYTES) + "\n")

            try:
                # A link fails where another run was faster; both then use that one's key.
                with suppress(FileExistsError):
                    os.link(temporary, path)
            finally:
                temporary.unlink()

        with path.open("rb") as file:
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_mode & _OTHERS:
                raise KeyFileError(
                    f"others may read {path}, so that it authenticates nothing; remove it, and"
                    " later runs get a new key"
                )
            secret = bytes.fromhex(file.read(4 * _BYTES).decode("ascii").strip())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or "it is damaged").lower()
        raise KeyFileError(f"the key {path} cannot be used ({reason}); remove it") from None

    # A short key, such as that of a disk that was full, could be guessed.
    if len(secret) != _BYTES:
        raise KeyFileError(f"the key {path} cannot be used (it is damaged); remove it")
    return MachineKey(sha256(secret).hexdigest()[:_NAME], secret)


def new_run_id(key: MachineKey) -> str:
    """Return a random id that names `key`, such as "r-7f3a91c204be"."""
    return f"r-{key.name}{secrets.token_hex(_RANDOM)}"


def seal(run: RecordedRun, key: MachineKey) -> tuple[str, str]:
    """Return `run` as JSON, and its MAC."""
    values = run._replace(key=key.name)._asdict()
    for name in ("mac", "mac_state"):
        del values[name]
    for name in ("before", "after"):
        tree = values[name]._asdict()
        # JSON has no keys of several parts.
        tree["scopes"] = [[list(paths), digest] for paths, digest in tree["scopes"].items()]
        values[name] = tree
    values["counts"] = run.counts._asdict()
    # One form for one run: the MAC is of these bytes, and they are what the database keeps.
    content = json.dumps(values, ensure_ascii=False, sort_keys=True, separators=(",", ":"))

    return content, _mac(content, key)


def unseal(content: str, mac: str, key: MachineKey | None) -> RecordedRun | None:
    """Return the run in `content` with the state of its MAC; None for a text that is not a run."""
    try:
        # Records of before these were kept have none.
        values = {"program_version": "", "defined_by": (), **json.loads(content)}
        lists = {name: tuple(map(str, values[name])) for name in _LISTS}
        trees = {}
        for name in ("before", "after"):
            tree = values[name]
            scopes = {tuple(map(str, paths)): str(digest) for paths, digest in tree["scopes"]}
            changes = tuple((str(path), str(blob)) for path, blob in tree["changes"])
            trees[name] = WorkTree(**{**tree, "scopes": scopes, "changes": changes})
        counts = RunCounts(**values["counts"])
        # A forged row may be JSON of any types, and rules and messages rely on these being texts.
        texts = ("id", "name", "outcome", "why", "program", "program_version", "tail", "key")
        if any(not isinstance(values[name], str) for name in texts):
            return None

        run = RecordedRun(**{**values, **lists, **trees, "counts": counts})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None

    state: MacState = "unknown key"
    if key is not None and run.key == key.name:
        # In constant time: another program could else find out a MAC digit by digit.
        state = "valid" if hmac.compare_digest(mac, _mac(content, key)) else "wrong"

    return run._replace(mac=mac, mac_state=state)


def _mac(content: str, key: MachineKey) -> str:
    return hmac.new(key.secret, content.encode(), sha256).hexdigest()
