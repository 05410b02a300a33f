"""Replies that lie in files: read them, judge them, mend them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from goop_mcp import operations
from goop_mcp.errors import RuleFailedError, UnreadableFileError
from goop_mcp.operations.reading_files import read_reply, shown_name
from goop_mcp.protocols import FAMILIES, validate
from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS, Limits
from goop_mcp.validation.rules import Rule
from goop_mcp.validation.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from goop_mcp.store.interface import Store

__all__ = [
    "CheckedFile",
    "FileVerdicts",
    "MendedFile",
    "UnreadFile",
    "check_files",
    "mend_file",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedFile:
    """A file and the verdict on it.

    `text` is what was judged: the file without its byte order mark.
    """

    file: str
    text: str = field(repr=False)
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """A file that could not be judged; `message` names it and says what to do."""

    file: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVerdicts:
    """The outcome for several files, each in the order in which they were named.

    `rules` are the caller's own by which they were judged beside ours.
    """

    checked: tuple[CheckedFile, ...]
    unread: tuple[UnreadFile, ...] = ()
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MendedFile:
    """A file with the form of its envelope mended.

    `mended` is the whole file, equal to what was read where there was nothing to mend, and None
    when the reply is rejected. `checked` is the verdict that decided. `kept`: the reply is accepted
    as it is, but would not be with its envelope written again, as the current form requires what an
    older one cannot say; so nothing was changed.
    """

    checked: CheckedFile
    mended: str | None = field(repr=False)
    kept: bool = False


def check_files(
    files: Sequence[str],
    *,
    protocol: str = "auto",
    mode: Mode = "lenient",
    expected: Expectations | None = None,
    project: "Path | None" = None,
    store: "Store | None" = None,
    stdin: BinaryIO | None = None,
    limits: Limits = DEFAULT_LIMITS,
    rules: Sequence[Rule] = (),
) -> FileVerdicts:
    """Judge the reply in each of `files`; those that cannot be read or judged do not stop the others.

    The arguments are those of `validate`; `stdin` is read for the name "-". What the replies claim is held against
    the folder `project` and its memory `store`, None takes it as it is. Raises UnknownNameError for an unknown
    protocol or mode and RuleRefusedError for `rules` of no use; a file on which one of them fails counts as unread.
    """
    judge = partial(
        _judge(project, store),
        protocol=protocol,
        mode=mode,
        expected=expected,
        limits=limits,
        rules=rules,
    )
    checked: list[CheckedFile] = []
    unread: list[UnreadFile] = []

    for file in files:
        try:
            text = read_reply(file, stdin=stdin, limits=limits).removeprefix("\ufeff")
        except UnreadableFileError as error:
            unread.append(UnreadFile(file=file, message=str(error)))
            continue

        try:
            checked.append(CheckedFile(file=file, text=text, verdict=judge(text)))
        except RuleFailedError as error:
            unread.append(
                UnreadFile(file=file, message=f"{shown_name(file)} was not judged: {error}")
            )

    return FileVerdicts(checked=tuple(checked), unread=tuple(unread), rules=tuple(rules))


def _judge(project: "Path | None", store: "Store | None") -> Callable[..., Verdict]:
    if project is None:
        return validate
    return partial(operations.check_workspace.check_workspace, project=project, store=store)


def mend_file(
    file: str,
    *,
    protocol: str = "auto",
    expected: Expectations | None = None,
    stdin: BinaryIO | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> MendedFile:
    """Mend the form of the envelope in `file`, leaving everything else as it is; `expected` is that of `validate`.

    What is mended is judged once more: nothing comes out that would be rejected, and what is accepted as it is comes
    out at least so. Raises UnreadableFileError and UnknownNameError.
    """
    whole = read_reply(file, stdin=stdin, limits=limits)
    text = whole.removeprefix("\ufeff")
    verdict = validate(text, protocol=protocol, expected=expected, limits=limits)
    checked = CheckedFile(file=file, text=text, verdict=verdict)
    if not verdict.accepted:
        return MendedFile(checked=checked, mended=None)
    if verdict.repaired_text is None or verdict.span is None:
        return MendedFile(checked=checked, mended=whole)

    mended = _with_envelope(verdict, verdict.span, verdict.repaired_text)
    if not validate(mended, protocol=protocol, expected=expected, limits=limits).accepted:
        return MendedFile(checked=checked, mended=whole, kept=True)
    return MendedFile(checked=checked, mended=whole[: len(whole) - len(text)] + mended)


def _with_envelope(verdict: Verdict, span: tuple[int, int], envelope: str) -> str:
    """Return the text that was read with `envelope` in place of `span`, with the line ends that stood there."""
    text = verdict.read_text
    if "\r\n" in text[span[0] : span[1]] and "\r" not in envelope:
        envelope = envelope.replace("\n", "\r\n")

    family = next(family for family in FAMILIES if family.name == verdict.protocol)
    return family.put_back(text, span, envelope)
