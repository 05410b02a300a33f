"""What a program's own summary says about its run, and the names of what failed.

Only lines in the form that the program prints at its end count. The rest of an output may speak of
anything: a log of failed logins, a quoted older run, another program of the same line.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from goop_mcp.validation.check_texts import CheckResult, parse_result

__all__ = ["Summary", "summary_of"]

_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_LINE_CHARACTERS = 300
_MOST_LINES = 400
_MOST_NAMES = 20
_NAME_CHARACTERS = 80


def _forms(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


# Each pattern is matched from the beginning of a line without blanks at its ends.
_SUMMARIES: Final = {
    "unittest": _forms(r"Ran \d+ tests? in ", r"FAILED \(", r"OK(?: \(|$)", r"NO TESTS RAN"),
    "jest": _forms(r"Tests: +\d", r"No tests found"),
    "vitest": _forms(r"Tests  +\S", r"No test files found"),
    "mocha": _forms(r"\d+ passing\b", r"\d+ failing\b", r"\d+ pending\b"),
    "node": _forms(r"[#ℹ] (?:tests|pass|fail|cancelled|skipped|todo) \d"),
    "tap": _forms(r"# (?:tests|pass|fail|skip) +\d", r"not ok \d", r"Failed \d+/\d+ (?:sub)?tests"),
    "go test": _forms(r"FAIL(?:$|\t)", r"ok  ?\t", r"--- FAIL: ", r"DONE \d+ tests"),
    "cargo test": _forms(r"test result: "),
    "nextest": _forms(r"Summary \["),
    "dotnet": _forms(r"(?:Failed|Passed)!  ?- ", r"Total tests: \d", r"(?:Passed|Failed): +\d"),
    "junit": _forms(
        r"(?:\[(?:ERROR|INFO|WARNING)\] +)?Tests run: \d", r"\d+ tests completed, \d", r"BUILD "
    ),
    "rspec": _forms(r"\d+ examples?, \d+ failures?"),
    "minitest": _forms(r"\d+ (?:runs|tests), \d+ assertions, \d+ failures"),
    "phpunit": _forms(r"OK \(\d", r"Tests: +\d", r"No tests executed!"),
    "bun": _forms(r"\d+ (?:pass|fail|skip|todo)$", r"Ran \d+ tests? across "),
    "playwright": _forms(r"\d+ (?:passed|failed|flaky|skipped|did not run)\b", r"Error: No tests"),
    "ctest": _forms(r"\d+% tests passed, \d+ tests failed"),
    "deno test": _forms(r"(?:ok|FAILED) \| \d"),
    "mix test": _forms(r"\d+ (?:doctests?, \d+ )?tests?, \d+ failures?"),
    "cypress run": _forms(r"[✔✖] +\d+ of \d+ failed", r"[✔✖] +All specs passed"),
    # Linters, type checkers, formatters, builds
    "ruff check": _forms(r"Found \d+ errors?", r"All checks passed"),
    "mypy": _forms(r"Found \d+ errors? in ", r"Success: no issues found"),
    "pyright": _forms(r"\d+ errors?, \d+ warnings?"),
    "tsc": _forms(r"Found \d+ errors?", r".{1,200}\berror TS\d"),
    "eslint": _forms(r"✖ \d+ problems? \("),
    "cargo": _forms(r"error(?:\[E\d+\])?: ", r"Finished "),
    "dotnet build": _forms(r"\d+ Error\(s\)", r"Build (?:FAILED|succeeded)"),
    "flake8": _forms(r"\S+:\d+:\d+: [A-Z]\d+ "),
    "black": _forms(r"(?:Oh no!|\d+ files? would be reformatted)", r"All done!"),
    "ruff format": _forms(r"\d+ files? (?:would be reformatted|already formatted)"),
    "prettier": _forms(r"\[(?:warn|error)\] ", r"All matched files use Prettier"),
    "rubocop": _forms(r"\d+ files? inspected, "),
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
}
"""Lines that show a failure without a count."""

_FAILED_FORMS = {family: re.compile(pattern) for family, pattern in _FAILED.items()}
_NOTHING: Final = {
    "jest": "No tests found",
    "vitest": "No test files found",
    "phpunit": "No tests executed",
    "unittest": "NO TESTS RAN",
}
_NAMES: Final = _forms(
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
)
_FAMILIES: Final = {
    "tests": _TESTS,
    "lint": ("ruff check", "eslint", "rubocop", "flake8"),
    "typecheck": ("mypy", "pyright", "tsc"),
    "format": ("black", "ruff format", "prettier"),
    "build": ("tsc", "dotnet build", "cargo"),
}
"""Where a script hides the program, those of its kind."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a program's summary says; `failure` is the part that shows a failure, None if none.

    `seen` is whether there is a summary at all. `names` are those of what failed, at most 20.
    """

    seen: bool
    result: CheckResult
    failure: str | None
    nothing_ran: bool
    names: tuple[str, ...]


def summary_of(output: str, family: str, kind: str) -> Summary:
    """Return what the summary in `output` says, in the form of `family`.

    A family that is not known stands for all of the `kind`. Linear in the output.
    """
    known = family in _SUMMARIES or family == "pytest"
    families = (family,) if known else _FAMILIES.get(kind, ())
    text = _COLOURS.sub("", output) if "\x1b" in output else output

    lines: list[str] = []
    names: dict[str, None] = {}
    failed: str | None = None
    nothing = False
    for raw in text.splitlines():
        line = raw[:_LINE_CHARACTERS].strip()
        if not line:
            continue

        for each in families:
            if not (_is_pytest(line) if each == "pytest" else _fits(line, each)):
                continue

            lines.append(_without_counted_text(line))
            shows = _FAILED_FORMS.get(each)
            if failed is None and shows is not None and shows.match(line) is not None:
                failed = line[:_NAME_CHARACTERS]

            nothing = nothing or (each in _NOTHING and line.startswith(_NOTHING[each]))
            break

        if kind == "tests":
            for name in _names_in(line):
                names.setdefault(name)

    # One package of several may have no tests.
    with_tests = [line for line in lines if "[no tests to run]" not in line] or lines
    result = parse_result("\n".join(with_tests[-_MOST_LINES:])) if lines else CheckResult()
    counted = result.failed or result.errors
    failure = result.failure if counted or failed is None else failed

    return Summary(
        seen=bool(lines),
        result=result,
        failure=failure,
        nothing_ran=bool(lines) and failure is None and (result.nothing_ran or nothing),
        names=tuple(names)[:_MOST_NAMES],
    )


def _fits(line: str, family: str) -> bool:
    return any(form.match(line) is not None for form in _SUMMARIES[family])


def _is_pytest(line: str) -> bool:
    """Return whether `line` is like `=== 2 failed, 10 passed in 0.12s ===`."""
    counts, found, time = line.strip("= ").partition(" in ")
    if not found or not time[:1].isdigit() or "s" not in time:
        return False
    if counts == "no tests ran":
        return True

    pieces = counts.split(", ")
    return all(
        len(words := piece.split()) == 2 and words[0].isdecimal() and words[1].isalpha()  # noqa: PLR2004
        for piece in pieces
    )


def _without_counted_text(line: str) -> str:
    # "100% tests passed, 0 tests failed out of 12": the percentage is no number of tests.
    share, found, rest = line.partition("% tests passed, ")
    return rest if found and share.isdecimal() else line


def _names_in(line: str) -> Iterator[str]:
    for form in _NAMES:
        found = form.match(line)
        if found is not None:
            yield found[1].strip()[:_NAME_CHARACTERS]
            return
