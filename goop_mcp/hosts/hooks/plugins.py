"""Find our plugins that the settings of Claude Code enable."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.hosts.catalogue import CLAUDE_SETTINGS
from goop_mcp.hosts.jsonc import Document, parse
from goop_mcp.hosts.targets import ConfigurationError, find_target

__all__ = ["Plugin", "find_plugins"]

_KEY: Final = "enabledPlugins"
_OURS: Final = "goop-mcp@"
"""The name of the marketplace follows, which anybody may choose."""


class Plugin(NamedTuple):
    """An enabled plugin: `name` with its marketplace; `shown` names the settings file."""

    name: str
    shown: str


def find_plugins(project: Path, environment: Mapping[str, str]) -> list[Plugin]:
    """Return our plugins that are enabled in `project`; files that cannot be read are skipped."""
    found: dict[str, Plugin] = {}
    for location in CLAUDE_SETTINGS:
        target = find_target(location, project=project, environment=environment)
        try:
            document = parse((target.read() or b"").decode("utf-8"))
        except (ConfigurationError, UnicodeDecodeError):
            continue

        switches = document.get((_KEY,)) if isinstance(document, Document) else None

        for name, on in switches.items() if isinstance(switches, Mapping) else ():
            if name.startswith(_OURS):
                # A later file overrides an earlier one, also to switch a plugin off.
                found.pop(name, None)
                if on is True:
                    found[name] = Plugin(name, target.shown)

    return list(found.values())
