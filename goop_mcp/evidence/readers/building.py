"""Collect the entries of an activity while a reader goes through a transcript."""

from collections.abc import Container, Iterable
from typing import Final, TypeAlias

from msgspec.structs import replace

from goop_mcp.evidence.activity import (
    ENTRIES,
    AgentActivity,
    FileAction,
    ObservedCall,
    ObservedCommand,
    ObservedFile,
    ObservedMemory,
    cut_output,
)

__all__ = ["ActivityBuilder", "is_save"]

_LONGEST_LINE: Final = 16_384
_LONGEST_NAME: Final = 1_000
_LONGEST_ERROR: Final = 500
# A tool with such a word in its name may run commands whose outcome the reader cannot know.
_RUNNING: Final = ("run", "exec", "test", "shell", "terminal", "command", "bash", "monitor")
_SAVES: Final = ("save_memory", "memory_save")

_Entry: TypeAlias = ObservedCommand | ObservedFile | ObservedCall | ObservedMemory


class ActivityBuilder:
    """The entries so far, each under the id of its call until the outcome is known."""

    def __init__(self) -> None:
        """Begin with no entry."""
        self._entries: dict[str, list[_Entry]] = {}
        self._position = 0
        self._task_after = 0
        self._unknown = ""
        self._unanswered: set[str] = set()
        self._ended_unseen = False

    @property
    def has_unanswered(self) -> bool:
        """Whether a call has no outcome yet, not even an unknown one."""
        return bool(self._unanswered)

    @property
    def calls(self) -> Container[str]:
        """The ids of all calls so far."""
        return self._entries.keys()

    def note_unknown(self, what: str) -> None:
        """Keep the first form of the file that the reader does not know and that may hide work."""
        self._unknown = self._unknown or what

    def _add(self, call: str, *entries: _Entry) -> None:
        # Hosts give each call an id of its own. A repeated one would let the outcome of a later
        # command change an earlier one, so that it gets another key.
        key = call if not self._entries.get(call) else f"{call}\n{self._position}"
        # A host may write a result before its call; the outcome stays unknown then.
        if call not in self._entries:
            self._unanswered.add(call)
        self._entries[key] = list(entries)

    def reserve_position(self) -> int:
        """Return the next position, for an entry that is added later and belongs here."""
        self._position += 1
        return self._position

    def add_command(self, call: str, line: str, *, started: str | None, source: str) -> None:
        """Add a command whose outcome is not known yet.

        A line that is longer than any sensible one loses its end, and with it the proof of its
        status: it is kept as one that nothing can be attributed to.
        """
        self._add(
            call,
            ObservedCommand(
                position=self.reserve_position(),
                line=line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} &",
                output_whole=False,
                started=started,
                source=source,
            ),
        )

    def add_file(
        self,
        call: str,
        path: str,
        action: FileAction,
        *,
        source: str,
        position: int | None = None,
    ) -> None:
        """Add a change of a file whose outcome is not known yet; `position` is a reserved one."""
        self._add(
            call,
            ObservedFile(
                position=self.reserve_position() if position is None else position,
                path=path[:_LONGEST_NAME],
                action=action,
                ok=None,
                source=source,
            ),
        )

    def add_call(self, call: str, name: str, *, title: object = None, source: str) -> None:
        """Add a call of another tool; `title` is that of a memory which it saves."""
        position = self.reserve_position()
        entries: list[_Entry] = [
            ObservedCall(position=position, name=name[:_LONGEST_NAME], source=source)
        ]
        if is_save(name):
            title = title[:_LONGEST_NAME] if isinstance(title, str) else ""
            entries.append(ObservedMemory(position=position, title=title, source=source))

        self._add(call, *entries)

    def add_of_others(self, name: str, line: int) -> None:
        """Add what the person or a hook started in line `line`; its result is not known."""
        call = f"{name} {line}"
        self.add_call(call, name, source=f"transcript line {line}")
        self.end_call(call, ok=True)

    def pending_command(self, call: str) -> ObservedCommand | None:
        """Return the command under this id, None if the id is not that of a command."""
        entries = self._entries.get(call)
        return entries[0] if entries and isinstance(entries[0], ObservedCommand) else None

    def end_command(
        self, call: str, *, status: int | None, output: str, whole: bool = True, ran: bool = True
    ) -> None:
        """Give the command its outcome."""
        self._unanswered.discard(call)
        command = self.pending_command(call)
        if command is None:
            return

        kept, uncut = cut_output(output)
        self._entries[call] = [
            replace(
                command,
                status=status,
                ran=ran,
                output=kept,
                output_whole=whole and uncut,
            )
        ]

    def end_call(self, call: str, *, ok: bool | None, error: str = "") -> None:
        """Give a change of a file, a memory or another call its outcome."""
        self._unanswered.discard(call)
        self._entries[call] = [
            each
            if isinstance(each, ObservedCommand)
            else replace(each, ok=ok, error="" if ok else error[:_LONGEST_ERROR])
            for each in self._entries.get(call, ())
        ]

    def note_end(self, call: str) -> None:
        """Note that the host says how a call ended; one that is not listed may be any work."""
        self._ended_unseen = self._ended_unseen or call not in self._entries

    def leave_unanswered(self) -> None:
        """Take the outcome of the calls that have none as unknown: the host cut them off."""
        self._unanswered.clear()

    def begin_task(self) -> None:
        """Count all entries so far as those of an earlier task."""
        self._task_after = self._position

    def finish(
        self,
        *,
        host: str,
        version: str,
        problem: str,
        hidden: str = "",
        delegating: Container[str],
        own: Container[str],
        from_start: bool,
    ) -> AgentActivity:
        """Return the activity as the host's file shows it.

        `problem` is what the file lacks, `hidden` what the agent did outside of it, "" for nothing;
        `delegating` and `own` are those of `_find_hidden_work`. Without `from_start` only the end
        of the file was read.
        """
        if self._unknown and not problem:
            problem = f"{host} {version or 'of an unknown version'} writes {self._unknown}"
        activity = self.build(
            host=host, version=version, complete=not problem, why_incomplete=problem
        )
        if problem:
            return replace(activity, unreadable=True)

        # Also those that are too many to be kept.
        calls = (each for listed in self._entries.values() for each in listed)
        current = (each for each in calls if each.position > self._task_after)
        hidden = hidden or _find_hidden_work(current, delegating=delegating, own=own)
        if hidden:
            return replace(activity, complete=False, why_incomplete=hidden)
        if not from_start:
            return replace(
                activity,
                complete=False,
                why_incomplete="only the end of the transcript was read",
                unreadable=True,
                to_report=not self._ended_unseen,
            )
        return replace(activity, to_report=not activity.complete)

    def build(
        self, *, host: str, version: str, complete: bool, why_incomplete: str = ""
    ) -> AgentActivity:
        """Return the activity; of too many entries only the last ones are kept."""
        entries = [
            each if each.position > self._task_after else replace(each, current=False)
            for listed in self._entries.values()
            for each in listed
        ]
        entries.sort(key=lambda each: each.position)
        lost = len(entries) > ENTRIES
        entries = entries[-ENTRIES:]

        return AgentActivity(
            host=host,
            host_version=version,
            complete=complete and not lost,
            why_incomplete=why_incomplete or ("it has too many entries" if lost else ""),
            commands=tuple(each for each in entries if isinstance(each, ObservedCommand)),
            files=tuple(each for each in entries if isinstance(each, ObservedFile)),
            tools=tuple(each for each in entries if isinstance(each, ObservedCall)),
            memories=tuple(each for each in entries if isinstance(each, ObservedMemory)),
        )


def _find_hidden_work(
    entries: Iterable[_Entry], *, delegating: Container[str], own: Container[str]
) -> str:
    """Return why a task with these entries may have had commands that are not listed, or "".

    `delegating` are the tools that give work to other agents, `own` those of the host, which run
    nothing. A check that failed here may have passed there, so that nothing can be contradicted.
    """
    for call in sorted(entries, key=lambda each: each.position):
        if not isinstance(call, ObservedCall) or call.ok is False:
            continue
        if call.name in delegating:
            return f"the agent gave work to others with {call.name}"

        name = call.name.lower()
        other = call.name not in own and "goop" not in name
        if other and any(word in name for word in _RUNNING):
            return f"the tool {call.name[:60]} may have run commands"

    return ""


def is_save(tool: str) -> bool:
    """Whether the tool saves a memory of goop-mcp; hosts put a prefix of their own first."""
    return tool.endswith(_SAVES)
