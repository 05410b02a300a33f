"""Result files of test runners: JUnit XML, CTRF, TAP, and coverage totals of LCOV and Cobertura.

A second witness next to the exit code. Every number is counted from the single test cases or lines,
because the totals that writers put at the top are often wrong: pytest 9 counts each subtest, and
jest-junit no test that is to do. The files come from programs that an agent may have written, so
that size, depth and count are bounded, and XML is parsed without DTD and entities.
"""

import os
import stat
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Final, Literal, NamedTuple

from goop_mcp.errors import ResultFileError
from goop_mcp.recording.coverage_totals import CoverageTotals, read_cobertura, read_lcov
from goop_mcp.recording.result_formats import CaseList, read_ctrf, read_junit, read_tap
from goop_mcp.validation.findings import counted_noun

__all__ = [
    "CoverageKind",
    "CoverageTotals",
    "RemovedTests",
    "ResultKind",
    "ResultMarks",
    "TestResults",
    "mark_result_files",
    "read_coverage_file",
    "read_result_file",
    "removed_tests",
]

ResultKind = Literal["junit", "ctrf", "tap"]
CoverageKind = Literal["lcov", "cobertura"]

_MOST_BYTES: Final = 32 * 1024 * 1024
_MOST_BYTES_OF_A_FOLDER: Final = 64 * 1024 * 1024
_MOST_FILES: Final = 2_000
_MOST_NAMES: Final = 50_000
_NAMES_SHOWN: Final = 5
_SUFFIXES: Final = {"junit": ".xml", "ctrf": ".json", "tap": ".tap"}

# File systems keep times in steps of up to two seconds (FAT), and the kernel's clock for files may
# lag a few milliseconds. A file of before the run is found by its mark already.
_CLOCK_SLACK_NS: Final = 2_000_000_000


class _FileMark(NamedTuple):
    device: int
    inode: int
    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class ResultMarks:
    """What was at a path before a run started, so that a file of an earlier run shows as stale.

    `files` maps the path of each file to its identity, `taken_ns` is the time in nanoseconds since
    1970.
    """

    files: Mapping[str, _FileMark]
    taken_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResults:
    """What the test cases of one result file, or of all files of a folder, show.

    `passed`, `failed`, `errors` and `skipped` are numbers of test cases. `skipped` includes those
    marked as to do and expected failures; `errors` are test cases that could not run to their end,
    and errors outside of any. A test case that failed and passed when it was run again counts as
    passed and is in `flaky`. `repeated` is the number of cases whose name occurred before: some
    runners list a repeated attempt without marking it, so that the counts may be too high by it.

    The names are `suite > name`, in the order of the file; `failed_names` has the errors as well.
    `names_whole` is False where a file has more than 50,000 test cases, of which the first are
    kept, and where it does not say which of those that passed are only to do. `stale` is whether
    the file is older than the run. `incomplete` says in one clause why the file does not hold the
    whole run, such as a missing plan; "" if it does. `notes` are remarks for people, such as totals
    in the header that differ.
    """

    # Pytest would collect a class of this name in each test module that imports it.
    __test__: ClassVar[bool] = False

    kind: ResultKind
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    flaky: int = 0
    repeated: int = 0
    passed_names: tuple[str, ...] = ()
    failed_names: tuple[str, ...] = ()
    skipped_names: tuple[str, ...] = ()
    names_whole: bool = True
    stale: bool = False
    incomplete: str = ""
    notes: tuple[str, ...] = ()

    @property
    def executed(self) -> int:
        """The number of test cases that ran; 0 is never a pass."""
        return self.passed + self.failed + self.errors

    @property
    def is_passed(self) -> bool:
        """Whether the file proves that tests ran and none failed."""
        return not self.why_not_passed

    @property
    def why_not_passed(self) -> str:
        """Why the file proves no pass, in one clause; "" if it does."""
        if self.stale:
            return "the result file is older than the run"
        if self.failed or self.errors:
            names = ", ".join(self.failed_names[:_NAMES_SHOWN])
            more = "" if len(self.failed_names) <= _NAMES_SHOWN else ", …"
            counts = ((self.failed, "failed"), (self.errors, "errors"))
            found = ", ".join(f"{count} {word}" for count, word in counts if count)
            return found + (f" ({names}{more})" if names else "")
        if self.incomplete:
            return self.incomplete
        if not self.executed:
            return f"no test ran ({self.skipped} skipped)" if self.skipped else "no test ran"
        return ""


class RemovedTests(NamedTuple):
    """Names of tests that passed at the base and are now `gone` or `skipped`."""

    gone: tuple[str, ...]
    skipped: tuple[str, ...]


