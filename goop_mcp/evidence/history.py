"""The commands of a task as runs of checks, and whether a later entry puts a run in doubt."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from goop_mcp import redaction
from goop_mcp.evidence.activity import AgentActivity, ObservedCall, ObservedCommand
from goop_mcp.evidence.attribution import (
    Attributed,
    Run,
    attribute,
    words_in,
)
from goop_mcp.evidence.check_kinds import named_commands
from goop_mcp.evidence.proofs import Known, is_elsewhere
from goop_mcp.evidence.runners import ANY_KIND, word_set
from goop_mcp.evidence.shell_writes import Written
from goop_mcp.evidence.summaries import summary_of

__all__ = ["Redefined", "TaskHistory", "file_name", "without_secrets"]

Redefined = Callable[[Sequence[str]], str | None]
"""Returns the first of the paths that may have changed since the task began, None if unknown."""

# Words in the names of tools with which an agent can run commands, or have others run them.
_RUNNING_TOOLS: Final = word_set(
    "agent agents bash build check checks code command delegate dispatch eval exec "
    "execute executecode notebook output process python repl run runs script shell "
    "skill spawn subagent task terminal test tests verify workflow"
)
_OUR_TOOLS: Final = ("goop",)
# Tools of the known hosts that change no file of the project, in lower case. Any other one may:
# servers of MCP call theirs `write_file`, `str_replace` or `fs_put`.
_READING_TOOLS: Final = word_set(
    "askuserquestion bashoutput codesearch enterplanmode exitplanmode get_goal glob grep killbash "
    "killshell list list_agents list_mcp_resources listmcpresourcestool ls lsp question read "
    "read_mcp_resource readmcpresourcetool request_user_input taskoutput taskstop todoread "
    "todowrite tool_search toolsearch update_plan view_image wait web_search webfetch websearch"
)
_REMOVING: Final = word_set("mv rm unlink")
# Tools of the known hosts that neither run nor show what a program printed.
_SHOWING_NOTHING: Final = word_set(
    "askuserquestion codesearch enterplanmode exitplanmode get_goal glob grep list list_agents "
    "list_mcp_resources listmcpresourcestool ls question read request_user_input taskcreate "
    "taskget tasklist taskupdate todoread todowrite tool_search toolsearch update_plan view_image "
    "web_search webfetch websearch"
)
# A run of one of the second kinds may also show a check of the first: `ruff check` the format.
_RELATED: Final[Mapping[str, frozenset[str]]] = {
    "lint": word_set("format typecheck build"),
    "typecheck": word_set("lint build tests"),
    "build": word_set("lint typecheck tests"),
    "format": word_set("lint"),
    "audit": word_set("lint"),
    "coverage": word_set("tests"),
}
# These run whatever the project has written for them.
_RUN_ANYTHING: Final = word_set("bazel cmake docker msbuild ninja")
_READERS: Final = word_set("awk cat cut egrep fgrep grep head less more rg sed tail")
_LINE_CHARACTERS: Final = 1000
# How many commands without a known program are looked at for a printed result.
_MOST_READ: Final = 20


class _Entry(NamedTuple):
    """A command with what is known about it."""

    command: ObservedCommand
    attributed: Attributed


class TaskHistory:
    """What an agent ran, in order. `everything`: no entry was left out for its size.

    `named` are the commands that a person named for checks of the project, by the check.
    `redefined` looks at the files of the project, None where nobody can. `root` is the project's
    folder, None if unknown. `hooks` returns whether git has hooks there, None where nobody looked.
    """

    def __init__(
        self,
        activity: AgentActivity,
        *,
        everything: bool,
        named: Mapping[str, tuple[str, ...]] | None = None,
        redefined: Redefined | None = None,
        root: str | None = None,
        hooks: Callable[[], bool] | None = None,
    ) -> None:
        self.activity, self.everything = activity, everything
        self._hooks = hooks
        self._root = root.rstrip("/") if root else None
        self._redefined = redefined
        # Once for all claims of the report: several of them ask about the same commands.
        known = Known(named=named_commands(named or {}))
        self._entries = [_Entry(each, attribute(each, known)) for each in activity.commands]
        self.runs: tuple[Run, ...] = tuple(
            run for entry in self._entries for run in entry.attributed.runs
        )
        self._folders = tuple(
            dict.fromkeys(folder for each in self._entries for folder in each.attributed.folders)
        )
        # Lines that remove files, and with no text those after which other files are in place.
        self._undoing = [
            (command.position, "" if attributed.other_tree else command.line)
            for command, attributed in self._entries
            if attributed.other_tree or not _REMOVING.isdisjoint(command.line.split())
        ]
        self._written: dict[tuple[int, bool], tuple[tuple[int, Written], ...]] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._printed: dict[tuple[int, str], bool] = {}
        # By identity: two runs of the same command are equal, and their places differ.
        self._order = {id(run): at for at, run in enumerate(self.runs)}

    def words_of(self, run: Run) -> frozenset[str]:
        """Return the words of the line of `run`, in lower case."""
        line = run.command.line
        if line not in self._words:
            self._words[line] = frozenset(words_in(line[:_LINE_CHARACTERS].replace("_", " ")))
        return self._words[line]

    def of_kind(self, kind: str, *, current: bool) -> list[Run]:
        """Return the runs of `kind` of this task, or those of earlier tasks, in order."""
        return [run for run in self.runs if kind in run.kinds and run.command.current is current]

    def redefined(self, run: Run) -> str:
        """Return the file, "" for none, that says what `run` runs and may have changed since."""
        # A shell may stay in a folder that an earlier line entered.
        return self.possibly_changed(run.definition.paths(*self._folders))

    def possibly_changed(self, paths: Sequence[str]) -> str:
        """Return the first of `paths` that may have changed in this task, "" for none."""
        found = self._redefined(paths) if self._redefined is not None and paths else None
        if found is not None:
            return found

        # Nobody looked at the project: what the agent wrote with its tools is known all the same.
        written = [
            f"/{file.path.replace(chr(92), '/').lstrip('/')}"
            for file in self.activity.files
            if file.ok is not False and file.current
        ]
        return next(
            (path for path in paths for each in written if each.endswith(f"/{path.lstrip('/')}")),
            "",
        )

    def may_have_been(self, kind: str) -> ObservedCommand | None:
        """Return the last command that ended well and may have run a check of `kind` unseen."""
        ended = [each for each in self._entries if each.command.status == 0]
        silent = [
            each
            for each in reversed(ended)
            if not (each.attributed.runs or each.attributed.harmless)
        ]
        for entry in silent:
            if entry.attributed.may_check & {kind, ANY_KIND}:
                return entry.command
        for entry in silent[:_MOST_READ]:
            if entry.command.output and self._printed_success(entry.command, kind):
                return entry.command
        return None

    def doubt(self, run: Run, kind: str, passed_before: Run | None) -> str | None:
        """Return why the failure of `run` may no longer hold, None if it does.

        An agent may check its work in ways that nobody can attribute: with a script of the project,
        in a pipe, in the background, by another agent. Where that may have happened later, the
        failure accuses nobody.
        """
        at = self._order[id(run)]
        # First what was certainly run later; then, entry by entry, what may have been.
        for later in self.runs[at + 1 :]:
            if later.vacuous or not {kind, ANY_KIND}.intersection(later.kinds):
                continue
            if later.outcome == "passed":
                return f"{later.program} passed later"
            if later.outcome == "unknown" and later.shown is None:
                return f"it was run again later, and {later.why or 'its result is not known'}"

        for entry in self._entries:
            command = entry.command
            # A command that was refused did nothing.
            if command.position <= run.position or not command.ran:
                continue
            if entry.attributed.runs and ANY_KIND not in entry.attributed.may_check:
                continue
            if command.status in (0, None) and entry.attributed.may_check & {kind, ANY_KIND}:
                return f"a later command may have run it ({_short(command.line)})"
            silent = entry.attributed.runs or entry.attributed.harmless or not command.output
            if not silent and self._printed_success(command, kind):
                return f"a later command printed a result ({_short(command.line)})"

        # Other files may also have been in place when it failed, as after `git stash`.
        since = passed_before.position if passed_before is not None else -1
        for entry in self._entries:
            if since < entry.command.position <= run.position and entry.attributed.other_tree:
                return f"other files were in place ({_short(entry.command.line)})"

        tool = next((each for each in self._running_tools() if each.position > run.position), None)
        return None if tool is None else f"{tool.name} was called later and may have run it"

    def may_have_moved(self, run: Run) -> bool:
        """Return whether `run` may be one on other files, where what came before is not known."""
        return any(
            entry.attributed.other_tree
            or (entry.command.position == run.position and len(entry.attributed.folders) > 1)
            for entry in self._entries
        )

    def _printed_success(self, command: ObservedCommand, kind: str) -> bool:
        key = (id(command), kind)
        if key not in self._printed:
            summary = summary_of(command.output, "", kind)
            self._printed[key] = (
                summary.seen and summary.failure is None and not summary.nothing_ran
            )
        return self._printed[key]

    def may_have_run(self, kind: str) -> bool:
        """Return whether anything in the task may have run a check of `kind` unseen."""
        return any(self._running_tools()) or any(
            entry.attributed.may_check & {kind, ANY_KIND} for entry in self._entries
        )

    def may_hide(self, kind: str, runners: frozenset[str], *, since: int = -1) -> bool:
        """Return whether anything after the position `since` may have been a check of `kind`.

        `runners` are those that the check names. What is known to be none does not count: programs
        that only read or change files, tools that show nothing, and runs of other checks.
        """
        if any(
            call.position > since and call.ok is not False and not _shows_nothing(call.name)
            for call in self.activity.tools
        ):
            return True

        later = [each for each in self._entries if each.command.position > since]
        # A log may hold what a program prints that the agent did not start.
        logs = [each.command for each in later if _reads_a_log(each)][-_MOST_READ:]
        return (
            any(each.command.ran and each.attributed.may_hide for each in later)
            or any(_may_show(run, kind, runners) for each in later for run in each.attributed.runs)
            or any(self._printed_success(command, kind) for command in logs)
            or self._hooks_may_hide(later)
        )

    def _hooks_may_hide(self, entries: Sequence[_Entry]) -> bool:
        # A hook need not print that it ran the check.
        ran = any(each.command.ran and each.attributed.runs_hooks for each in entries)
        return ran and (self._hooks is None or self._hooks())

    def written_after(self, run: Run, *, current: bool) -> Sequence[tuple[int, Written]]:
        """Return the files that shell lines wrote after `run`, with the positions of these lines.

        `current`: the lines are those of this task, else those of earlier ones. What other files or
        a removal later took back is not certain, nor what was written where an agent may have
        entered another folder.
        """
        key = (self._order[id(run)], current)
        if key not in self._written:
            self._written[key] = tuple(self._written_after(run, current=current))
        return self._written[key]

    def _written_after(self, run: Run, *, current: bool) -> Iterator[tuple[int, Written]]:
        moved = any(map(self._is_outside, self._folders))
        for command, attributed in self._entries:
            for written in attributed.writes:
                same_line = command.position == run.position and written.at > run.at
                later = same_line or command.position > run.position
                if not (later and command.ran and command.current is current):
                    continue
                if not self._is_outside(written.path):
                    sure = written.reached and command.status == 0 and not moved
                    reached = sure and not self.may_be_undone(written.path, since=command.position)
                    yield command.position, written._replace(reached=reached)

    def _is_outside(self, path: str) -> bool:
        if self._root and path.startswith("/"):
            return not f"{path}/".startswith(f"{self._root}/")
        return is_elsewhere(path)

    def may_be_undone(self, path: str, *, since: int) -> bool:
        """Return whether a line from position `since` on may have removed or restored a file."""
        name = path.replace("\\", "/").rpartition("/")[2]
        return any(
            position >= since and (not line or (name != "" and name in line))
            for position, line in self._undoing
        )

    def is_changed_since(self, run: Run, path: str) -> bool | None:
        """Return whether a file changed after `run`, by its content when the task began.

        None if that is not known, or if something up to the run may have changed it.
        """
        found = self._redefined((path,)) if self._redefined is not None else None
        if not found:
            return None if found is None else False

        name = file_name(path)
        earlier = any(file_name(each.path) == name for each in self.activity.files) or any(
            each.command.position <= run.position
            and each.command.ran
            and not each.attributed.reads_only
            for each in self._entries
        )
        return None if earlier or any(map(_may_write, self.activity.tools)) else True

    def later_unknown(self, run: Run) -> bool:
        """Return whether any program but the known harmless ones ran after `run`."""
        return any(
            entry.command.position > run.position and not entry.attributed.reads_only
            for entry in self._entries
        ) or any(each.position > run.position for each in self._running_tools())

    def may_have_written(self, *, by_checks: bool = False) -> bool:
        """Return whether a command, another tool or agent may have changed files unseen.

        `by_checks`: the programs that check something count as well.
        """
        return any(map(_may_write, self.activity.tools)) or any(
            entry.command.ran
            and not (entry.attributed.reads_only and (entry.attributed.harmless or not by_checks))
            for entry in self._entries
        )

    def work(self) -> int | None:
        """Return how many commands, changes and calls may have done something; None if unknown.

        Commands that only print what they are given, and tools that only read, did nothing.
        """
        if not (self.activity.complete and self.everything):
            return None
        return (
            sum(each.command.ran and not each.attributed.only_says for each in self._entries)
            + sum(each.ok is not False for each in self.activity.files)
            + sum(map(_may_write, self.activity.tools))
        )

    def commands_with(self, text: str) -> Iterable[ObservedCommand]:
        """Yield the commands whose line or output contains `text`."""
        return (each for each in self.activity.commands if text in each.line or text in each.output)

    def _running_tools(self) -> Sequence[ObservedCall]:
        return [
            call
            for call in self.activity.tools
            if call.ok is not False
            # Our own tools run no checks of the project unless they record them.
            and not any(name in call.name.lower() for name in _OUR_TOOLS)
            and _RUNNING_TOOLS.intersection(_tool_words(call.name))
        ]


def _may_show(run: Run, kind: str, named: frozenset[str]) -> bool:
    """Return whether `run` may show a check of `kind` as well, or instead of its own.

    `named` are the runners that the check names: a run of another one is not meant.
    """
    if run.vacuous:
        return False
    program = run.program.partition(" ")[0]
    if run.rests_on == "target" or program in _RUN_ANYTHING:
        return True
    if kind in run.kinds:
        return not named or program in named
    if named and program not in named:
        return False

    related = not _RELATED.get(kind, frozenset()).isdisjoint(run.kinds)
    if not related or "tests" not in run.kinds:
        return related
    if kind == "coverage":
        line, output = run.command.line, run.command.output
        return "%" in output or not output or "cov" in line or ">" in line
    # Tests of a language that is compiled show that it compiles.
    return ".py" not in run.sources


def _shows_nothing(tool: str) -> bool:
    """Return whether no call of `tool` can show the result of a check."""
    name = tool.lower()
    return name in _SHOWING_NOTHING or any(ours in name for ours in _OUR_TOOLS)


def _reads_a_log(entry: _Entry) -> bool:
    words = entry.command.line[:_LINE_CHARACTERS].split()
    return (
        entry.attributed.harmless
        and not entry.attributed.runs
        and not _READERS.isdisjoint(words)
        and bool(entry.command.output)
    )


def _may_write(call: ObservedCall) -> bool:
    name = call.name.lower()
    # A call that failed changed nothing. Our own tools only write the project's documents.
    return (
        call.ok is not False
        and name not in _READING_TOOLS
        and not any(ours in name for ours in _OUR_TOOLS)
    )


def _tool_words(name: str) -> Iterable[str]:
    """Yield the words of a tool's name: `mcp__ide__executeCode`, `run_tests`, `Task`."""
    # Both readings: `executeCode` has two words, and `MCPRun` would have single letters.
    spaced = "".join(f" {each}" if each.isupper() else each for each in name.replace("_", " "))
    yield from words_in(spaced.replace("-", " "))
    yield from words_in(name.replace("_", " "))


def file_name(path: str) -> str:
    """Return the name of the file or folder at `path`, of any system, without its folders."""
    return path.strip().rstrip("/\\").replace("\\", "/").rpartition("/")[2]


def without_secrets(text: str) -> str:
    """Return a part of a command or an output as a finding may show it."""
    return redaction.redact(text).text


def _short(line: str, most: int = 40) -> str:
    first = without_secrets(line[:_LINE_CHARACTERS]).strip().partition("\n")[0]
    return first if len(first) <= most else first[: most - 1] + "…"
