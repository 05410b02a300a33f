"""Which plugins are switched on in Claude Code, as far as its settings tell."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.hosts.catalogue import CLAUDE_SETTINGS
from goop_mcp.hosts.jsonc import Document, parse
from goop_mcp.hosts.targets import ConfigurationError, find_target

__all__ = ["Plugin", "find_plugins"]

_KEY: Final = "enabledPlugins"
_OURS: Final = "goop-mcp@"
"""What follows is the name of a marketplace, which may be anybody's."""


class Plugin(NamedTuple):
    """A plugin that is on: `name` with its marketplace, and the file that says so, as people call it."""

    name: str
    shown: str


def find_plugins(project: Path, environment: Mapping[str, str]) -> list[Plugin]:
    """Return the plugins of ours that are on in `project`.

    A file that cannot be read says nothing.
    """
    found: dict[str, Plugin] = {}
    for place in CLAUDE_SETTINGS:
        target = find_target(place, project=project, environment=environment)
        try:
            document = parse((target.read() or b"").decode("utf-8"))
        except (ConfigurationError, UnicodeDecodeError):
            continue

        switches = document.get((_KEY,)) if isinstance(document, Document) else None

        for name, on in switches.items() if isinstance(switches, Mapping) else ():
            if name.startswith(_OURS):
                found.pop(name, None)
                found |= {name: Plugin(name, target.shown)} if on is True else {}

    return list(found.values())
