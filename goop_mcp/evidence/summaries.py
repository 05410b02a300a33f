"""What a program's own summary says about its run, and the names of what failed.

Only lines in the form that the program prints at its end count. The rest of an output may speak of
anything: a log of failed logins, a quoted older run, another program of the same line.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from goop_mcp.validation.check_texts import CheckResult, parse_result

__all__ = ["SUMMARY_CHARACTERS", "Summary", "summary_of"]

_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_LINE_CHARACTERS = 300
_MOST_LINES = 400
_MOST_NAMES = 20
_COUNT_AND_STATE = 2
# A file as a test of node, in TAP and in its other form, with its time in milliseconds.
_FILE_OF_NODE = (
    r"(?m)^(?:ok \d+ - ([^\n]{1,300}\.[cm]?[jt]sx?)\n  ---\n  duration_ms: (\d+(?:\.\d+)?)$"
    r"|✔ ([^\n]{1,300}\.[cm]?[jt]sx?) \((\d+(?:\.\d+)?)ms\)$)"
)
_SUITES_OF_NODE = r"(?m)^[#ℹ] suites [1-9]"
_PROCESS_MS = 20
# What pytest prints where it only lists the tests.
_COLLECTED = r"[\d/]+ tests? collected(?: \(\d+ deselected\))?$"

SUMMARY_CHARACTERS: Final = 16 * 1024
"""How much of an output is read: its end."""

_BEFORE_NAMES: Final = (
    "FAILED ",
    "ERROR",
    "FAIL",
    "--- FAIL",
    "test ",
    "● ",
    "not ok ",
    "✖ ",
    "rspec ",
)
_NAME_CHARACTERS = 80


# Each pattern is matched from the beginning of a line without blanks at its ends.
_SUMMARIES: Final = {
    "unittest": r"Ran \d+ tests? in |FAILED \(|OK(?: \(|$)|NO TESTS RAN",
    "jest": r"Tests: +\d|No tests found",
    "vitest": r"Tests  +\S|No test files found",
    "mocha": r"\d+ passing\b|\d+ failing\b|\d+ pending\b",
    "node": r"[#ℹ] (?:tests|pass|fail|cancelled|skipped|todo) \d",
    "tap": r"# (?:tests|pass|fail|skip) +\d|not ok \d|Failed \d+/\d+ (?:sub)?tests",
    "go test": r"FAIL(?:$|\t)|ok  ?\t|--- FAIL: |DONE \d+ tests",
    "cargo test": r"test result: ",
    "nextest": r"Summary \[",
    "dotnet": r"(?:Failed|Passed)!  ?- |Total tests: \d|(?:Passed|Failed): +\d",
    "junit": r"(?:\[(?:ERROR|INFO|WARNING)\] +)?Tests run: \d|\d+ tests completed, \d|BUILD ",
    "rspec": r"\d+ examples?, \d+ failures?",
    "minitest": r"\d+ (?:runs|tests), \d+ assertions, \d+ failures",
    "phpunit": r"OK \(\d|Tests: +\d|No tests executed!",
    "bun": r"\d+ (?:pass|fail|skip|todo)$|Ran \d+ tests? across ",
    "playwright": r"\d+ (?:failed|flaky|skipped|did not run)\b|\d+ passed \(|Error: No tests",
    "ctest": r"\d+% tests passed, \d+ tests failed",
    "deno test": r"(?:ok|FAILED) \| \d",
    "mix test": r"\d+ (?:doctests?, \d+ )?tests?, \d+ failures?",
    "cypress run": r"[✔✖] +\d+ of \d+ failed|[✔✖] +All specs passed",
    # Linters, type checkers, formatters, builds
    "ruff check": r"Found \d+ errors?|All checks passed",
    "mypy": r"Found \d+ errors? in |Success: no issues found",
    "pyright": r"\d+ errors?, \d+ warnings?",
    "tsc": r"Found \d+ errors?|.{1,200}\berror TS\d",
    "eslint": r"✖ \d+ problems? \(",
    "cargo": r"error(?:\[E\d+\])?: |Finished ",
    "dotnet build": r"\d+ Error\(s\)|Build (?:FAILED|succeeded)",
    "flake8": r"\S+:\d+:\d+: [A-Z]\d+ ",
    "black": r"(?:Oh no!|\d+ files? would be reformatted)|All done!",
    "ruff format": r"\d+ files? (?:would be reformatted|already formatted)",
    "prettier": r"\[(?:warn|error)\] |All matched files use Prettier",
    "rubocop": r"\d+ files? inspected, ",
    "pre-commit": r".{1,120}\.{3}(?:\([^)]{1,60}\))?(?:Passed|Failed)$",
    # What other programs print where nothing is wrong: it shows that one ran.
    "other tests": (
        r"\d+ (?:specs?|tests), 0 failures|TOTAL: \d+ SUCCESS|Executed \d+ of \d+ .{0,60}SUCCESS"
        r"|All tests successful|Result: PASS$|Executed \d+ tests?, with 0 failures"
        r"|(?:🎉 \d+|All(?: \d+)?) tests? passed|\d+ tests? passed$|\[  PASSED  \] \d"
        r"|0 failures, 0 errors|Executed \d+ out of \d+ tests?: \d+ tests? pass"
        r"|\[info\] (?:Passed: Total \d+, Failed 0|Tests: succeeded \d+, failed 0)"
        r"|\d+ scenarios? passed, 0 failed|\d+ tests?, \d+ passed, 0 failed"
    ),
    "other linters": (
        r"0 issues\.|Your code has been rated at|Checked \d+ files? in"
        r"|Found 0 warnings and 0 errors"
    ),
    "other checkers": r"svelte-check found 0 errors|No type errors found|All checks passed",
    "other builds": (
        r"✓ built in |(?:✓ )?[Cc]ompiled successfully|webpack [\d.]+ compiled successfully"
        r"|created .{1,100} in \d|Successfully built |⚡ Done in |\[INFO\] BUILD SUCCESS"
        r"|BUILD SUCCESSFUL"
    ),
    "coverage": r"TOTAL +\d.*%|All files +\|",
    "audit": r"found 0 vulnerabilities|No (?:known )?vulnerabilities found",
}
_FAILED: Final = {
    "unittest": r"FAILED \(",
    "dotnet": r"Failed!",
    "deno test": r"FAILED \|",
    "cargo test": r"test result: FAILED",
    "go test": r"(?:FAIL(?:$|\t)|--- FAIL: )",
    "junit": r"BUILD FAIL",
    "tap": r"(?:not ok \d|Failed \d+/)",
    "tsc": r".{1,200}\berror TS\d",
    "cargo": r"error(?:\[E\d+\])?: ",
    "dotnet build": r"Build FAILED",
    "flake8": r"\S+:\d+:\d+: ",
    "black": r"(?:Oh no!|\d+ files? would)",
    "ruff format": r"\d+ files? would",
    "prettier": r"\[(?:warn|error)\] ",
    "ctest": r"\d+% tests passed, [1-9]",
    "cypress run": r"✖ ",
    "eslint": r"✖ \d+ problems? \([1-9]",
    "pre-commit": r".{1,120}\.{3}Failed$",
}
"""Lines that show a failure without a count."""

_OUTSIDE: Final = {
    "jest": r"Test Suites: +[1-9]\d* failed",
    "vitest": r"(?:Test Files  [1-9]\d* failed|Errors  [1-9]\d* error)",
}
"""Lines that show a failure outside of any test, of which no count and no result file has one."""

_NOTHING: Final = {
    "jest": "No tests found",
    "vitest": "No test files found",
    "phpunit": "No tests executed",
    "unittest": "NO TESTS RAN",
}
_NAMES: Final = (
    r"(?:FAILED|ERROR) ([^\s:]+::\S+)",
    r"(?:FAIL|ERROR): (\w+) \(",
    r"--- FAIL: (\S+)",
    r"test (\S+) \.\.\. FAILED",
    r"FAIL \[[^\]]{1,40}\] +\S+ (\S+)",
    r"● (.{1,80})",
    r"FAIL  +(\S+ > .{1,80})",
    r"not ok \d+ -? ?(.{1,80})",
    r"✖ (\S.{0,80}) \(\d",
    r"rspec (\S+:\d+) #",
    r"\d+\) ([A-Z]\w+(?:::|\\)\S+)",
)
_TESTS: Final = (
    "pytest",
    "unittest",
    "jest",
    "vitest",
    "mocha",
    "node",
    "tap",
    "go test",
    "cargo test",
    "nextest",
    "dotnet",
    "junit",
    "rspec",
    "minitest",
    "phpunit",
    "bun",
    "playwright",
    "ctest",
    "deno test",
    "mix test",
    "other tests",
)
_FAMILIES: Final = {
    "tests": _TESTS,
    "lint": ("ruff check", "eslint", "rubocop", "flake8", "other linters"),
    "typecheck": ("mypy", "pyright", "tsc", "other checkers"),
    "format": ("black", "ruff format", "prettier"),
    "build": ("tsc", "dotnet build", "cargo", "other builds"),
    "coverage": ("coverage",),
    "audit": ("audit",),
}
"""Where a script hides the program, those of its kind."""


class Summary(NamedTuple):
    """What a program's summary says; `failure` is the part that shows a failure, None if none.

    `seen` is whether there is a summary at all. `names` are those of what failed, at most 20.
    `outside` is whether only something outside of any test failed, such as a file to load.
    """

    seen: bool
    result: CheckResult
    failure: str | None
    nothing_ran: bool
    names: tuple[str, ...]
    outside: bool


def summary_of(output: str, family: str, kind: str) -> Summary:
    """Return what the summary in `output` says, in the form of `family`.

    A family that is not known stands for all of the `kind`. Linear in the output.
    """
    known = family in _SUMMARIES or family == "pytest"
    families = (family,) if known else _FAMILIES.get(kind, ())
    # Runners print their summary last; what stands before it is output of the tests themselves.
    text = output[-SUMMARY_CHARACTERS:]
    text = _COLOURS.sub("", text) if "\x1b" in text else text
    patterns = [f"(?:{_SUMMARIES[each]})" for each in families if each in _SUMMARIES]
    may_fit = _compiled("|".join(patterns) or r"(?!)")

    lines: list[str] = []
    names: dict[str, None] = {}
    failed: str | None = None
    nothing = False
    for line in (each[:_LINE_CHARACTERS].strip() for each in text.splitlines()):
        if not line:
            continue

        # Names of failed tests begin with few marks, and most lines are compared with none of the
        # forms.
        if kind == "tests" and (line[0] in "0123456789" or line.startswith(_BEFORE_NAMES)):
            for name in _names_in(line):
                names.setdefault(name)

        # One pattern for all families first: most lines are not a summary.
        if may_fit.match(line) is None and not ("pytest" in families and " in " in line):
            continue

        for each in families:
            if not (_is_pytest if each == "pytest" else _compiled(_SUMMARIES[each]).match)(line):
                continue

            # "100% tests passed, 0 tests failed out of 12": the percentage does not count tests.
            share, found, rest = line.partition("% tests passed, ")
            lines.append(rest if found and share.isdecimal() else line)

            if failed is None and each in _FAILED and _compiled(_FAILED[each]).match(line):
                failed = line[:_NAME_CHARACTERS]

            nothing = nothing or (each in _NOTHING and line.startswith(_NOTHING[each]))
            break

    # One package of several may have no tests.
    with_tests = [line for line in lines if "[no tests to run]" not in line] or lines
    result = parse_result("\n".join(with_tests[-_MOST_LINES:])) if lines else CheckResult()
    counted = result.failed or result.errors
    failure = result.failure if counted or failed is None else failed
    outside = _failure_outside(text, families) if failure is None else None
    failure = failure or outside

    return Summary(
        # Many programs end with this word; that of unittest stands below its count.
        seen=any(line != "OK" for line in lines),
        result=result,
        failure=failure,
        nothing_ran=bool(lines)
        and failure is None
        and (result.nothing_ran or nothing or _are_only_files(text, result.total)),
        names=tuple(names)[:_MOST_NAMES],
        outside=outside is not None,
    )


def _failure_outside(text: str, families: Sequence[str]) -> str | None:
    forms = "|".join(_OUTSIDE[each] for each in families if each in _OUTSIDE)
    found = _compiled(rf"(?m)^[ \t]*((?:{forms}).{{0,60}})").search(text) if forms else None
    return found and found[1]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled on use: most processes see one or two programs, and a hook has little time.
    return re.compile(pattern)


def _is_pytest(line: str) -> bool:
    """Return whether `line` is like `=== 2 failed, 10 passed in 0.12s ===`."""
    counts, found, time = line.strip("= ").partition(" in ")
    if not found or not time[:1].isdigit() or "s" not in time:
        return False
    if counts == "no tests ran" or _compiled(_COLLECTED).match(counts):
        return True

    # Parts of tests are counted apart: "3 passed, 2 subtests passed".
    pieces = counts.replace(" subtests ", " ").replace(" subtest ", " ").split(", ")
    return all(
        len(words := piece.split()) == _COUNT_AND_STATE
        and words[0].isdecimal()
        and words[1].isalpha()
        for piece in pieces
    )


def _are_only_files(text: str, tests: int | None) -> bool:
    """Return whether all `tests` that node counted are files without a test.

    It counts such a file as a test with the name of the file and the time of its process. A test
    that bears this name takes less time than a process needs to start.
    """
    # A suite may be called like its file as well.
    if tests is None or _compiled(_SUITES_OF_NODE).search(text):
        return False

    points = _compiled(_FILE_OF_NODE).finditer(text)
    files = [each for each in points if float(each[2] or each[4]) >= _PROCESS_MS]
    return bool(files) and len(files) == tests


def _names_in(line: str) -> Iterator[str]:
    for form in _NAMES:
        found = _compiled(form).match(line)
        if found is not None:
            yield found[1].strip()[:_NAME_CHARACTERS]
            return
