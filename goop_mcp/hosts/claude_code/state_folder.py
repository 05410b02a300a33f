"""Where a person's programs keep what they need from run to run; a library for it loads longer than a hook may."""

import os
import sys
from collections.abc import Mapping
from typing import Final

__all__ = ["state_folder"]

_PLACES: Final = {
    "win32": ("LOCALAPPDATA", ("AppData", "Local")),
    "darwin": ("", ("Library", "Application Support")),
}
_ELSEWHERE: Final = ("XDG_STATE_HOME", (".local", "state"))


def state_folder(environment: Mapping[str, str]) -> str:
    """Return the folder that the host gives a plugin, else the one for this program's state; it need not exist.

    Never one in the project: that is shared with others, and may be read-only or a stranger's.
    """
    given = environment.get("CLAUDE_PLUGIN_DATA")
    if given:
        return given

    variable, parts = _PLACES.get(sys.platform, _ELSEWHERE)
    named = environment.get(variable)
    # Pathlib is slow to load
    home = named or os.path.join(os.path.expanduser("~"), *parts)  # noqa: PTH111, PTH118

    return os.path.join(home, "goop-mcp")  # noqa: PTH118 - as above
