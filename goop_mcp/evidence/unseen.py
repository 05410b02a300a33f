"""Which programs run no check, and may therefore be left out of what an agent can have run."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from goop_mcp.evidence.runners import word_set
from goop_mcp.evidence.shell.wrappers import name_of

if TYPE_CHECKING:
    from goop_mcp.evidence.shell import Part

__all__ = ["checks_nothing", "git_command", "may_run_hooks"]

# Programs that change files, and run nothing of the project.
_CHANGING: Final = word_set("cp install ln mv patch rm rmdir tar truncate unzip")
_INSTALLING: Final = word_set("add i install uninstall")
_OF_SYSTEM: Final = ("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/")
# Any other word may be an alias, which may run anything.
_KNOWN_GIT: Final = word_set(
    "add am apply archive blame branch cat-file checkout cherry-pick clean clone commit config "
    "describe diff fetch for-each-ref format-patch gc grep help init log ls-files ls-remote "
    "ls-tree merge merge-base mv notes pull push rebase reflog remote reset restore rev-list "
    "rev-parse revert rm shortlog show stash status switch tag worktree"
)
# Git runs hooks with these, which print above or below its own lines.
_RUNS_HOOKS: Final = word_set("am cherry-pick commit merge pull push rebase revert")
_OF_GIT: Final = re.compile(
    r"\[[^\]\n]{1,200} [0-9a-f]{4,40}\] | \d+ files? changed| (?:create|delete) mode \d"
    r"| (?:rename|rewrite|copy) \S| (?:\*|[+!=-]|  ) .{1,200}->| [^|\n]{1,300} \| +(?:\d|Bin)"
    r"|   [0-9a-f]{4,40}\.\.| Date: |On branch |Your branch |\t|  \(use |nothing (?:to|added) "
    r"|no changes |To |remote: |branch '|Enumerating |Counting |Compressing |Writing |Delta |Total "
    r"|Everything up|Merge |Already |Fast-forward|Updating |From |Auto-merging |Successfully reb"
    r"|Untracked |Changes |warning: |hint: |Author: |Date: |error: |fatal: "
)


def checks_nothing(part: "Part", output: str, *, harmless: bool) -> bool:
    """Return whether it is known that a program runs no check, whatever else it does.

    `harmless`: its name is that of a program that only reads or prints. `output` is that of the
    line.
    """
    word, arguments = part.words[0], tuple(each.text for each in part.words[1:])
    name = name_of(word)
    if "/" in word.text and not word.text.startswith(_OF_SYSTEM):
        return False

    match name:
        case "source" | ".":
            return all(each.endswith("/activate") for each in arguments[:1])
        case "find":
            return not any(each.startswith(("-exec", "-ok")) for each in arguments)
        case "trap":
            return not arguments
        case "git":
            return _git_checks_nothing(arguments, output)
        case "npm" | "pip" | "pip3":
            return _only_installs(arguments)
        case _:
            return harmless or name in _CHANGING


def _only_installs(arguments: Sequence[str]) -> bool:
    """Return whether packages are named: without names, scripts of the project run as well."""
    names = [each for each in arguments[1:] if not each.startswith("-")]
    # A file of requirements holds names alone.
    return (
        not _INSTALLING.isdisjoint(arguments[:1])
        and bool(names)
        and not any(
            each.startswith((".", "/", "file:", "git")) or each.endswith((".whl", ".gz"))
            for each in names
        )
    )


def _git_checks_nothing(arguments: Sequence[str], output: str) -> bool:
    subcommand = git_command(arguments)
    if subcommand not in _KNOWN_GIT or {"-x", "--exec"}.intersection(arguments):
        return False
    return subcommand not in _RUNS_HOOKS or all(
        _OF_GIT.match(line) for line in output.splitlines() if line.strip()
    )


def may_run_hooks(arguments: Sequence[str]) -> bool:
    """Return whether git runs the hooks that there are with these arguments, seen or not."""
    command = git_command(arguments)
    off = {"--no-verify"} | ({"-n"} if command == "commit" else set())
    return command in _RUNS_HOOKS and off.isdisjoint(arguments)


def git_command(arguments: Sequence[str]) -> str:
    """Return the subcommand of git, "" for none."""
    # The values of these options would otherwise be taken for the subcommand.
    skip = False
    for argument in arguments:
        if skip:
            skip = False
        elif argument in ("-C", "-c", "--git-dir", "--work-tree"):
            skip = True
        elif not argument.startswith("-"):
            return argument

    return ""
