"""The test cases of JUnit XML, CTRF and TAP, each with its outcome; totals are never believed."""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from goop_mcp.errors import ResultFileError
from goop_mcp.recording.xml_events import parse_xml
from goop_mcp.validation.findings import counted_noun

__all__ = ["Case", "CaseList", "read_ctrf", "read_junit", "read_tap"]

_MOST_CASES: Final = 500_000
_NAME_CHARACTERS: Final = 300
_LINE_CHARACTERS: Final = 2_000
_JSON_DEPTH: Final = 64
_MOST_OBJECTS: Final = 1_500_000
_DIGITS: Final = 9
_BETWEEN: Final = " > "

Outcome = Literal["passed", "failed", "error", "skipped"]


class Case(NamedTuple):
    """One test case; `flaky` if its file says that it failed before it passed."""

    name: str
    outcome: Outcome
    flaky: bool = False


@dataclass(slots=True)
class CaseList:
    """The test cases of one file, in order.

    `other_errors` is the number of errors outside of any test case. `unnamed_to_do` of those that
    passed are tests to do, but their file does not say which. `incomplete` says why the file
    does not hold the whole run, "" if it does. `header_count` is how many tests its header claims.
    """

    cases: list[Case] = field(default_factory=list)
    other_errors: int = 0
    unnamed_to_do: int = 0
    incomplete: str = ""
    header_count: int | None = None

    def add(self, name: str, outcome: Outcome, *, flaky: bool = False) -> None:
        """Add a test case; raise ResultFileError if there are too many."""
        if len(self.cases) >= _MOST_CASES:
            raise ResultFileError(f"it has more than {_MOST_CASES:,} test cases; split the run")

        self.cases.append(Case(name[:_NAME_CHARACTERS], outcome, flaky))


def read_junit(content: bytes) -> CaseList:
    """Return the test cases of a JUnit XML file of any writer; raise ResultFileError."""
    target = _JUnitTarget()
    parse_xml(content, target)
    return target.found


# What googletest and others write instead of an element <skipped>.
_NOT_RUN: Final = frozenset({"notrun", "disabled", "skipped", "ignored", "suppressed"})
# CTest and others say it in an attribute, some without an element <failure>.
_NOT_PASSED: Final = frozenset(
    {"fail", "failed", "failure", "error", "errored", "aborted", "timeout"}
)
_RERUN: Final = frozenset({"rerunFailure", "rerunError"})
_FLAKY: Final = frozenset({"flakyFailure", "flakyError"})
_ROOTS: Final = frozenset({"testsuites", "testsuite"})
# node:test lists each file without tests as one that passed, by its absolute path.
_FILE_AS_TEST: Final = re.compile(r"(?:/|[A-Za-z]:[\\/])[^\n]{0,280}\.[cm]?[jt]sx?")
# Only a clock that counts parts of a millisecond never measures 0 seconds.
_FINE_TIME: Final = re.compile(r"\d{1,9}\.\d{5,20}")


@dataclass(slots=True)
class _JUnitSuite:
    """One <testsuite> while it is read.

    `bare` are the indexes of cases without a mark and with the time 0, `last_timed` that of the
    last case with another time, -1 for none, and `fine` whether one was below a millisecond.
    """

    attributes: dict[str, str]
    written: Counter[Outcome] = field(default_factory=Counter)
    bare: list[int] = field(default_factory=list)
    last_timed: int = -1
    fine: bool = False

    @property
    def name(self) -> str:
        return self.attributes.get("name", "")

    def add(self, index: int, case: dict[str, str], outcome: Outcome) -> None:
        self.written[outcome] += 1
        time = case.get("time", "")
        if time != "0":
            self.last_timed = index
            self.fine = self.fine or _FINE_TIME.fullmatch(time) is not None
        elif outcome == "passed":
            self.bare.append(index)

    @property
    def to_do(self) -> int:
        """How many of `bare` are tests to do: jest-junit counts them in no number of the suite."""
        counts = [self.attributes.get(each, "") for each in ("tests", "failures", "skipped")]
        if not all(each.isdecimal() and len(each) <= _DIGITS for each in counts):
            return 0

        tests, failures, skipped = map(int, counts)
        more = self.written.total() - tests
        agree = (failures, skipped) == (self.written["failed"], self.written["skipped"])
        return more if agree and 0 < more <= len(self.bare) else 0

    @property
    def not_begun(self) -> list[int]:
        """The `bare` after every case that was timed, as vitest writes those it did not begin."""
        return [each for each in self.bare if each > self.last_timed] if self.fine else []


