"""Determine the profile of a project with the few file accesses that a hook has time for."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from goop_mcp import services
from goop_mcp.services.small_files import read_whole

if TYPE_CHECKING:
    from goop_mcp.validation.expectations import Profile

__all__ = ["has_goopspec", "is_project", "read_profile"]

_FOLDER: Final = ".goopspec"
_DATABASE: Final = "goopspec.db"
_MOST_BYTES: Final = 1024 * 1024
# What GoopSpec 1.x writes into config.json; packages before it have `agents`, `mcp`, `memory` and
# `orchestrator` there.
_KEYS_OF_V1: Final = frozenset(
    {
        "agentModels",
        "agentThinkingBudgets",
        "agentThinkingLevels",
        "binaryPaths",
        "gitignoreGoopspec",
        "lazyAutopilotNudge",
        "loopDetection",
        "memoryEnabled",
    }
)


def has_goopspec(project: str) -> bool:
    """Return whether the folder `project` has a folder `.goopspec/`."""
    # `os.path` instead of pathlib, which is slow to import.
    return os.path.isdir(os.path.join(project, _FOLDER))  # noqa: PTH112, PTH118


def is_project(project: str) -> bool:
    """Return whether claims can be verified in the folder `project` (D-106).

    It has a `.goopspec/`, or lies in a git repository.
    """
    return has_goopspec(project) or services.repositories.repository_above(project) is not None


def read_profile(project: str) -> "Profile":
    """Return the profile of the folder `project`: v1 by its database, settings or state (D-96).

    An unreadable file is ignored here; its error is reported where it is used.
    """
    # `os.path` instead of pathlib, which is slow to import.
    folder = os.path.join(project, _FOLDER)  # noqa: PTH118
    if os.path.isfile(os.path.join(folder, _DATABASE)):  # noqa: PTH113, PTH118
        return "v1"
    if _KEYS_OF_V1 & _read_object(folder, "config.json").keys():
        return "v1"

    # Version 2 of the state and the phase "discuss" exist only in GoopSpec 1.x.
    state = _read_object(folder, "state.json")
    if "activeWorkflowId" in state:
        return "v1"

    workflow = state.get("workflow")
    phase = workflow.get("phase") if isinstance(workflow, Mapping) else None

    return "v1" if isinstance(phase, str) and phase.strip().lower() == "discuss" else "0.x"


def _read_object(folder: str, name: str) -> Mapping[str, object]:
    try:
        content = read_whole(os.path.join(folder, name), most=_MOST_BYTES)  # noqa: PTH118
        values = json.loads(content or b"{}")
    except (OSError, ValueError, RecursionError):
        return {}

    return values if isinstance(values, Mapping) else {}