def mark_result_files(path: Path) -> ResultMarks:
    """Return what is at `path` before a run: a file, a folder of files, or nothing yet."""
    marks: dict[str, _FileMark] = {}
    for each in _files_at(path, suffix="")[: _MOST_FILES + 1]:
        try:
            found = each.stat()
        except OSError:
            continue

        marks[str(each)] = _mark_of(found)

    return ResultMarks(marks, time.time_ns())


def read_result_file(
    source: Path | bytes, kind: ResultKind | None = None, *, since: ResultMarks | None = None
) -> TestResults:
    """Return the test results of a file, of every file of a folder, or of `source` itself.

    Without a `kind`, the content decides. Of a folder, as Maven and Gradle write it, all files with
    the suffix of the kind are read, .xml without a kind; stale ones are left out and noted, unless
    all are. With `since`, made before the run, a file that the run did not write is stale.

    At most 32 MiB of one file are read, and 2,000 files and 64 MiB of a folder. Raises
    ResultFileError, whose text says what to do, if a file is missing, too large, or not of its
    kind.
    """
    if isinstance(source, bytes):
        return _results_of(source, kind, "the content")

    if not source.is_dir():
        content, found = _read(source)
        results = _results_of(content, kind, str(source))
        return replace(results, stale=_is_stale(source, found, since))

    return _results_of_folder(source, kind or "junit", since)


def read_coverage_file(
    source: Path | bytes, kind: CoverageKind | None = None, *, since: ResultMarks | None = None
) -> CoverageTotals:
    """Return the coverage totals of a file; arguments and errors as for `read_result_file`."""
    stale = False
    if isinstance(source, bytes):
        content = source
    else:
        content, found = _read(source)
        stale = _is_stale(source, found, since)

    if kind is None:
        kind = "cobertura" if content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<" else "lcov"

    totals = read_cobertura(content) if kind == "cobertura" else read_lcov(content)
    return replace(totals, stale=stale)


def removed_tests(base: TestResults, now: TestResults) -> RemovedTests | None:
    """Return which tests passed at the base and are gone or skipped now.

    Return None if that cannot be known, because one side has no list of all names, is stale, or is
    incomplete. A test that was renamed is gone.
    """
    for each in (base, now):
        if each.stale or each.incomplete or not each.names_whole:
            return None

    still = {*now.passed_names, *now.failed_names}
    skipped = {*now.skipped_names}
    missing = [name for name in dict.fromkeys(base.passed_names) if name not in still]

    return RemovedTests(
        gone=tuple(name for name in missing if name not in skipped),
        skipped=tuple(name for name in missing if name in skipped),
    )


def _results_of_folder(folder: Path, kind: ResultKind, since: ResultMarks | None) -> TestResults:
    files = _files_at(folder, suffix=_SUFFIXES[kind])
    if not files:
        raise ResultFileError(
            f"{folder} holds no *{_SUFFIXES[kind]} file; expected the files that the run writes"
        )
    if len(files) > _MOST_FILES:
        raise ResultFileError(
            f"{folder} holds more than {_MOST_FILES:,} files; name the folder of one run"
        )

    fresh: list[TestResults] = []
    stale: list[TestResults] = []
    total = 0
    for file in files:
        content, found = _read(file)
        total += len(content)
        if total > _MOST_BYTES_OF_A_FOLDER:
            raise ResultFileError(
                f"{folder} holds more than {_MOST_BYTES_OF_A_FOLDER:,} bytes; expected less"
            )

        is_stale = _is_stale(file, found, since)
        (stale if is_stale else fresh).append(_results_of(content, kind, str(file)))

    # Without any file of this run, the old ones show at least what is stale.
    results = _added(fresh or stale)
    notes = results.notes
    if fresh and stale:
        notes = (*notes, f"older than the run: {counted_noun(len(stale), 'file')} of the folder")

    return replace(results, stale=not fresh, notes=notes)


def _added(parts: Iterable[TestResults]) -> TestResults:
    """Return the results of several files as one."""
    parts = list(parts)
    first = parts[0]
    names_whole = all(each.names_whole for each in parts)
    if sum(each.executed + each.skipped for each in parts) > _MOST_NAMES:
        names_whole = False

    # Bounded by the bytes of the folder.
    return replace(
        first,
        passed=sum(each.passed for each in parts),
        failed=sum(each.failed for each in parts),
        errors=sum(each.errors for each in parts),
        skipped=sum(each.skipped for each in parts),
        flaky=sum(each.flaky for each in parts),
        repeated=sum(each.repeated for each in parts),
        passed_names=tuple(n for each in parts for n in each.passed_names)[:_MOST_NAMES],
        failed_names=tuple(n for each in parts for n in each.failed_names)[:_MOST_NAMES],
        skipped_names=tuple(n for each in parts for n in each.skipped_names)[:_MOST_NAMES],
        names_whole=names_whole,
        incomplete=next((each.incomplete for each in parts if each.incomplete), ""),
        notes=tuple(dict.fromkeys(note for each in parts for note in each.notes))[:_NAMES_SHOWN],
    )


