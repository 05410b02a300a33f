"""Totals of coverage files, counted from the single lines and branches: LCOV and Cobertura."""

import re
from dataclasses import dataclass
from typing import Final

from goop_mcp.errors import ResultFileError
from goop_mcp.recording.xml_events import parse_xml

__all__ = ["CoverageTotals", "read_cobertura", "read_lcov"]

_MOST_LINES: Final = 4_000_000
_DIGITS: Final = 12
_OF: Final = re.compile(r"[^()]{0,20}\((\d{1,9})/(\d{1,9})\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageTotals:
    """Numbers of lines and branches of all files of a coverage report, each counted once.

    `stale` is whether the file is older than the run.
    """

    lines: int = 0
    lines_hit: int = 0
    branches: int = 0
    branches_hit: int = 0
    files: int = 0
    stale: bool = False

    @property
    def line_percent(self) -> float | None:
        """Covered lines in percent, 0 to 100; None if the report has no line."""
        return 100 * self.lines_hit / self.lines if self.lines else None

    @property
    def branch_percent(self) -> float | None:
        """Covered branches in percent, 0 to 100; None if the report has no branch."""
        return 100 * self.branches_hit / self.branches if self.branches else None


class _Counter:
    """Lines and branches by file: several test runs and classes may list the same ones."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._lines: dict[tuple[int, str], bool] = {}
        self._branches: dict[tuple[int, str], tuple[int, int]] = {}

    def file(self, name: str) -> int:
        return self._files.setdefault(name, len(self._files))

    def line(self, file: int, number: str, *, hit: bool) -> None:
        self._bound()
        key = (file, number)
        self._lines[key] = self._lines.get(key, False) or hit

    def branch(self, file: int, place: str, taken: int, of: int) -> None:
        self._bound()
        key = (file, place)
        before = self._branches.get(key, (0, of))
        of = max(before[1], of)
        # No writer means that more branches were taken than there are.
        self._branches[key] = (min(max(before[0], taken), of), of)

    def totals(self) -> CoverageTotals:
        if not self._lines:
            raise ResultFileError("it has no line of a source file; expected a coverage report")

        return CoverageTotals(
            lines=len(self._lines),
            lines_hit=sum(self._lines.values()),
            branches=sum(of for _, of in self._branches.values()),
            branches_hit=sum(taken for taken, _ in self._branches.values()),
            files=len(self._files),
        )

    def _bound(self) -> None:
        if len(self._lines) + len(self._branches) > _MOST_LINES:
            raise ResultFileError(f"it has more than {_MOST_LINES:,} lines and branches")


def read_lcov(content: bytes) -> CoverageTotals:
    """Return the totals of an LCOV file, from its DA and BRDA lines; raise ResultFileError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ResultFileError("it is not text in UTF-8; expected LCOV") from None

    counter = _Counter()
    file: int | None = None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            file = counter.file(value.strip())
        elif line == "end_of_record":
            file = None
        elif file is None:
            continue
        elif key == "DA":
            number, _, hits = value.partition(",")
            counter.line(file, number.strip(), hit=_is_hit(hits.partition(",")[0]))
        elif key == "BRDA":
            place, _, taken = value.rpartition(",")
            counter.branch(file, place, int(_is_hit(taken)), 1)

    if file is not None:
        raise ResultFileError("its last record has no end; the run may have been cut off")

    return counter.totals()


def read_cobertura(content: bytes) -> CoverageTotals:
    """Return the totals of a Cobertura XML file, from its <line> elements."""
    target = _CoberturaTarget()
    parse_xml(content, target)
    return target.counter.totals()


class _CoberturaTarget:
    """Counts the lines of classes; those of methods are the same lines once more."""

    def __init__(self) -> None:
        self.counter = _Counter()
        self._file: int | None = None
        self._in_methods = False
        self._is_root = True

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._is_root and name != "coverage":
            raise ResultFileError(f"its root is <{name[:40]}>; expected <coverage> of Cobertura")

        self._is_root = False
        if name == "class":
            self._file = self.counter.file(attributes.get("filename", ""))
        elif name == "methods":
            self._in_methods = True
        elif name == "line" and self._file is not None and not self._in_methods:
            number = attributes.get("number", "")
            self.counter.line(self._file, number, hit=_is_hit(attributes.get("hits", "")))

            counted = _OF.match(attributes.get("condition-coverage", ""))
            if counted is not None:
                self.counter.branch(self._file, number, int(counted[1]), int(counted[2]))

    def end(self, name: str) -> None:
        if name == "class":
            self._file = None
        elif name == "methods":
            self._in_methods = False


def _is_hit(count: str) -> bool:
    digits = count.strip()
    return digits.isdecimal() and len(digits) <= _DIGITS and int(digits) > 0
