"""Find our plugins that the settings of Claude Code enable."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from goop_mcp.hosts.catalogue import CLAUDE_PLUGINS, CLAUDE_SETTINGS
from goop_mcp.hosts.jsonc import Document, parse
from goop_mcp.hosts.targets import ConfigurationError, find_target

__all__ = ["Plugin", "find_plugins"]

_KEY: Final = "enabledPlugins"
_OURS: Final = "goop-mcp@"
"""The name of the marketplace follows, which anybody may choose."""


class Plugin(NamedTuple):
    """An enabled plugin: `name` with its marketplace; `shown` names the settings file.

    `versions` are those that Claude Code has installed, of which it runs one for each scope, and
    `hook_files` their hooks.
    """

    name: str
    shown: str
    versions: tuple[str, ...] = ()
    hook_files: tuple[Path, ...] = ()


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

    if not found:
        return []

    # What Claude Code keeps about each installed plugin; nothing is known when it cannot be read.
    target = find_target(CLAUDE_PLUGINS, project=project, environment=environment)
    try:
        document = parse((target.read() or b"").decode("utf-8"))
        listed = document.get(("plugins",)) if isinstance(document, Document) else None
    except (ConfigurationError, UnicodeDecodeError):
        listed = None

    installed = listed if isinstance(listed, Mapping) else {}
    plugins = []
    for name, plugin in found.items():
        # One entry for each place in which it is installed, such as the user's and a project's.
        entries = installed.get(name)
        versions, folders = (
            [
                value
                for entry in (entries if isinstance(entries, list) else ())
                if isinstance(entry, Mapping) and isinstance(value := entry.get(key), str)
            ]
            for key in ("version", "installPath")
        )
        files = tuple(Path(folder, "hooks", "hooks.json") for folder in folders)
        plugins.append(plugin._replace(versions=tuple(versions), hook_files=files))

    return plugins
