"""What a host saw an agent do, in order; one model for the transcripts of all hosts.

An unknown value stays unknown (None): a reader must never guess, because a wrong guess would accuse
an honest agent.
"""

from typing import Final, Literal

from goop_mcp.structs import DataStruct

__all__ = [
    "ENTRIES",
    "NO_ACTIVITY",
    "OUTPUT_CHARACTERS",
    "AgentActivity",
    "FileAction",
    "ObservedCall",
    "ObservedCommand",
    "ObservedFile",
    "ObservedMemory",
    "cut_output",
]

OUTPUT_CHARACTERS: Final = 8192
"""How much of a command's output is kept: its end, where runners print their summary."""

ENTRIES: Final = 1000
"""The most entries of one kind that the rules look at: the last ones."""

FileAction = Literal["written", "edited", "deleted"]


class ObservedCommand(DataStruct, frozen=True, kw_only=True):
    """A command that the agent started, as a shell line or as arguments.

    `position` counts through all kinds of entries of one activity, so that they can be put in
    order. `line` is the text that a shell ran; where the host started a program without a shell,
    `argv` holds its arguments and `line` the same joined by spaces.

    `status` is the exit status, 0 to 255, or -1 to -64 where a signal ended it; None if unknown:
    still running, interrupted, past its time limit, or not given by the host. `ran` is False if the
    host refused to start it.

    `output` is the end of what it printed (see `cut_output`), `output_whole` whether that is all of
    it. `started` is an ISO 8601 time, None if unknown; for people only, because clocks jump.
    `current` is False for a command of an earlier task of the same agent: it explains claims and
    contradicts none. `source` says where it is found, such as "transcript line 31".
    """

    position: int
    line: str
    argv: tuple[str, ...] | None = None
    status: int | None = None
    ran: bool = True
    output: str = ""
    output_whole: bool = True
    started: str | None = None
    current: bool = True
    source: str = ""

    def __repr__(self) -> str:
        """Leave out the output: it may hold secrets, and logs print such values."""
        names = (each for each in self.__struct_fields__ if each != "output")
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"ObservedCommand({shown})"


class ObservedFile(DataStruct, frozen=True, kw_only=True):
    """A change of a file by a tool of the host; `path` as the host gives it, usually absolute.

    `ok` is whether the change succeeded, None if the host does not say. `error` is the beginning of
    the host's message of a change that failed. `position`, `current` and `source` are those of
    `ObservedCommand`.
    """

    position: int
    path: str
    action: FileAction
    ok: bool | None = True
    error: str = ""
    current: bool = True
    source: str = ""


class ObservedCall(DataStruct, frozen=True, kw_only=True):
    """A call of any other tool, such as Read or one of an MCP server; `name` as the host gives it.

    `ok` is whether it succeeded, None if unknown; `error` as in `ObservedFile`.
    """

    position: int
    name: str
    ok: bool | None = None
    error: str = ""
    current: bool = True
    source: str = ""


class ObservedMemory(DataStruct, frozen=True, kw_only=True):
    """A memory that the agent tried to save under `title`; `ok` is None if the answer is unknown.

    The call is listed in `tools` as well.
    """

    position: int
    title: str
    ok: bool | None = None
    error: str = ""
    current: bool = True
    source: str = ""


class AgentActivity(DataStruct, frozen=True, kw_only=True):
    """What one agent did, each kind in order.

    `host` is "claude-code", "opencode" or another name, `host_version` its version, "" if unknown.
    `complete` means that everything since the beginning of the task was read. If it is False,
    `why_incomplete` says why in one clause ("the transcript ends before the report"), and nothing
    that is missing here may be used against the agent. `unreadable` is whether that is about what
    the host keeps, and not about what the agent did, such as giving its work to others (D-105).
    `to_report` is whether only the beginning is missing: everything from the first entry to the
    report was read, so that the last of these runs is the last one of the task. A file change or
    memory appears in its own list and a command in `commands`; `tools` has every other call.
    """

    host: str
    host_version: str = ""
    complete: bool = False
    why_incomplete: str = ""
    unreadable: bool = False
    to_report: bool = False
    commands: tuple[ObservedCommand, ...] = ()
    files: tuple[ObservedFile, ...] = ()
    tools: tuple[ObservedCall, ...] = ()
    memories: tuple[ObservedMemory, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no tool was called at all."""
        return not (self.commands or self.files or self.tools or self.memories)


NO_ACTIVITY: Final = AgentActivity(
    host="", why_incomplete="there is no transcript", unreadable=True
)


def cut_output(text: str) -> tuple[str, bool]:
    """Return the part of `text` that an entry keeps, and whether that is all of it."""
    if len(text) <= OUTPUT_CHARACTERS:
        return text, True
    return text[-OUTPUT_CHARACTERS:], False