class _JUnitTarget:
    """Collects the test cases; below each stand <failure>, <error>, <skipped> and others."""

    def __init__(self) -> None:
        self.found = CaseList()
        self._path: list[str] = []
        self._suites: list[_JUnitSuite] = []
        self._case: dict[str, str] | None = None
        self._marks: set[str] = set()
        self._not_begun: list[int] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        above = self._path[-1] if self._path else ""
        if not self._path and name not in _ROOTS:
            raise ResultFileError(
                f"its root is <{name[:40]}>; expected <testsuites> or <testsuite> of JUnit XML"
            )

        self._path.append(name)
        if name in _ROOTS:
            count = attributes.get("tests", "")
            if len(self._path) == 1 and count.isdecimal() and len(count) <= _DIGITS:
                self.found.header_count = int(count)

            self._suites.append(_JUnitSuite(attributes if name == "testsuite" else {}))

        elif name == "testcase" and self._case is None:
            self._case = attributes
            self._marks.clear()

        elif above == "testcase":
            # node:test marks a test to do as skipped and lists its failure all the same. pytest
            # lists the marks of all subtests, of which one was skipped and another failed.
            to_do = name == "skipped" and attributes.get("type") == "todo"
            self._marks.add("todo" if to_do else name)

        elif above in _ROOTS and name in {"error", "failure"}:
            # A suite that could not be set up has no test case to put it on.
            self.found.other_errors += 1

    def end(self, name: str) -> None:
        self._path.pop()
        if name in _ROOTS:
            self._end_suite(self._suites.pop())
        elif name == "testcase" and self._case is not None and "testcase" not in self._path:
            self._add(self._case)
            self._case = None

    def _end_suite(self, suite: _JUnitSuite) -> None:
        to_do = suite.to_do
        if to_do == 0:
            self._not_begun += suite.not_begun
        elif to_do == len(suite.bare):
            self._skip(suite.bare)
        else:
            # Quick tests have the time 0 as well: the number is known, the names are not.
            self.found.unnamed_to_do += to_do

        if not self._path and any(each.outcome == "failed" for each in self.found.cases):
            # Of a run without a failure nothing says that it was stopped.
            self._skip(self._not_begun)
            if self._not_begun:
                count = len(self._not_begun)
                self.found.incomplete = f"the run stopped before {count} of its tests began"

    def _skip(self, indexes: list[int]) -> None:
        for index in indexes:
            self.found.cases[index] = self.found.cases[index]._replace(outcome="skipped")

    def _add(self, case: dict[str, str]) -> None:
        name = case.get("name", "")
        state = {case.get("status", "").lower(), case.get("result", "").lower()}
        marks = self._marks

        outcome: Outcome = "passed"
        if "todo" in marks:
            outcome = "skipped"
        elif "error" in marks:
            outcome = "error"
        elif "failure" in marks or marks & _RERUN or state & _NOT_PASSED:
            outcome = "failed"
        elif "skipped" in marks or state & _NOT_RUN:
            outcome = "skipped"
        elif case.get("classname") == "test" and _FILE_AS_TEST.fullmatch(name):
            return

        # Some writers repeat the name as the class, or write "test" for every class.
        owner = case.get("classname", "")
        if owner in {"", "test", name}:
            owners = [each.name for each in self._suites if each.name]
            owner = _BETWEEN.join(owners) if owner != name else ""

        full_name = f"{owner}{_BETWEEN}{name}" if owner else name
        if self._suites:
            self._suites[-1].add(len(self.found.cases), case, outcome)
        self.found.add(full_name, outcome, flaky=bool(marks & _FLAKY))


