"""What is installed in hosts here that judges reports by itself: hooks, or a plugin."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from goop_mcp.hosts.catalogue import HOSTS, Asset, Element, Scope, is_our_element
from goop_mcp.hosts.editing import elements_at, parse_configuration
from goop_mcp.hosts.hooks.plugins import find_plugins
from goop_mcp.hosts.installing import Registration, is_our_target
from goop_mcp.hosts.targets import ConfigurationError

__all__ = ["are_judged"]


def are_judged(project: Path, environment: Mapping[str, str]) -> bool:
    """Return whether hooks or a plugin of goop-mcp judge reports in `project`, in any host.

    A file that cannot be read counts as one without them.
    """
    return any(_judging(project, environment)) or bool(find_plugins(project, environment))


def _judging(project: Path, environment: Mapping[str, str]) -> Iterator[bool]:
    for host in HOSTS.values():
        for scope in Scope if host.judges else ():
            registration = Registration(
                host=host, scope=scope, project=project, environment=environment
            )
            for target, parts in registration.files():
                if isinstance(parts, Asset):
                    yield not parts.is_command and is_our_target(target)
                    continue
                try:
                    data = target.read() or b""
                    document = parse_configuration(data.decode("utf-8"), target.shown)
                except (ConfigurationError, UnicodeDecodeError):
                    continue
                yield any(
                    is_our_element(value)
                    for part in parts
                    if isinstance(part, Element) and part.keys[0] == "hooks"
                    for value in elements_at(document, part)
                )
