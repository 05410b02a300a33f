"""The commands of the packages: their phase, gate and usual successor (G-35)."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from goop_mcp.structs import DataStruct
from goop_mcp.validation.expectations import Profile
from goop_mcp.workflow.gate_names import GateName

__all__ = [
    "COMMANDS",
    "KNOWN_COMMANDS",
    "PLUGIN_PREFIX",
    "Command",
    "command_name",
    "usual_next",
    "usual_next_of_phase",
]


class Command(DataStruct, frozen=True, kw_only=True):
    """A command of the packages.

    `phase` is the one it works in; None means that it stays in the current one. `needs` is the gate
    before it, `spec` the lock it requires besides any gate. `since` and `until` are the first and
    the last package version that has it, None where it was there from the start or still is.
    `in_v1` is whether profile v1 has it too.
    """

    name: str
    phase: str | None = None
    phase_in_v1: str | None = None
    needs: GateName | None = None
    needs_locked_spec: bool = False
    next: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    in_v1: bool = False


_LISTED = (
    Command(
        name="/goop-discuss", phase="plan", phase_in_v1="discuss", next=("/goop-plan",), in_v1=True
    ),
    Command(
        name="/goop-plan",
        phase="plan",
        needs=GateName.DISCOVERY,
        next=("/goop-execute",),
        in_v1=True,
    ),
    Command(name="/goop-research", phase="research", next=("/goop-plan",)),
    Command(
        name="/goop-specify",
        phase="specify",
        needs=GateName.DISCOVERY,
        next=("/goop-execute",),
        until="0.2.4",
    ),
    Command(
        name="/goop-execute",
        phase="execute",
        needs=GateName.SPEC,
        next=("/goop-accept",),
        in_v1=True,
    ),
    Command(
        name="/goop-accept",
        phase="accept",
        needs=GateName.EXECUTION,
        next=("/goop-milestone", "/goop-discuss"),
        in_v1=True,
    ),
    Command(name="/goop-amend", needs_locked_spec=True, next=("/goop-execute",), in_v1=True),
    Command(
        name="/goop-complete",
        phase="idle",
        needs=GateName.ACCEPTANCE,
        next=("/goop-milestone",),
        until="0.2.6",
    ),
    Command(name="/goop-pr-review", phase="accept", needs=GateName.MERGE, since="0.2.7"),
    Command(name="/goop-quick", in_v1=True),
    *(Command(name=f"/goop-{name}", in_v1=True) for name in ("help", "setup", "status")),
    *(
        Command(name=f"/goop-{name}")
        for name in (
            "debug",
            "map-codebase",
            "memory",
            "milestone",
            "pause",
            "recall",
            "remember",
            "resume",
        )
    ),
)

COMMANDS: Mapping[str, Command] = MappingProxyType({command.name: command for command in _LISTED})
"""Every command of every package version, by its name with the slash."""

KNOWN_COMMANDS = frozenset(COMMANDS)
"""The union over all package versions."""

PLUGIN_PREFIX = "goop-mcp:"
"""What Claude Code puts before the names of our plugin's commands: `/goop-mcp:goop-plan`."""

_FORM = re.compile(r"(/goop-[a-z0-9]+(?:-[a-z0-9]+)*)(?:\s.*)?", re.DOTALL)
_AFTER_PHASE = {"plan": "/goop-plan", "specify": "/goop-specify", "discuss": "/goop-discuss"}


def command_name(text: str) -> str | None:
    """Return the `/goop-[command]` at the start of `text`, without arguments, or None (G-34)."""
    match = _FORM.fullmatch(text.strip())
    return match[1] if match else None


def usual_next(command: str, *, profile: Profile = "0.x", version: str | None = None) -> str | None:
    """Return the command that usually follows `command`, None without one or if it is unknown.

    `version` is that of the package, such as 0.1.6: only 0.1.x locks the plan in a separate step. A
    command that the profile does not have is replaced by the next one listed.
    """
    known = COMMANDS.get(command)
    if known is None:
        return None
    if command == "/goop-plan" and profile == "0.x" and (version or "").startswith("0.1."):
        return "/goop-specify"
    return next((name for name in known.next if profile == "0.x" or COMMANDS[name].in_v1), None)


def usual_next_of_phase(
    phase: str, *, tasks_remain: bool = True, profile: Profile = "0.x", version: str | None = None
) -> str | None:
    """Return the command a report of `phase` usually hands over to, None for a phase without one.

    Execution hands over to itself while tasks remain.
    """
    if phase == "execute":
        return "/goop-execute" if tasks_remain else "/goop-accept"
    if phase == "research":
        return "/goop-plan"
    if phase == "accept":
        return usual_next("/goop-accept", profile=profile)

    command = _AFTER_PHASE.get(phase)

    return None if command is None else usual_next(command, profile=profile, version=version)
