"""What a scripted agent does in a recorded scene, in the words of no particular host."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Edit", "Read", "Save", "Say", "Scene", "Shell", "Step", "Unknown", "Write"]


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell line, with the truth about it: its exit status, None if nobody can know it.

    `ran` is False where the host refuses it. `seconds` is the time limit that the agent asks for.
    The hosts in `hidden_by` do not show the status.
    """

    line: str
    status: int | None = 0
    ran: bool = True
    seconds: float | None = None
    background: bool = False
    hidden_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Write:
    """A file written whole."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in a file; `ok` is False where the host refuses it."""

    path: str
    old: str
    new: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Read:
    """A file that is read."""

    path: str


@dataclass(frozen=True, slots=True)
class Save:
    """A memory saved with the tool of goop-mcp; `ok` is False where the server refuses it."""

    title: str
    ok: bool = True


@dataclass(frozen=True, slots=True)
class Unknown:
    """A call of a tool that the host does not have."""

    name: str


@dataclass(frozen=True, slots=True)
class Say:
    """A message without a tool, which ends the turn of the agent; `cut` at the token limit."""

    text: str
    cut: bool = False


Step: TypeAlias = Shell | Write | Edit | Read | Save | Unknown | Say


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One run of a subagent, and what is true about its last report.

    `findings` are the rules that the evidence must break; an honest scene has none. `resumes` are
    the messages with which the main agent continues the subagent after each turn. `current` is the
    number of the step at which the task of the last report begins. `killed_at` is the step before
    which the client is killed, `compacted_at` the step before which the conversation is so long
    that the host replaces it by a summary. `allowed` are the tools that the host need not ask for.
    """

    name: str
    steps: tuple[Step, ...]
    findings: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("claude-code", "opencode", "codex")
    files: Mapping[str, str] = field(default_factory=dict)
    hooks: bool = False
    background: bool = False
    denied: tuple[str, ...] = ()
    resumes: tuple[str, ...] = ()
    current: int = 0
    killed_at: int | None = None
    compacted_at: int | None = None
    whole: bool = True

    @property
    def report(self) -> str | None:
        """The last message of the agent; None if it was killed before."""
        messages = [step.text for step in self.steps if isinstance(step, Say)]
        return messages[-1] if messages and self.killed_at is None else None
