"""Read replies from files, judge them, repair them."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from goop_mcp import services
from goop_mcp.errors import RuleFailedError, UnreadableFileError
from goop_mcp.protocols import FAMILIES, validate
from goop_mcp.services.user_files import NO_NAME, read_reply, shown_name
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Requirement, Verdict

if TYPE_CHECKING:
    from goop_mcp.evidence.evidence import EvidenceSource
    from goop_mcp.redaction import Replaced
    from goop_mcp.store.interface import Store

__all__ = [
    "MOST_CHARACTERS",
    "CheckedFile",
    "FileVerdicts",
    "RepairedFile",
    "UnreadFile",
    "check_files",
    "files_below",
    "marked_length",
    "refuse_more",
    "repair_file",
]

_SUFFIXES: Final = (".json", ".md", ".txt", ".xml")
"""What replies are saved as. Other files of a folder are code, pictures, databases."""
_MOST_FILES: Final = 20_000
_MOST_FOLDERS: Final = 100_000

MOST_CHARACTERS: Final = 128 * 1024 * 1024
"""Length of all replies of one call together: each is kept with its verdict until the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A file and the verdict on it.

    `text` is what was judged: the file without its byte order mark. Where the verdict was made
    shareable, `hidden` are the parts of `text` that are secrets, and `marked` is how many
    characters of it each finding is about.
    """

    file: str
    text: str = field(repr=False)
    verdict: Verdict
    hidden: "tuple[Replaced, ...]" = field(default=(), repr=False)
    marked: tuple[int, ...] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """A file that could not be judged; `message` names it and says what to do."""

    file: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdicts:
    """The outcome for several files, each in the order in which they were named.

    `rules` are the custom rules of the caller that were applied in addition to the built-in ones.
    """

    checked: tuple[CheckedFile, ...]
    unread: tuple[UnreadFile, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedFile:
    """A file with the form of its envelope repaired.

    `repaired` is the whole file, equal to what was read if there was nothing to repair, and None
    if the reply is rejected. `checked` is the verdict on the text as it was read. `kept` is True if
    the reply is accepted as it is, but would be rejected with its envelope written again, because
    the current form requires what an older form cannot express; nothing was changed then.
    `whole` is what was read, with its byte order mark.
    """

    checked: CheckedFile
    whole: str = field(repr=False)
    repaired: str | None = field(repr=False)
    kept: bool = False


def marked_length(line: str, column: int, found: str | None) -> int:
    """Return how many characters to mark: those of `found` if it is at `column`, else 1."""
    return len(found) if found and line.startswith(found, column - 1) else 1


def files_below(names: Sequence[str]) -> tuple[list[str], list[UnreadFile]]:
    """Return `names` with each folder replaced by the replies in it, and what is not readable.

    The replies of a folder are its files that end with .json, .md, .txt or .xml, in the order of
    their names, also in its subfolders, except in those whose name begins with a dot and those that
    are links. At most 20,000 files in 100,000 folders, all together; a folder without a reply, one
    that may not be read and one that exceeds this is unread.
    """
    files: list[str] = []
    unread: list[UnreadFile] = []
    room, visited = _MOST_FILES, 0

    for name in names:
        if not name:
            # For the system it is the current folder in one call and nothing in the next.
            unread.append(UnreadFile(file=name, message=NO_NAME))
            continue
        kind = _kind_of(name)
        if kind is None or not stat.S_ISDIR(kind):
            files.append(name)
            continue

        errors: list[OSError] = []
        found: list[str] = []
        for folder, folders, inside in os.walk(name, onerror=errors.append):
            # os.walk visits what stays in the list, in its order; it follows no links by itself.
            folders[:] = sorted(each for each in folders if not each.startswith("."))
            found += [
                str(Path(folder, each))
                for each in sorted(inside)
                if each.lower().endswith(_SUFFIXES)
                and not each.startswith(".")
                # Each pipe that nobody writes to would be waited for. What cannot be looked at
                # stays in the list, so that reading it says why.
                and ((kind := _kind_of(str(Path(folder, each)))) is None or stat.S_ISREG(kind))
            ]
            visited += 1
            if len(found) > room or visited > _MOST_FOLDERS:
                break

        if len(found) > room or visited > _MOST_FOLDERS:
            problem = (
                f"it and the folders before it have more than {_MOST_FILES:,} replies or"
                f" {_MOST_FOLDERS:,} folders"
            )
            unread.append(UnreadFile(file=name, message=f"{name!r}: {problem}; name subfolders"))
            continue

        unread += [
            UnreadFile(
                file=str(error.filename),
                message=f"{error.filename!r} may not be read by you; change its permissions",
            )
            for error in errors
        ]
        if not found and not errors:
            wanted = f"{', '.join(_SUFFIXES[:-1])} or {_SUFFIXES[-1]}"
            message = f"{name!r} has no file that ends with {wanted}; name the files"
            unread.append(UnreadFile(file=name, message=message))

        files += found
        room -= len(found)

    return files, unread


def _kind_of(path: str) -> int | None:
    """Return the mode of what is at `path`, None if that cannot be looked at."""
    try:
        return Path(path).stat().st_mode
    except (OSError, ValueError):
        return None


def refuse_more(file: str, held: int) -> None:
    """Raise UnreadableFileError for `file` if `held` characters of others are too many already."""
    if held > MOST_CHARACTERS:
        raise UnreadableFileError(
            f"{shown_name(file)} was not read: the replies before it have more than"
            f" {MOST_CHARACTERS:,} characters together; name fewer files, or subfolders"
        )


def check_files(
    files: Iterable[str],
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    project: Path | None = None,
    store: "Store | None" = None,
    stdin: BinaryIO | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
    texts: Mapping[str, str] | None = None,
    evidence: "Callable[[str], EvidenceSource] | None" = None,
    require: Requirement = "claimed",
) -> FileVerdicts:
    """Judge the reply in each of `files`; those of `texts` have their text there.

    A file that cannot be read or judged does not stop the others. The arguments are those of
    `validate`; `stdin` is read for the name "-". The claims of the replies are verified in the
    folder `project` and its memory `store`; None skips that. Raises UnknownNameError for an unknown
    protocol or mode and RuleRefusedError for unusable `rules`; a file on which a rule fails counts
    as unread. `evidence` returns what is known about the work of the agent that sent a text, and
    `require` is the evidence that its claims need.
    """
    validator: Callable[..., Verdict] = validate
    if project is not None:
        check = services.check_workspace.check_workspace
        validator = partial(check, project=project, store=store)

    judge = partial(
        validator,
        protocol=protocol,
        mode=mode,
        expected=expected,
        limits=limits,
        rules=rules,
        require=require,
    )
    checked: list[CheckedFile] = []
    unread: list[UnreadFile] = []

    held = 0
    for file in files:
        try:
            refuse_more(file, held)
            given = None if texts is None else texts.get(file)
            text = read_reply(file, stdin=stdin, limits=limits) if given is None else given
            text = text.removeprefix("\ufeff")
            held += len(text)
        except UnreadableFileError as error:
            unread.append(UnreadFile(file=file, message=str(error)))
            continue

        try:
            known = None if evidence is None else evidence(text)
            verdict = judge(text, evidence=known)
            if project is None:
                unverified = services.unverified
                verdict = unverified.with_unverified(verdict, unverified.NOT_ASKED)
            checked.append(CheckedFile(file=file, text=text, verdict=verdict))
        except RuleFailedError as error:
            unread.append(
                UnreadFile(file=file, message=f"{shown_name(file)} was not judged: {error}")
            )

    return FileVerdicts(checked=tuple(checked), unread=tuple(unread), rules=tuple(rules))


def repair_file(
    file: str,
    *,
    protocol: str = "auto",
    expected: Expectations | None = None,
    stdin: BinaryIO | None = None,
    limits: Limits = DEFAULT_LIMITS,
    text: str | None = None,
) -> RepairedFile:
    """Repair the form of the envelope in `file` and leave everything else as it is.

    `text` is that of a reply that stands in no file. `expected` is that of `validate`. The repaired
    text is judged once more, so that nothing is returned that would be rejected. Raises
    UnreadableFileError and UnknownNameError.
    """
    whole = read_reply(file, stdin=stdin, limits=limits) if text is None else text
    text = whole.removeprefix("\ufeff")
    verdict = validate(text, protocol=protocol, expected=expected, limits=limits)
    checked = CheckedFile(file=file, text=text, verdict=verdict)
    if not verdict.accepted:
        return RepairedFile(checked=checked, whole=whole, repaired=None)
    if verdict.repaired_text is None or verdict.span is None:
        return RepairedFile(checked=checked, whole=whole, repaired=whole)

    # The envelope keeps its style of line ends.
    start, end = verdict.span
    envelope = verdict.repaired_text
    if "\r\n" in verdict.read_text[start:end] and "\r" not in envelope:
        envelope = envelope.replace("\n", "\r\n")

    family = next(family for family in FAMILIES if family.name == verdict.protocol)
    repaired = family.replace_envelope(verdict.read_text, verdict.span, envelope)
    if not validate(repaired, protocol=protocol, expected=expected, limits=limits).accepted:
        return RepairedFile(checked=checked, whole=whole, repaired=whole, kept=True)

    # Every character outside the envelope stays, the byte order mark too.
    mark = whole[: len(whole) - len(text)]
    return RepairedFile(checked=checked, whole=whole, repaired=mark + repaired)