def read_ctrf(content: bytes) -> CaseList:
    """Return the tests of a file in the Common Test Report Format; raise ResultFileError."""
    # Each object takes many times the memory of its two characters.
    if content.count(b"{") + content.count(b"[") > _MOST_OBJECTS:
        raise ResultFileError(f"it has more than {_MOST_OBJECTS:,} objects; split the run")
    try:
        text = content.decode("utf-8-sig")
        document = json.loads(text)
    except (UnicodeDecodeError, ValueError, RecursionError):
        raise ResultFileError("it is not JSON in UTF-8; the run may have been cut off") from None

    results = document.get("results") if isinstance(document, dict) else None
    tests = results.get("tests") if isinstance(results, dict) else None
    if not isinstance(results, dict) or not isinstance(tests, list):
        raise ResultFileError("it has no list at results.tests; expected a report in CTRF")

    found = CaseList()
    summary = results.get("summary")
    count = summary.get("tests") if isinstance(summary, dict) else None
    if isinstance(count, int) and not isinstance(count, bool):
        found.header_count = count

    for test in tests:
        if not isinstance(test, dict):
            found.incomplete = "an entry of results.tests is not an object"
            continue

        name = test.get("name")
        outcome = _CTRF_OUTCOMES.get(str(test.get("status")))
        if outcome is None:
            found.incomplete = "a test has no status that CTRF knows"
            continue

        suite = test.get("suite")
        parts = suite if isinstance(suite, list) else [suite]
        title = name if isinstance(name, str) else ""
        # Some writers repeat the suite at the beginning of the name.
        owners = [each for each in parts if isinstance(each, str) and not title.startswith(each)]

        flaky = test.get("flaky") is True and outcome == "passed"
        found.add(_BETWEEN.join([*owners[:_JSON_DEPTH], title]), outcome, flaky=flaky)

    return found


# "other" is neither: interrupted, or not known to the writer. It ran to no end.
_CTRF_OUTCOMES: Final[dict[str, Outcome]] = {
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "pending": "skipped",
    "other": "skipped",
}


_POINT: Final = re.compile(r"(not )?ok\b(?: +(\d{1,9}))?(.*)")
_PLAN: Final = re.compile(r"1\.\.(\d{1,9})(?=\s|$)(.*)")
_DIRECTIVE: Final = re.compile(r"#\s*(skip|todo)", re.IGNORECASE)
_LEVEL: Final = 4
_MOST_LEVELS: Final = 64


class _TapLevel:
    """The test points of one level of a TAP stream, until the point that they belong to."""

    __slots__ = ("failed", "planned", "points", "title")

    def __init__(self) -> None:
        self.points = 0
        self.planned: int | None = None
        self.failed = False
        self.title = ""


