"""What judges the reports in a host: hooks in its settings, a plugin.

Two of them ask an agent twice.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from goop_mcp.hosts.catalogue import Host
from goop_mcp.hosts.claude_code.plugins import find_plugins
from goop_mcp.hosts.doctor.checks import Check, fault, fine, warning
from goop_mcp.hosts.installing import Seat
from goop_mcp.hosts.launch import PROGRAM

__all__ = ["Judging", "check_judging", "plugins_that_judge", "removal"]

_STARTERS: Final = (PROGRAM, "uvx", "pipx")
"""What the plugin of Claude Code starts, the first that is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """Something that judges reports, and how to be rid of it; `is_plugin` where it starts goop-mcp by itself."""

    name: str
    cure: str
    is_plugin: bool = False


def plugins_that_judge(project: Path, environment: Mapping[str, str]) -> list[Judging]:
    """Return the plugins of Claude Code that are on."""
    return [
        Judging(
            name=f"the plugin {plugin.name} of {plugin.shown}",
            cure=f"claude plugin disable {plugin.name}",
            is_plugin=True,
        )
        for plugin in find_plugins(project, environment)
    ]


def check_judging(
    host: Host, judges: Sequence[Judging], environment: Mapping[str, str]
) -> Iterator[Check]:
    """Yield whether plugins can start goop-mcp, and whether an event is answered twice."""
    path = environment.get("PATH")
    starter = next((found for name in _STARTERS if (found := shutil.which(name, path=path))), None)

    for judge in judges:
        if judge.is_plugin and starter is None:
            cure = (
                f"install goop-mcp for good: uv tool install {PROGRAM}, or pipx install {PROGRAM}"
            )
            yield fault(
                host.title, f"{judge.name} finds none of {', '.join(_STARTERS)} on the PATH", cure
            )
        elif judge.is_plugin:
            yield fine(host.title, f"{judge.name} is on and starts {starter}")

    if len(judges) > 1:
        names = " and ".join(judge.name for judge in judges)
        cures = " or ".join(dict.fromkeys(judge.cure for judge in judges))
        yield warning(
            host.title,
            f"{names} judge the same reports: an agent is asked twice",
            f"keep one: {cures}",
        )


def removal(seat: Seat) -> str:
    """Return the command that takes out of a host what was installed there."""
    return f"goop-mcp uninstall {seat.host.name} --scope {seat.scope}"
