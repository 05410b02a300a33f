"""What the caller knows about a reply before it is judged."""

from collections.abc import Collection, Mapping
from typing import Literal, get_args

from goop_mcp.errors import UnknownNameError
from goop_mcp.structs import DataStruct
from goop_mcp.validation.severities import NO_CHANGES, Severities

__all__ = ["NOTHING_EXPECTED", "Expectations", "Markdown", "Profile"]

Profile = Literal["0.x", "v1"]
Markdown = Literal["allow", "forbid"]


class Expectations(DataStruct, frozen=True, kw_only=True):
    """Facts the envelope has to agree with; None means unknown, and nothing is compared.

    `agent` is the subagent type that was invoked; a host's prefix (`plugin:goop-executor`) is
    ignored (G-42). `phase` is the current workflow phase (G-43). `files_changed` (or commits made),
    `memory_saved` and `checks_run` state what really happened, so that the section that must report
    it is required (G-37 to G-39). With `profile` "v1", `discuss` is a separate phase (D-28).

    `workspace` is the absolute path of the project folder and `session_folder` a folder in it that
    paths must not leave; both are compared as texts and never opened. `session_id` replaces a
    variable left in a path (D-59). `files_checked` means that the caller checks the files that the
    reply names: a variable left in a path is an error then.

    With `markdown` "forbid" a Factory reply in Markdown is refused (F-01). `sessions` maps each
    known session to those that must be completed before it (H-68). `agents` are patterns with `*`
    and `?` of the names of the project's own agents, which may sign reports in addition to those of
    GoopSpec (D-97). `base` is the id of the commit at which the task began: a file reported as
    modified must have changed since (D-94). `severities` are those that the project chose instead
    of the usual ones.
    """

    agent: str | None = None
    agents: tuple[str, ...] = ()
    phase: str | None = None
    files_changed: bool | None = None
    memory_saved: bool | None = None
    checks_run: bool | None = None
    profile: Profile = "0.x"
    workspace: str | None = None
    session_folder: str | None = None
    session_id: str | None = None
    files_checked: bool = False
    markdown: Markdown = "allow"
    sessions: Mapping[str, Collection[str]] | None = None
    base: str | None = None
    severities: Severities = NO_CHANGES

    def __post_init__(self) -> None:
        """Refuse values of the wrong type, which would blame the agent for the caller's mistake."""
        for kind, names in _KINDS.items():
            for name in names:
                value = getattr(self, name)
                if not isinstance(value, kind | None):
                    raise TypeError(
                        f"expected {name} is {type(value).__name__}; expected {kind.__name__} or"
                        " None"
                    )

        for name, words in _CHOICES.items():
            if getattr(self, name) not in words:
                raise UnknownNameError(name, str(getattr(self, name)), words)


_KINDS: Mapping[type, tuple[str, ...]] = {
    str: ("agent", "phase", "workspace", "session_folder", "session_id", "base"),
    bool: ("files_changed", "memory_saved", "checks_run"),
    Mapping: ("sessions",),
    tuple: ("agents", "severities"),
}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "profile": get_args(Profile),
    "markdown": get_args(Markdown),
}

NOTHING_EXPECTED = Expectations()
