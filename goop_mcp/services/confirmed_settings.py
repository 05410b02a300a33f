"""The settings of a project that a person trusted or committed, which its files are compared with.

Hooks load it where the first event of a session comes late, so that it loads git for itself.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from goop_mcp import services, workspace
from goop_mcp.recording.state_folder import may_be_trusted
from goop_mcp.services.options_file import FILES
from goop_mcp.services.repositories import may_hold, repository_above
from goop_mcp.services.stop_hooks.policy import (
    CLAIM_SECONDS,
    FILE,
    ProjectSettings,
    Tables,
    read_project_settings,
    trust_place,
)

if TYPE_CHECKING:
    from goop_mcp.services.trusted_settings import TrustedSettings

__all__ = ["committed", "find_trusted", "unconfirmed"]


def find_trusted(project: str) -> "TrustedSettings | None":
    """Return the settings that a person trusts in the folder `project`. Raises TrustError."""
    place = trust_place(project)
    # Most machines trust nothing, and need not load what reads it.
    return services.trusted_settings.read_trusted(place) if may_be_trusted(place) else None


def unconfirmed(project: str, commit: str) -> tuple[str, str] | None:
    """Return what weakens in the folder `project` as it stands, and the file to trust.

    It is compared with what a person trusts, else with `commit`, an id or HEAD, else with the
    default values. None where nothing weakens. Raises TrustError.
    """
    settings, trusted = read_project_settings(project), find_trusted(project)
    if trusted is not None and trusted.is_for(settings.tables):
        return None

    before = None if trusted is None else trusted.tables
    if before is None:
        before = committed(project, settings, lambda: commit) or {}
    if before == settings.tables:
        return None

    weakening = services.weakening
    found = weakening.weakened([before], settings.tables)
    if not found:
        return None
    return weakening.describe(settings, found), weakening.file_of(settings, found) or FILES[0]


def committed(project: str, settings: ProjectSettings, commit: Callable[[], str]) -> Tables | None:
    """Return the settings in a commit, an id or HEAD, of the folder `project`.

    None where there is no such commit, or nobody need wait for git.
    """
    repository = repository_above(project)
    if repository is None:
        return None
    # Settings that no commit can have, and that weaken nothing, are compared with nothing.
    if not may_hold(repository, (FILES[0], FILE)) and (
        settings.tables == {} or not services.weakening.weakened([{}], settings.tables)
    ):
        return None

    from pathlib import Path  # noqa: PLC0415 - slow to load

    try:
        until = time.monotonic() + CLAIM_SECONDS
        git = workspace.git.Repository(Path(project).resolve(), until=until)
        texts = git.texts(commit(), [*FILES, FILE])
    except workspace.git.GitError:
        # It cannot say, and what weakens compared with the default values needs a person then.
        return {}
    if texts is None:
        return None

    def read(path: str, most: int) -> bytes | None:
        text = texts.get(path)
        if text is not None and len(text) > most:
            raise OSError(f"it has more than {most:,} bytes")
        return text

    return read_project_settings(project, read).tables