def _results_of(content: bytes, kind: ResultKind | None, source: str) -> TestResults:
    if kind is None:
        begins = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        kind = "junit" if begins in {b"<", b"\xff", b"\xfe"} else "tap"
        kind = "ctrf" if begins == b"{" else kind

    read = {"junit": read_junit, "ctrf": read_ctrf, "tap": read_tap}[kind]
    try:
        return _counted(kind, read(content))
    except ResultFileError as error:
        raise ResultFileError(f"{source}: {error}") from None


def _counted(kind: ResultKind, found: CaseList) -> TestResults:
    """Return the numbers of `found`; an attempt that passed later is not a failure."""
    passed_at: dict[str, int] = {}
    for number, case in enumerate(found.cases):
        if case.outcome == "passed":
            passed_at[case.name] = number

    counted: dict[str, int] = dict.fromkeys(("passed", "failed", "error", "skipped"), 0)
    names: dict[str, list[str]] = {"passed": [], "failed": [], "error": [], "skipped": []}
    seen: set[str] = set()
    flaky = repeated = 0

    for number, case in enumerate(found.cases):
        # Gradle and others write each attempt as a test case of its own, the last one last.
        if case.outcome in {"failed", "error"} and passed_at.get(case.name, -1) > number:
            flaky += 1
            continue

        counted[case.outcome] += 1
        flaky += case.flaky
        repeated += case.name in seen
        seen.add(case.name)
        if number < _MOST_NAMES:
            names[case.outcome].append(case.name)

    # The header of a file may count other tests than the file holds.
    header, written = found.header_count, len(found.cases)
    notes: tuple[str, ...] = ()
    if header is not None and header != written:
        notes = (f"the header counts {counted_noun(header, 'test')}, the file holds {written:,}",)

    return TestResults(
        kind=kind,
        passed=counted["passed"] - found.unnamed_to_do,
        failed=counted["failed"],
        errors=counted["error"] + found.other_errors,
        skipped=counted["skipped"] + found.unnamed_to_do,
        flaky=flaky,
        repeated=repeated,
        passed_names=tuple(names["passed"]),
        failed_names=(*names["failed"], *names["error"]),
        skipped_names=tuple(names["skipped"]),
        names_whole=len(found.cases) <= _MOST_NAMES and not found.unnamed_to_do,
        incomplete=found.incomplete,
        notes=notes,
    )


def _files_at(path: Path, suffix: str) -> list[Path]:
    """Return the file at `path`, or those of the folder there, sorted; at most one too many."""
    if not path.is_dir():
        return [path]

    files: list[Path] = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.endswith(suffix) and entry.is_file(follow_symlinks=False):
                    files.append(Path(entry.path))
                    if len(files) > _MOST_FILES:
                        break
    except OSError as error:
        raise ResultFileError(f"{path} cannot be listed: {_reason(error)}") from None

    return sorted(files)


def _read(path: Path) -> tuple[bytes, os.stat_result]:
    try:
        # Opening a pipe must not wait for a writer; it is refused below.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise ResultFileError(
            f"{path} does not exist; the run must write it, see the option of its runner"
        ) from None
    except OSError as error:
        raise ResultFileError(f"{path} cannot be read: {_reason(error)}") from None

    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ResultFileError(f"{path} is not a file; name the file that the run writes")
        if found.st_size > _MOST_BYTES:
            raise ResultFileError(
                f"{path} has {found.st_size:,} bytes; expected at most {_MOST_BYTES:,}: leave the"
                " output of the tests out of it"
            )

        # One byte more, because the file may have grown since its size was looked at.
        content = file.read(_MOST_BYTES + 1)

    return content[:_MOST_BYTES], found


def _is_stale(path: Path, found: os.stat_result, since: ResultMarks | None) -> bool:
    """Whether the run did not write the file: it is as before, or was copied from an older one."""
    if since is None:
        return False
    if since.files.get(str(path)) == _mark_of(found):
        return True
    return found.st_mtime_ns < since.taken_ns - _CLOCK_SLACK_NS


def _mark_of(found: os.stat_result) -> _FileMark:
    return _FileMark(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else "the system gives no reason"
