"""What the five sections of GoopSpec 1.x hold: files and commits, checks, template text (D-96)."""

import re
from collections.abc import Iterable, Iterator

from goop_mcp.protocols.goop_report.model import Check, Commit, FileAction, FileChange
from goop_mcp.protocols.goop_report.prose import action_of, commit_in, is_path
from goop_mcp.protocols.goop_report.values import clean
from goop_mcp.structs import DataStruct
from goop_mcp.validation.check_texts import parse_result
from goop_mcp.validation.findings import Severity, excerpt
from goop_mcp.validation.template_phrases import SECTIONS_PROSE
from goop_mcp.validation.template_text import ValueKind, template_text

__all__ = [
    "SectionLine",
    "files_and_commits",
    "is_code",
    "is_nothing",
    "lines_of",
    "read_checks",
    "shows_no_run",
    "template_weight",
]

_LONGEST_NAME = 80
_MARKER = re.compile(r"[ \t]*(?:[-*+\u2022]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_DASHES = (" \u2014 ", " \u2013 ", " -- ", " - ")
_NOTHING = re.compile(
    r"(?:none|nothing|n/?a|not applicable) ?(?:$|[.,;:(\u2014\u2013-])", re.IGNORECASE
)
_NO_FILES = re.compile(r"(?:none|nothing|no (?:files?|artifacts?|changes?))\b", re.IGNORECASE)
_NO_DEFECTS = re.compile(
    r"\b(?:0|no|zero)"
    r" (?:failed|failing|failures?|errors?|issues?|problems?|warnings?|violations?)\b",
    re.IGNORECASE,
)
_PASS = re.compile(
    r"\b(?:pass|passed|passes|passing|ok|clean|green|succeeded)\b|\u2713|\u2705", re.IGNORECASE
)
_FAIL = re.compile(r"\b(?:fail|failed|fails|failing|failure)\b|\u2717|\u274c", re.IGNORECASE)
# What stands after the slots of a line in the form that is handed out.
_AFTER_SLOTS = (", or - none", ", or none", ", one line for each check, or n/a")
_KINDS = {
    "SUMMARY": ValueKind.SUMMARY,
    "ARTIFACTS": ValueKind.CONTENT,
    "VERIFICATION": ValueKind.ACCOUNT,
    "NEXT": ValueKind.PLAN,
}
_LISTS = frozenset({"ARTIFACTS", "VERIFICATION"})
"""The sections whose lines begin with a name."""

_PROSE = frozenset(
    {
        "md",
        "mdx",
        "markdown",
        "rst",
        "adoc",
        "txt",
        "pdf",
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "webp",
        "ico",
        "csv",
    }
)


class SectionLine(DataStruct, frozen=True):
    """A line of a section without its list mark, and its offset; `fenced` if it is in code."""

    text: str
    offset: int
    fenced: bool = False


def lines_of(text: str, start: int, end: int) -> Iterator[SectionLine]:
    """Yield the lines of `text` from `start` to `end` with content; fences have none."""
    at, fence = start, ""
    for line in text[start:end].splitlines(keepends=True):
        bare = line.strip()
        mark = bare[:3] if bare[:3] in ("```", "~~~") else ""
        # Only the mark that opened a fence closes it: backticks within tildes are content.
        if mark and (not fence or mark == fence):
            fence = "" if fence else mark
        elif bare:
            marker = None if fence else _MARKER.match(line)
            yield SectionLine(
                clean(line[marker.end() :] if marker else line), at, fenced=bool(fence)
            )

        at += len(line)


def is_nothing(text: str) -> bool:
    """Return whether `text` means nothing, as `none` and `n/a` do, with or without a reason."""
    bare = text.strip("*_` \t\r\n-\u2013\u2014")
    return not bare or _NOTHING.match(bare) is not None


def template_weight(text: str, section: str) -> Severity | None:
    """Return the severity of template text in `text`, a line of `section` or all of it, or None."""
    bare = text.strip("* ")
    for after in _AFTER_SLOTS:
        bare = bare.removesuffix(after)

    # The line is tested as a whole, then its parts: `src/[name].ts` is a slot or the name of a
    # route, and only the rules for paths distinguish them.
    kind = _KINDS.get(section, ValueKind.TEXT)
    weight = template_text(bare, kind, SECTIONS_PROSE)
    path, description = _at_dash(bare)
    path = path.strip("` ") if description else path
    if weight is None and " " not in path and (description or "/" in path):
        weight = template_text(path, ValueKind.PATH, SECTIONS_PROSE)
    if weight is None and description and section in _LISTS:
        weight = template_text(description, kind, SECTIONS_PROSE)
    return weight


def files_and_commits(line: str) -> tuple[list[FileChange], list[Commit]]:
    """Return what a line of ARTIFACTS names: a commit, several files, or one file."""
    if is_nothing(line) or _NO_FILES.match(line.lstrip("*_` ")):
        return [], []

    words = line.split(None, 1)
    named = words[1] if words[0].rstrip(":").lower() == "commit" and len(words) > 1 else line
    if (commit := commit_in(named)) is not None:
        return [], [commit]

    path, description = _at_dash(line)

    # `src/a.ts (created)`: brackets may belong to the name, so they are removed only around a known
    # action.
    before, bracket, word = path.rstrip().rstrip(")]").rpartition(" (")
    if not bracket:
        before, bracket, word = path.rstrip().rstrip("]").rpartition(" [")

    action = action_of(word) if bracket else None
    if action is not None:
        path = before
    else:
        # A description can mean the file itself or its content: only a word alone means the file.
        first, _, rest = description.strip("(").partition(" ")
        alone = not rest.strip() or first[-1:] in ".,;:)" or rest.lstrip()[:1] in "(\u2014\u2013-"
        if alone and first.strip("*_`.,;:)").lower() in ("deleted", "removed"):
            action = FileAction.DELETED

    # A comma separates files only if every part is certainly a path; otherwise it belongs to a
    # name.
    several = [part.strip().strip("`*") for part in path.split(",")]
    paths = (
        several
        if len(several) > 1 and all(is_path(part) for part in several)
        else [path.strip("`* ")]
    )

    return [
        FileChange(path=each, action=action, description=clean(description)) for each in paths
    ], []


def _at_dash(line: str) -> tuple[str, str]:
    """Split a line at the first dash, or at the colon after a path."""
    places = [(line.find(dash), dash) for dash in _DASHES if dash in line]
    if places:
        # The first dash of any kind separates: a description may hold further dashes.
        at, dash = min(places)
        return line[:at], line[at + len(dash) :]

    first, _, rest = line.partition(" ")
    if first.endswith(":") and is_path(first[:-1].strip("`*")):
        return first[:-1], rest
    return line, ""


def read_checks(lines: Iterable[SectionLine]) -> list[tuple[Check, int]]:
    """Return the check of each line and its offset; fenced code belongs to the line before."""
    found: list[tuple[list[str], int]] = []
    for line in lines:
        if line.fenced and found:
            found[-1][0].append(line.text)
        elif not is_nothing(line.text):
            found.append(([line.text], line.offset))

    checks: list[tuple[Check, int]] = []
    for texts, offset in found:
        name, evidence = (
            excerpt(_at_dash(texts[0])[0].strip("`* "), _LONGEST_NAME),
            "\n".join(texts),
        )
        checks.append((Check(name=name, passed=_result(evidence), evidence=evidence), offset))

    return checks


def _result(text: str) -> bool | None:
    """Return whether a check passed by its runner's counts, else by clear words, else None."""
    shown = parse_result(text)
    if shown.failure is not None:
        return False
    if shown.nothing_ran:
        return None
    if shown.passed or shown.all_passed or shown.exit_status == 0:
        return True

    # "0 failed" contains the word for a failure and means the opposite: it is removed before the
    # words are compared. Words for both outcomes leave the result open.
    rest, no_defects = _NO_DEFECTS.subn("", text)
    passed = _PASS.search(rest) is not None or no_defects > 0
    failed = _FAIL.search(rest) is not None

    return passed if passed != failed else None


def shows_no_run(check: Check) -> bool:
    """Return whether the text of `check` says that nothing ran."""
    return check.passed is None and parse_result(check.evidence).nothing_ran


def is_code(path: str) -> bool:
    """Return whether a changed file requires a check: it is neither prose nor a picture."""
    # What is not known as prose counts as code: an unneeded request for a check costs little.
    name = path.rstrip("/").rpartition("/")[2]
    return name.rpartition(".")[2].lower() not in _PROSE
