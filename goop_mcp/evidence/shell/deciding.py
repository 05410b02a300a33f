"""parts_of(): the commands of a shell line, and which of them its exit status speaks for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from goop_mcp.evidence.shell.containers import Container
from goop_mcp.evidence.shell.reading import read_script
from goop_mcp.evidence.shell.tree import (
    AndOr,
    Compound,
    Function,
    Group,
    Node,
    Pipeline,
    Script,
    ShellWord,
    Simple,
    UnreadableLineError,
)
from goop_mcp.evidence.shell.wrappers import (
    StartedProgram,
    name_of,
    shell_script,
    without_wrappers,
)

__all__ = ["Part", "parts_of"]

_MOST_PARTS: Final = 400
_MOST_SCRIPTS: Final = 4

# Neither fails for a reason of its own, so a failure of the line is that of another command.
_NEVER_FAIL = frozenset({":", "echo", "export", "printf", "set", "true"})
_EXITS = frozenset({"exit", "return"})
_SAME_STATUS = frozenset({"$?", "${?}"})
_FIRST_STATUS = frozenset({"${PIPESTATUS[0]}", "${pipestatus[1]}"})
_NOTHING: frozenset[int] = frozenset()


class _Options(NamedTuple):
    """The options of a shell that certainly hold."""

    errexit: bool = False
    pipefail: bool = False

    def also(self, other: "_Options") -> "_Options":
        """Return what holds in both cases."""
        return _Options(self.errexit and other.errexit, self.pipefail and other.pipefail)


class Part(NamedTuple):
    """One program that a line starts, without its wrappers.

    `proven`: status 0 of the line means that this program ran and ended with 0. `alone`: any other
    status of the line is the status of this program. `variables` are set for it. `container` is
    where it runs, None for this machine. `certain`: it was reached if the line ended with 0.
    `redirections` are those of `Simple`.
    """

    words: tuple[ShellWord, ...]
    variables: tuple[tuple[str, ShellWord], ...]
    proven: bool
    alone: bool
    container: Container | None = None
    certain: bool = False
    redirections: tuple[tuple[str, ShellWord], ...] = ()


def parts_of(line: str) -> tuple[Part, ...] | None:
    """Return the programs of `line` in order, None if it cannot be read.

    What is not certain is not proven: a command that `|| true`, a pipe, `;`, `&` or an `if` follows
    or hides.
    """
    decider = _Decider()
    try:
        proven = decider.script(read_script(line))
    except UnreadableLineError:
        return None

    if decider.ends_early:
        proven = _NOTHING

    fallible = [
        at for at, each in enumerate(decider.found) if name_of(each.words[0]) not in _NEVER_FAIL
    ]

    return tuple(
        Part(
            each.words,
            (*decider.exported, *each.assignments),
            proven=at in proven and name_of(each.words[0]) not in decider.functions,
            alone=fallible == [at] and at in proven,
            container=decider.containers.get(at),
            certain=at in proven or not (decider.ends_early or at in decider.optional),
            redirections=each.redirections,
        )
        for at, each in enumerate(decider.found)
    )


class _Decider:
    """Walks through a tree in the order of execution, with the options that `set` changes."""

    def __init__(self) -> None:
        self.found: list[Simple] = []
        self.exported: list[tuple[str, ShellWord]] = []
        self.functions: set[str] = set()
        # The numbers of commands that the line may leave out.
        self.optional: set[int] = set()
        self._optional = False
        # Where a command of `found` runs, by its number.
        self.containers: dict[int, Container] = {}
        self._container: Container | None = None
        # Whether the line may end before its last command, with status 0.
        self.ends_early = False
        self._options = _Options()
        # What holds after the last node if that ended with 0: `cd app && set -e` may not reach
        # its end.
        self._after_success = _Options()
        self._scripts = 0

    def script(self, script: Script, *, counts: bool = True) -> frozenset[int]:
        """Return the numbers in `found` of the commands that status 0 of `script` proves.

        `counts` is whether `set -e` has an effect here.
        """
        proven: set[int] = set()
        before = _NOTHING
        before_node: Node | None = None
        for at, item in enumerate(script.items):
            last = at == len(script.items) - 1
            # What follows `exec PROGRAM` is never reached.
            self.ends_early = self.ends_early or (not last and _is_replaced(item.node))
            errexit = self._options.errexit
            seen = self.node(item.node, counts=counts)
            if item.background:
                seen = _NOTHING
            elif self._is_exit(item.node):
                # What follows is never reached: the line ends with the status that is named here.
                proven |= self._status_of_exit(item.node, before, before_node)
                with self._left_out():
                    for rest in script.items[at + 1 :]:
                        self.node(rest.node, counts=counts)

                return frozenset(proven)

            stops = errexit and counts and not isinstance(item.node, AndOr)
            if (last or stops) and not item.background:
                proven |= seen

            before, before_node = seen, item.node

        return frozenset(proven)

    def node(self, node: Node, *, counts: bool) -> frozenset[int]:
        """Return what status 0 of `node` proves."""
        if isinstance(node, AndOr):
            return self._and_or(node, counts=counts)

        seen = self._single(node, counts=counts)
        self._after_success = self._options
        return seen

    def _single(
        self, node: Simple | Pipeline | Group | Compound | Function, *, counts: bool
    ) -> frozenset[int]:
        match node:
            case Simple():
                return self._simple(node)
            case Pipeline():
                seen = []
                for command in node.commands:
                    with self._own_options():
                        seen.append(self.node(command, counts=not node.negated))

                if node.negated:
                    return _NOTHING
                return frozenset().union(*seen) if self._options.pipefail else seen[-1]
            case Group(body, subshell=True):
                with self._own_options():
                    return self.script(body, counts=counts)
            case Group(body):
                return self.script(body, counts=counts)
            case Compound(parts):
                before = self._options
                for part in parts:
                    self._options = before
                    with self._left_out():
                        self.script(part, counts=False)
                    # Any of them may be left out.
                    before = before.also(self._options)

                self._options = before
                # An exit inside ends the line as well.
                self.ends_early = self.ends_early or any(_may_exit(part) for part in parts)

                return _NOTHING
            case Function(name):
                self.functions.add(name)

        return _NOTHING

    def _and_or(self, node: AndOr, *, counts: bool) -> frozenset[int]:
        left = self.node(node.left, counts=False)
        always, left_ended_well = self._options, self._after_success
        self._options = left_ended_well if node.both else always
        with self._left_out():
            right = self.node(node.right, counts=counts)
        if not node.both:
            self._after_success = left_ended_well.also(self._after_success)
        # What only the right side sets holds where it was reached.
        self._options = always.also(self._options)
        # `cd x || exit 0; pytest` ends well without any test.
        for side, after_failure in ((node.left, False), (node.right, not node.both)):
            if self._is_exit(side) and not _never_zero(side, bare=after_failure):
                self.ends_early = True

        if node.both:
            return left | right
        if _never_zero(node.right, bare=True):
            return left
        return right if _never_zero(node.left, bare=False) else left & right

    def _simple(self, node: Simple) -> frozenset[int]:
        for value in (*node.words, *(value for _, value in node.assignments)):
            if value.inner is not None and node.words:
                with self._own_options():
                    self.script(value.inner, counts=False)

        if not node.words:
            # `name=value` has the status of its last command substitution.
            proven = _NOTHING
            for name, assigned in node.assignments:
                self.exported.append((name, assigned))
                if assigned.inner is not None:
                    with self._own_options():
                        proven = self.script(assigned.inner)

            return proven

        self._note(node)
        command = without_wrappers(node.words, node.assignments)
        if command is None or not command.words:
            return self._add(node)

        outside = self._container
        self._container = outside or command.container
        try:
            return self._started(node, command)
        finally:
            self._container = outside

    def _started(self, node: Simple, command: StartedProgram) -> frozenset[int]:
        script = shell_script(command)
        if script is None:
            return self._add(Simple(command.words, command.variables, node.redirections))

        self._scripts += 1
        if script.text is None or not script.runs or self._scripts > _MOST_SCRIPTS:
            self._add(node)
            return _NOTHING

        # What is set for the shell is set for what it starts.
        self.exported.extend(command.variables)
        evaluated = name_of(command.words[0]) == "eval"
        with self._own_options():
            if not evaluated:
                self._options = _Options(script.errexit, script.pipefail)
            return self.script(read_script(script.text))

    def _note(self, node: Simple) -> None:
        """Keep what changes the commands that follow: options, variables, traps."""
        name = name_of(node.words[0])
        arguments = [word.text for word in node.words[1:]]
        if name == "set":
            for at, option in enumerate(arguments):
                if option[:1] not in ("-", "+") or option == "--":
                    continue

                on = option[0] == "-"
                following = arguments[at + 1] if at + 1 < len(arguments) else ""
                if "e" in option or ("o" in option and following == "errexit"):
                    self._options = self._options._replace(errexit=on)
                if "o" in option and following == "pipefail":
                    self._options = self._options._replace(pipefail=on)
                # `set -n` reads the rest and runs nothing of it.
                noexec = "n" in option or ("o" in option and following == "noexec")
                self.ends_early = self.ends_early or (on and noexec)
        elif name in ("export", "declare", "typeset"):
            for word in node.words[1:]:
                variable, sign, value = word.text.partition("=")
                if sign:
                    self.exported.append((variable, ShellWord(value, word.literal, word.inner)))
        elif name == "alias":
            self.functions |= {each.partition("=")[0] for each in arguments}
        elif name == "hash" and any(each.startswith("-p") for each in arguments):
            self.functions.add(arguments[-1])
        elif name == "trap" and any("exit" in each for each in arguments):
            self.ends_early = True

    def _add(self, command: Simple) -> frozenset[int]:
        if len(self.found) >= _MOST_PARTS:
            raise UnreadableLineError("the line has too many commands")

        if self._optional:
            self.optional.add(len(self.found))
        if self._container is not None:
            self.containers[len(self.found)] = self._container
        self.found.append(command)

        return frozenset({len(self.found) - 1})

    def _is_exit(self, node: Node) -> bool:
        return isinstance(node, Simple) and bool(node.words) and name_of(node.words[0]) in _EXITS

    def _status_of_exit(
        self, node: Node, before: frozenset[int], before_node: Node | None
    ) -> frozenset[int]:
        """Return what status 0 proves where `exit` names the status of the command before it."""
        words = [word.text for word in node.words[1:]] if isinstance(node, Simple) else []
        if not words or words[0] in _SAME_STATUS:
            return before
        if words[0] in _FIRST_STATUS and isinstance(before_node, Pipeline):
            first = before_node.commands[0]
            if isinstance(first, Simple) and not before_node.negated:
                command = without_wrappers(first.words, first.assignments)
                if command is None or not command.words or shell_script(command) is not None:
                    return _NOTHING
                wanted = Simple(command.words, command.variables, first.redirections)
                return frozenset(at for at, each in enumerate(self.found) if each == wanted)

        return _NOTHING

    @contextmanager
    def _left_out(self) -> Iterator[None]:
        """Note that the line may leave out what is judged meanwhile."""
        outside, self._optional = self._optional, True
        try:
            yield
        finally:
            self._optional = outside

    @contextmanager
    def _own_options(self) -> Iterator[None]:
        """Undo changes of options at the end, as a subshell does."""
        kept = self._options
        try:
            yield
        finally:
            self._options = kept


def _is_replaced(node: Node) -> bool:
    return isinstance(node, Simple) and len(node.words) > 1 and name_of(node.words[0]) == "exec"


def _never_zero(node: Node, *, bare: bool) -> bool:
    """Return whether `node` never ends with 0; `bare`: an `exit` alone follows a failure."""
    match node:
        case Simple(words) if words:
            name = name_of(words[0])
            if name in _EXITS:
                status = words[1].text if len(words) > 1 else ""
                if not status or status in _SAME_STATUS:
                    return bare
                return status.isdecimal() and int(status[-3:]) % 256 != 0

            return name == "false" and len(words) == 1
        case Group(body) if body.items:
            last = body.items[-1]
            # A status of its own comes between the failure and a bare `exit` in a group.
            return not last.background and _never_zero(
                last.node, bare=bare and len(body.items) == 1
            )
        case AndOr(left, right, both):
            if both:
                return _never_zero(left, bare=bare) or _never_zero(right, bare=False)
            return _never_zero(left, bare=bare) and _never_zero(right, bare=True)
        case _:
            return False


def _may_exit(script: Script) -> bool:
    """Return whether a command directly in `script` ends the line, with a status that may be 0."""
    for node, _ in script.items:
        match node:
            case Simple(words) if words and name_of(words[0]) in _EXITS:
                if not _never_zero(node, bare=False):
                    return True
            case AndOr(left, right, _):
                if any(
                    isinstance(side, Simple) and side.words and name_of(side.words[0]) in _EXITS
                    for side in (left, right)
                ) and not _never_zero(right, bare=False):
                    return True
            case Group(body, subshell=False) if _may_exit(body):
                return True
            case Compound(parts) if any(_may_exit(part) for part in parts):
                return True
            case _:
                pass

    return False
