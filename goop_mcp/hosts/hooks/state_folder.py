"""Find the folder for state between runs.

platformdirs does the same, but loading it takes too long for a hook.
"""

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
    """Return the folder that the host gives a plugin, else this program's; it need not exist.

    It is never in the project, which is shared with others and may be read-only or untrusted.
    """
    given = environment.get("CLAUDE_PLUGIN_DATA")
    if given:
        return given

    variable, parts = _PLACES.get(sys.platform, _ELSEWHERE)
    named = environment.get(variable)
    # pathlib is slow to load.
    home = named or os.path.join(os.path.expanduser("~"), *parts)  # noqa: PTH111, PTH118

    return os.path.join(home, "goop-mcp")  # noqa: PTH118