def read_tap(content: bytes) -> CaseList:
    """Return the test points of a TAP stream, version 12, 13 or 14; raise ResultFileError.

    Points that have subtests are suites and not counted. The plan has to fit at each level.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ResultFileError("it is not text in UTF-8; expected TAP") from None

    reader = _TapReader()
    for line in text.splitlines():
        reader.read(line[:_LINE_CHARACTERS])

    return reader.finish()


class _TapReader:
    """Reads line by line; subtests are four blanks deeper, before their point or in its braces."""

    def __init__(self) -> None:
        self._found = CaseList()
        self._levels = [_TapLevel()]
        self._yaml: int | None = None
        self._bailed = self._plans_differ = False
        self._is_tap = False

    def read(self, line: str) -> None:
        body = line.lstrip(" ")
        indent = len(line) - len(body)
        if self._yaml is not None:
            # The details of a failure, which may quote TAP.
            if body.rstrip() == "..." and indent == self._yaml:
                self._yaml = None
            return

        if body.rstrip() == "---" and indent:
            self._yaml = indent
        elif body.startswith("Bail out!"):
            self._bailed = self._is_tap = True
        elif indent % _LEVEL == 0 and indent // _LEVEL < _MOST_LEVELS:
            self._read_at(indent // _LEVEL, body)

    def finish(self) -> CaseList:
        if not self._is_tap:
            raise ResultFileError("it has no line of TAP, such as `1..3` or `ok 1`")

        self._close_to(0)
        top = self._levels[0]
        found = self._found
        if self._bailed:
            found.incomplete = "the run bailed out"
        elif self._yaml is not None:
            found.incomplete = "the file is cut off in the details of a test"
        elif self._plans_differ:
            found.incomplete = "the file has plans that differ"
        elif top.planned is None:
            found.incomplete = "the file has no plan, so that the run may be cut off"
        elif top.planned != top.points:
            found.incomplete = (
                f"the plan has {counted_noun(top.planned, 'test')}, the file {top.points:,}"
            )
        return found

    def _read_at(self, depth: int, body: str) -> None:
        if body.startswith("# Subtest"):
            self._open(depth)
            self._levels[depth].title = body.partition(":")[2].strip()[:_NAME_CHARACTERS]
            return

        if body.rstrip() == "}":
            self._close_to(depth)
            return

        if (plan := _PLAN.match(body)) is not None:
            self._is_tap = True
            self._open(depth)
            # A second plan would decide how much of the run may be missing.
            self._plans_differ |= self._levels[depth].planned not in (None, int(plan[1]))
            self._levels[depth].planned = int(plan[1])
            return

        point = _POINT.match(body)
        if point is not None:
            self._is_tap = True
            self._add(depth, point)

    def _add(self, depth: int, point: re.Match[str]) -> None:
        text, directive = _split_directive(point[3])
        opens = text.endswith("{")
        title = text.removesuffix("{").strip().removeprefix("- ").strip()[:_NAME_CHARACTERS]
        failed = point[1] is not None and not directive

        # Points deeper than this one, and not in braces, are its subtests: it is a suite.
        is_suite = opens or (len(self._levels) > depth + 1 and self._levels[depth + 1].points > 0)
        below_failed = is_suite and not opens and self._levels[depth + 1].failed
        self._close_to(depth)
        self._open(depth)
        level = self._levels[depth]
        level.points += 1
        level.failed = level.failed or failed

        if opens:
            level.title = title
            return

        if is_suite:
            # A hook of the suite failed, or its plan did not fit: no test shows it.
            if failed and not below_failed:
                self._found.other_errors += 1
        elif directive or failed or not _FILE_AS_TEST.fullmatch(title):
            outcome: Outcome = "skipped" if directive else "failed" if failed else "passed"
            owners = [each.title for each in self._levels[:depth] if each.title]
            self._found.add(_BETWEEN.join([*owners, title]), outcome)

        level.title = ""

    def _open(self, depth: int) -> None:
        while len(self._levels) <= depth:
            self._levels.append(_TapLevel())

    def _close_to(self, depth: int) -> None:
        del self._levels[depth + 1 :]


def _split_directive(text: str) -> tuple[str, bool]:
    """Return the description of a test point, and whether it is skipped or to do."""
    at = len(text)
    # The directive is the last part; a description may hold an escaped `#`.
    while (at := text.rfind("#", 0, at)) >= 0:
        if not text[:at].endswith("\\"):
            description = text[:at].strip()
            braces = " {" if text.rstrip().endswith("{") else ""
            if _DIRECTIVE.match(text, at):
                return description + braces, True
            if text.startswith("# time=", at):
                return description + braces, False

    return text.strip(), False
