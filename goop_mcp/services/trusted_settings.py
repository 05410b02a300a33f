"""The settings of a project that a person trusts, by a digest of how they judge.

The digest stands with those of other trusted files of the user. The settings themselves are kept
under it as well, so that later ones can be compared with them.
"""

import json
import os
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.recording.state_folder import recorder_folder
from goop_mcp.recording.trust import TrustError, forget, trust, trusted_digest
from goop_mcp.services.small_files import read_whole
from goop_mcp.services.stop_hooks.policy import Tables, usable_tables

__all__ = ["TrustedSettings", "digest_of", "forget_settings", "read_trusted", "trust_settings"]

_FOLDER: Final = "settings"
_MOST_BYTES: Final = 1024 * 1024


class TrustedSettings(NamedTuple):
    """The settings that a person trusts; `tables` is None where only their digest is known."""

    digest: str
    tables: Tables | None = None

    def is_for(self, settings: Tables) -> bool:
        """Whether exactly these settings are trusted."""
        return digest_of(settings) == self.digest


def digest_of(settings: Tables) -> str:
    """Return the SHA-256 of the settings in hexadecimal digits, the same for the same values."""
    return sha256(_canonical(settings)).hexdigest()


def read_trusted(place: str) -> TrustedSettings | None:
    """Return what a person trusts at `place`, which stands for a project, None without.

    Raises TrustError.
    """
    _refuse_folder_in(place)
    digest = trusted_digest(Path(place))
    if digest is None:
        return None

    try:
        content = read_whole(_kept(digest), most=_MOST_BYTES) or b""
        # A file that anybody changed is not what was trusted.
        is_whole = sha256(content).hexdigest() == digest
        return TrustedSettings(digest, usable_tables(json.loads(content)) if is_whole else None)
    except (OSError, ValueError, RecursionError):
        return TrustedSettings(digest)


def trust_settings(place: str, settings: Tables) -> str:
    """Trust exactly these settings at `place`, instead of earlier ones; return their digest.

    Raises TrustError.
    """
    _refuse_folder_in(place)
    digest = digest_of(settings)
    path = Path(_kept(digest))
    temporary = path.with_name(f".{digest}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(_canonical(settings))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        reason = (error.strerror or str(error)).lower()
        raise TrustError(f"{path} cannot be written ({reason}), so nothing is trusted") from None
    trust(Path(place), digest)

    return digest


def forget_settings(place: str) -> bool:
    """Trust nothing at `place` any more; return whether anything was. Raises TrustError."""
    if trusted_digest(Path(place)) is None:
        return False
    # The settings stay under their digest: another project may trust the same ones.
    forget(Path(place))

    return True


def _canonical(settings: Tables) -> bytes:
    return json.dumps(settings, sort_keys=True, separators=(",", ":")).encode("ascii")


def _kept(digest: str) -> str:
    return f"{recorder_folder()}/{_FOLDER}/{digest}.json"


def _refuse_folder_in(place: str) -> None:
    """Raise TrustError where agents may write what is trusted, as a part of their project."""
    project = Path(place).parents[1]
    folder = Path(os.path.realpath(recorder_folder()))
    if folder.is_relative_to(project):
        raise TrustError(
            f"what is trusted would be kept in {str(folder)!r}, a folder of the project, where"
            " agents write; set XDG_STATE_HOME to a folder outside of it"
        )
