"""What the caller knows beforehand about the reply it is going to judge."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["NOTHING_EXPECTED", "Expectations", "Profile"]

Profile = Literal["0.x", "v1"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectations:
    """Facts the envelope has to agree with; None means that the caller does not know and nothing is compared.

    `agent` is the subagent type that was invoked; a host's prefix (`plugin:goop-executor`) is ignored (G-42).
    `phase` is the current workflow phase (G-43). `files_changed` (or commits made), `memory_saved` and `checks_run`
    say what really happened, so that the section that must tell of it is asked for (G-37 to G-39). With `profile`
    "v1", `discuss` is a phase of its own (D-28).
    """

    agent: str | None = None
    phase: str | None = None
    files_changed: bool | None = None
    memory_saved: bool | None = None
    checks_run: bool | None = None
    profile: Profile = "0.x"


NOTHING_EXPECTED = Expectations()
