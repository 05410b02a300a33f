"""Which files a shell line writes, as far as its words show it."""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from goop_mcp.evidence.runners import word_set
from goop_mcp.evidence.shell import Part
from goop_mcp.evidence.shell.wrappers import name_of

__all__ = ["Written", "gives_text", "written_by"]

_WRITES: Final = frozenset({">", ">>", ">|", "&>", "&>>"})
_TEXTS: Final = frozenset({"<<", "<<-", "<<<"})
_PRINTS: Final = word_set("echo printf")
_IN_PLACE: Final = word_set("sed gsed perl ruby")
_WITH_SCRIPT: Final = word_set("-e --expression -f --file")
_COPIES: Final = word_set("cp install mv")
_INTERPRETERS: Final = word_set("bun deno node perl php pypy python ruby")
# How the programs of interpreters write files.
_WRITING_CODE: Final = (
    r"open\([^)\n]{1,200}['\"][rbt]{0,2}[wax+]|\.write_(?:text|bytes)\(|write(?:File|FileSync)\("
    r"|appendFile|File\.write|file_put_contents"
)


class Written(NamedTuple):
    """A file that the part with this number writes: `path` as the line has it, "" if not known.

    `reached`: it was written if the line ended with 0, in the folder of the project. `changed`: it
    is then certainly not as it was.
    """

    at: int
    path: str
    changed: bool = False
    reached: bool = False


def written_by(parts: Sequence[Part], line: str) -> Iterator[Written]:
    """Yield the files that `parts`, the programs of `line`, write. Linear."""
    # Where a variable names the folder, the files are not known.
    elsewhere = any(
        name_of(part.words[0]) in ("cd", "pushd")
        and not all(each.literal for each in part.words[1:])
        for part in parts
    )
    for at, part in enumerate(parts):
        for written in _by_part(at, part, parts[at - 1] if at else None, line):
            reached = part.certain and part.container is None and not elsewhere
            yield written._replace(reached=reached and written.path != "")


def _by_part(at: int, part: Part, before: Part | None, line: str) -> Iterator[Written]:
    name = name_of(part.words[0])
    arguments = part.words[1:]
    for operator, target in part.redirections:
        if operator in _WRITES:
            yield Written(at, target.text if target.literal else "", gives_text(part))

    plain = [each for each in arguments if not each.text.startswith("-")]
    options = [each.text for each in arguments if each.text.startswith("-")]
    if name == "tee":
        given = gives_text(part) or (before is not None and gives_text(before))
        for file in plain:
            yield Written(at, file.text if file.literal else "", given)
    elif name in _IN_PLACE and any(map(_is_in_place, options)):
        # The first word is the script, unless an option brings it. A script may change nothing.
        scripts = 0 if _WITH_SCRIPT.intersection(options) else 1
        for file in plain[scripts:]:
            yield Written(at, file.text if file.literal else "")
    elif name in _COPIES and len(plain) > 1:
        yield Written(at, plain[-1].text if plain[-1].literal else "")
    elif (
        name == "patch"
        or (name == "git" and plain and plain[0].text == "apply")
        or (name in _INTERPRETERS and re.search(_WRITING_CODE, line))
    ):
        yield Written(at, "")


def gives_text(part: Part) -> bool:
    """Return whether the part certainly prints something, of its own or from a here document."""
    name = name_of(part.words[0])
    if name in _PRINTS:
        return any(each.text and not each.text.startswith("-") for each in part.words[1:])
    only_reads = name == "tee" or len(part.words) == 1 or part.words[1].text == "-"
    return (
        name in ("cat", "tee")
        and only_reads
        and any(operator in _TEXTS for operator, _ in part.redirections)
    )


def _is_in_place(option: str) -> bool:
    """Whether an option of sed, perl or ruby is `-i`, also among others: `-pi`, `-i.bak`."""
    return option.startswith("--in-place") or (
        not option.startswith("--") and re.match(r"-[A-Zanprslw0]{0,6}i", option) is not None
    )
