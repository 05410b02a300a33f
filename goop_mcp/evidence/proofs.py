"""What a command rests on, and whether what it printed is its own.

A known runner proves a check by its exit status, and so does a command that a person named. A
target of a build tool may run anything: it proves what its output shows in the form of a known
runner, as long as the files that define it are as they were. Any other command proves nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from goop_mcp.evidence.runners import (
    PROGRAM_NAMES,
    ScriptRunner,
    option_values,
    runner_of,
    script_of,
    word_set,
)
from goop_mcp.evidence.shell import Part
from goop_mcp.evidence.shell.tree import ShellWord, Simple
from goop_mcp.evidence.shell.wrappers import WRAPPER_NAMES, name_of, without_wrappers
from goop_mcp.evidence.summaries import SUMMARY_CHARACTERS, summary_of

__all__ = [
    "NOTHING_MORE_KNOWN",
    "NOT_SHOWN",
    "OTHERS_PRINT",
    "REDEFINED",
    "TEMPORARY",
    "Basis",
    "Definition",
    "Known",
    "NamedCommands",
    "defining_paths",
    "definitions_of",
    "echoed_commands",
    "folders_in",
    "is_elsewhere",
    "is_installed",
    "is_redefined",
    "may_print",
    "module_folders",
    "path_in_project",
    "sourced_files",
    "started_scripts",
    "usual_path",
]

Basis = Literal["runner", "named", "target"]

NamedCommands = Mapping[tuple[str, ...], tuple[str, ...]]
"""The commands that a person named for the checks of a project, and the kinds of those checks."""

NOT_SHOWN: Final = "its output shows no result in the form of a known runner"
OTHERS_PRINT: Final = "another command of the line may have printed the result"
TEMPORARY: Final = word_set("dev tmp var")
"""Folders at the top of a machine that hold no project."""

REDEFINED: Final = "its arguments may change what it runs"


class Known(NamedTuple):
    """What is known apart from the command itself.

    `named` are the commands of trusted checks. `place_of` returns the whole path of what a name or
    path starts if that is a file of the project, "" if it is not, or not known. `has_results` is
    whether a result file of the run has executed tests.
    """

    named: NamedCommands = MappingProxyType({})
    place_of: Callable[[str], str] = lambda _name: ""
    has_results: bool = False


NOTHING_MORE_KNOWN: Final = Known()


class Definition(NamedTuple):
    """The files of a project that decide what a command runs: `names`, in one of `folders`.

    Paths are relative to the folder in which the line began, or absolute; "" is that folder.
    """

    names: tuple[str, ...] = ()
    folders: tuple[str, ...] = ("",)

    def paths(self, *others: str) -> tuple[str, ...]:
        """Return where the files may be, also where the line began in one of the `others`."""
        around = dict.fromkeys(
            _joined(other, folder) for other in ("", *others) for folder in self.folders
        )
        return defining_paths(self.names, tuple(around))


# Folders with programs that were installed for a project, and that are not part of it.
_INSTALLED: Final = word_set(
    ".bundle .cargo .direnv .local .nox .pixi .tox .venv __pypackages__ env node_modules vendor"
    " venv"
)
# These print nothing, or nothing in the form of a summary.
_SILENT: Final = word_set(
    ": [ [[ alias cd chmod chown cp date declare df exit export false free hostname id kill ln "
    "local mkdir mv nproc popd pushd pwd return rm set shift sleep source . test touch trap true "
    "type umask uname unset wait wc which whoami"
)
_VERSIONS: Final = word_set("--version -V -v version")
# They print what is piped to them as it is, and what files hold.
_FILTERS: Final = word_set("cat egrep fgrep grep head less more rg sort tail tee uniq")
_WITH_PATTERN: Final = word_set("egrep fgrep grep rg")
_INSTALLERS: Final = word_set(
    "apk apt apt-get brew bun bundle cargo composer docker docker-compose dotnet gem go npm pip"
    " pip3 pipenv pnpm podman poetry uv yarn"
)
_PRINTING_GIT: Final = word_set(
    "blame cat-file describe diff for-each-ref format-patch grep log notes reflog rev-parse"
    " shortlog show stash"
)
_PRINTS_ALL: Final = _FILTERS | word_set("awk cut echo paste printf sed tr yes")
# Programs that print what their arguments ask for.
_PRINTERS: Final = _PRINTS_ALL | word_set(
    "bash dash node perl php python python3 ruby sh zsh deno bun"
)
_STARTERS: Final = PROGRAM_NAMES | WRAPPER_NAMES | _PRINTERS
_SCRIPT_ENDINGS: Final = (".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php")
# Variables of make that change what every recipe does.
_MAKE_VARIABLES: Final = word_set("MAKE MAKEFILES MAKEFLAGS SHELL .SHELLFLAGS")
_HERE: Final = word_set("$PWD ${PWD}")

# What build tools write before a command that they run: `> eslint .`, `lint: commands[0]> ruff`,
# `nox > mypy`, `Poe => pytest`, `task: [lint] eslint .`, `[lint] $ eslint`, `web:lint: > eslint`.
_ECHO: Final = (
    r"(?:[\w.@/:-]{1,60}: )?(?:> |\$ |\+ |nox > |Poe => |task: \[[^\]\n]{1,60}\] "
    r"|(?:[\w.-]{1,40}: )?commands(?:_pre|_post)?\[\d+\]> |\[[^\]\n]{1,60}\] \$ "
    r"|cmd \[\d+\] \| )?(\S.*)"
)
_ECHO_MARKS: Final = word_set("> $ + nox Poe cmd task:")
_ECHO_CHARACTERS: Final = 400
_MOST_ECHOES: Final = 40
_MOST_PATHS: Final = 64


def path_in_project(word: ShellWord) -> str:
    """Return the path of a program that is named by one within the project, else "".

    One that begins at the top of the machine is not known to be there, nor is what a variable
    begins. Programs that were installed for the project are no part of it.
    """
    path = word.text.replace("\\", "/")
    if "/" not in path or path[0] in "/~" or "$" in path or "`" in path or is_installed(path):
        return ""
    return path.removeprefix("./")


def is_elsewhere(path: str) -> bool:
    """Return whether a path certainly leads out of the project, as far as its words show it."""
    first, *others = path.split("/")
    return first in ("~", "..") or (not first and bool(others) and others[0] in TEMPORARY)


def is_installed(path: str) -> bool:
    """Return whether a path leads into a folder that installers make, such as `.venv`."""
    return not _INSTALLED.isdisjoint(path.split("/"))


def usual_path(value: ShellWord) -> bool:
    """Return whether a value of PATH names the former folders and those of installers alone."""
    if value.inner is not None:
        # `$(npm bin)` prints where an installer puts programs, `$(pwd)` does not.
        nodes = [item.node for item in value.inner.items]
        return all(
            isinstance(node, Simple) and bool(node.words) and name_of(node.words[0]) in _INSTALLERS
            for node in nodes
        )
    return all(map(_is_usual, value.text.split(":")))


def _is_usual(folder: str) -> bool:
    first, *others = folder.split("/")
    if is_installed(folder):
        return True
    if not first:
        return bool(others) and others[0] not in TEMPORARY
    return first[0] in "~$" and first not in _HERE


def is_redefined(row: ScriptRunner, part: Part) -> bool:
    """Return whether `part` says what its target runs, in place of the file that defines it."""
    short = tuple(each for each in row.redefines if each[0] == "-" != each[1])
    for word in part.words[1:]:
        argument = word.text
        if argument == "--":
            break

        name, sign, value = argument.partition("=")
        if name in row.redefines or argument.startswith(short):
            return True
        if sign and not name.startswith("-") and (name in _MAKE_VARIABLES or _prints(value)):
            return True

    # A recipe may use a variable as a program: `make test RUN='echo …'`, `RUN='echo …' make test`.
    return any(_prints(value.text) for _, value in part.variables)


def _prints(value: str) -> bool:
    """Whether a program in `value` may print what its arguments or a file say."""
    for command in re.split("[;&|]", value):
        # Make takes these marks off: `@echo`.
        words = tuple(map(ShellWord, command.strip().lstrip("@+-").split()))
        started = without_wrappers(words)
        name = name_of(started.words[0]) if started is not None and started.words else ""
        if name in _PRINTERS and (name in _PRINTS_ALL or len(words) > 1):
            return True

    return False


def may_print(part: Part, line: str) -> bool:
    """Return whether `part`, another one of `line`, may print a result that is not its own."""
    word = part.words[0].text
    name = name_of(part.words[0])
    arguments = tuple(each.text for each in part.words[1:])
    if name in ("echo", "printf"):
        text = "\n".join(arguments)
        literal = all(each.literal for each in part.words)
        return not literal or "%" in text or "\\" in text or summary_of(text, "", "tests").seen
    if name in _FILTERS:
        # With a file to read they print what somebody wrote into it.
        words = [each for each in arguments if each[:1] != "-" and not each.isdecimal()]
        return "<" in line or (name != "tee" and len(words) > (name in _WITH_PATTERN))
    if name == "git":
        return bool(_PRINTING_GIT.intersection(arguments))
    if name in _SILENT or name in _INSTALLERS:
        return False
    if word in _STARTERS and arguments and _VERSIONS.issuperset(arguments):
        return False
    return runner_of(name, arguments) is None and script_of(name, arguments) is None


def echoed_commands(output: str) -> Iterator[str]:
    """Yield the lines of `output` with which a build tool may show the commands that it runs."""
    shown = 0
    for raw in output[-SUMMARY_CHARACTERS:].splitlines():
        line = raw[:_ECHO_CHARACTERS].strip()
        first = line.partition(" ")[0]
        # Most lines are results: what begins with neither a mark nor a program is no command.
        if first in _ECHO_MARKS or first[:1] == "[" or first[-1:] in (":", ">"):
            # Compiled where it is needed: most processes see no build tool.
            found = re.fullmatch(_ECHO, line)
            line = found[1] if found is not None else ""
            first = line.partition(" ")[0]
        if first.startswith("./") or _is_starter(first):
            yield line
            shown += 1
            if shown >= _MOST_ECHOES:
                return


def _is_starter(word: str) -> bool:
    return word in _STARTERS or (
        ("/" in word or word[-1:].isdecimal()) and name_of(ShellWord(word)) in _STARTERS
    )


def started_scripts(part: Part) -> Iterator[str]:
    """Yield the scripts of the project that `part` starts: `./run`, `python tools/run.py`."""
    if path := path_in_project(part.words[0]):
        yield path
    if name_of(part.words[0]) in _PRINTERS:
        for word in part.words[1:]:
            if word.text.endswith(_SCRIPT_ENDINGS) and word.literal:
                yield word.text.removeprefix("./")
                return


def module_folders(part: Part) -> tuple[str, ...]:
    """Return the folders of the project in which Python looks for modules first, for `part`."""
    values = [value.text for name, value in part.variables if name == "PYTHONPATH"]
    folders = (each.removeprefix("./") for value in values for each in value.split(":"))
    return tuple(each for each in folders if each and each[0] not in "/~$" and each != ".")


def sourced_files(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the files that a line reads into its shell: they may define a program of any name."""
    return tuple(
        part.words[1].text.removeprefix("./")
        for part in parts
        if len(part.words) > 1 and part.words[0].text in (".", "source")
        if part.words[1].literal and not is_installed(part.words[1].text)
    )


def folders_in(parts: Sequence[Part]) -> tuple[str, ...]:
    """Return the folders in which a line starts programs: "" for that in which it begins itself."""
    folders = [""]
    for part in parts:
        if name_of(part.words[0]) in ("cd", "chdir", "pushd"):
            named = [word for word in part.words[1:] if not word.text.startswith("-")]
            if named and named[0].literal:
                folders.append(_joined(folders[-1], named[0].text))

    return tuple(dict.fromkeys(folders))


def defining_paths(names: Sequence[str], folders: Sequence[str]) -> tuple[str, ...]:
    """Return where files of these names may be, for a program that was started in the folders."""
    paths = dict.fromkeys(_joined(folder, name) for folder in folders for name in names)
    return tuple(paths)[:_MOST_PATHS]


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder and not name.startswith("/") else name


def definitions_of(row: ScriptRunner, part: Part) -> tuple[str, ...]:
    """Return the names of the files that define what `part`, a target of `row`, runs."""
    arguments = [word.text for word in part.words[1:]]
    # An option may name the file, or the folder with it.
    values = option_values(name_of(part.words[0]), arguments)
    return (*values, *defining_paths(row.defined_by, ("", *values)))
