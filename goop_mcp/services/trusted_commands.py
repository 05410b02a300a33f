"""The named commands of a project that a person trusts; cheap, because hooks ask."""

import os
from collections.abc import Mapping
from pathlib import Path

from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.recording.state_folder import TRUSTED_FILE, recorder_folder

__all__ = ["trusted_commands"]


def trusted_commands(project: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the named commands of the project that a person trusts; an agent may name any."""
    # Most machines trust nothing, and what reads such files need not be loaded.
    if not os.access(f"{recorder_folder()}/{TRUSTED_FILE}", os.F_OK):
        return {}
    try:
        found = services.named_checks.read_checks(project)
    except GoopError:
        return {}
    return {check.name: check.command for check in found.checks.values()} if found.trusted else {}
