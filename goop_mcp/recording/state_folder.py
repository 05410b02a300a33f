"""Where this user's machine keeps what belongs to no project; cheap, because hooks ask."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from goop_mcp.validation.claims import CheckClaim

__all__ = [
    "TRUSTED_FILE",
    "may_be_recorded",
    "may_be_trusted",
    "recorder_folder",
    "state_folder",
]

TRUSTED_FILE: Final = "trusted.json"
"""The file of `recorder_folder` with what a person trusts."""

# platformdirs knows these folders too, but loading it takes too long for a hook.
_FOLDERS: Final = {
    "win32": ("LOCALAPPDATA", ("AppData", "Local")),
    "darwin": ("", ("Library", "Application Support")),
}
_OTHER: Final = ("XDG_STATE_HOME", (".local", "state"))


def state_folder(environment: Mapping[str, str]) -> str:
    """Return the absolute path of the folder, which may not exist."""
    variable, parts = _FOLDERS.get(sys.platform, _OTHER)
    home = environment.get("USERPROFILE" if sys.platform == "win32" else "HOME")
    if not home:
        # Started by cron or in a container: only then is pathlib worth the time that it takes to
        # load. A user without a home has a folder of that name where the process works.
        try:
            home = str(import_module("pathlib").Path.home())
        except RuntimeError:
            home = "~"

    # Windows takes both separators.
    return "/".join((environment.get(variable) or "/".join((home, *parts)), "goop-mcp"))


def recorder_folder() -> str:
    """Return the path of the folder with the key of recorded runs and what a person trusts."""
    return f"{state_folder(os.environ)}/recorder"


def may_be_recorded(checks: "Iterable[CheckClaim]") -> bool:
    """Return whether looking for recorded runs of `checks` can find any."""
    # The first run creates the key.
    return any(check.run for check in checks) or os.access(f"{recorder_folder()}/key", os.F_OK)


def may_be_trusted(path: str) -> bool:
    """Return whether looking for what a person trusts at `path` can find anything."""
    try:
        with open(f"{recorder_folder()}/{TRUSTED_FILE}", "rb") as file:  # noqa: PTH123
            return json.dumps(path).encode("ascii") in file.read()
    except OSError:
        return False
