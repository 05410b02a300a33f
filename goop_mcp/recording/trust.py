"""Files of a repository that run programs, and the person who trusts them.

Such a file is code that anybody with write access changes, an agent included. So nothing in it runs
before a person has trusted exactly this content; the digests of what is trusted are in the state
folder of the user, outside of every project.
"""

import json
import os
import re
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Final

from goop_mcp.errors import GoopError
from goop_mcp.recording.state_folder import TRUSTED_FILE, recorder_folder

__all__ = [
    "TrustError",
    "content_digest",
    "forget",
    "is_trusted",
    "trust",
    "trusted_digest",
    "trusted_files",
    "whole_digest",
]

_MOST_FILES: Final = 1_000
# As much as so many of the longest paths take.
_MOST_BYTES: Final = 16 * 1024 * 1024
_OTHERS_WRITE: Final = 0o022
_WHOLE: Final = re.compile("[0-9a-f]{64}")


class TrustError(GoopError):
    """Raised when what is trusted cannot be read or written; the text says what to do."""


def content_digest(content: bytes) -> str:
    """Return the SHA-256 of `content` in hexadecimal digits, as it is trusted."""
    return sha256(content).hexdigest()


def whole_digest(given: str, *, shown_by: str) -> str:
    """Return the digest that a caller gave, in lower case. Raises TrustError for a part of one.

    A part fits other contents as well: whoever may write the file can look for one of them.
    `shown_by` is the command that shows the whole digest.
    """
    digest = given.strip().lower()
    if _WHOLE.fullmatch(digest) is None:
        raise TrustError(
            f"--trust is {given[:70]!r}, which is no whole digest; expected all 64 hexadecimal"
            f" digits, as {shown_by} shows them"
        )
    return digest


def is_trusted(file: Path, digest: str) -> bool:
    """Return whether a person trusted `file` with exactly this digest. Raises TrustError."""
    return trusted_digest(file) == digest


def trusted_digest(file: Path) -> str | None:
    """Return the digest with which a person trusted `file`, None without. Raises TrustError."""
    return _read().get(_key(file))


def trusted_files() -> dict[str, str]:
    """Return the digest of each trusted file by its path, the newest last. Raises TrustError."""
    return _read()


def trust(file: Path, digest: str) -> None:
    """Trust `file` with this digest, in place of an earlier one. Raises TrustError."""
    trusted = _read()
    # Written last, so that the oldest are the first to be forgotten.
    trusted.pop(_key(file), None)
    trusted[_key(file)] = digest
    _write(dict(list(trusted.items())[-_MOST_FILES:]))


def forget(file: Path) -> None:
    """Trust `file` no longer. Raises TrustError."""
    _write({name: digest for name, digest in _read().items() if name != _key(file)})


def _write(trusted: dict[str, str]) -> None:
    # Renamed when it is whole: a process that is killed here must not make everybody lose trust.
    path = Path(recorder_folder()) / TRUSTED_FILE
    temporary = path.with_name(f".{TRUSTED_FILE}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            json.dump(trusted, opened, indent=1)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TrustError(
            f"{path} cannot be written ({(error.strerror or str(error)).lower()}), so what is"
            " trusted stays as it was"
        ) from None


def _key(file: Path) -> str:
    # Links are not followed: a project that links to a file of another one is not trusted as that
    # one is, since the same command starts other programs there.
    return os.path.normpath(file.absolute())


def _read() -> dict[str, str]:
    path = Path(recorder_folder()) / TRUSTED_FILE
    try:
        with path.open("rb") as file:
            # Asked of the open file: the one at the path may be another one by now.
            if hasattr(os, "getuid") and os.fstat(file.fileno()).st_mode & _OTHERS_WRITE:
                raise TrustError(f"others may write {path}, so it is not believed; remove it")
            found = json.loads(file.read(_MOST_BYTES))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise TrustError(f"{path} cannot be read; remove it, and trust the files again") from None

    if not isinstance(found, dict):
        raise TrustError(f"{path} cannot be read; remove it, and trust the files again")
    return {str(name): str(digest) for name, digest in found.items()}
