"""Put our server to the conformance suite of the protocol, and show what became of each scenario.

Exit code 1 when a scenario that counts fails, or when there are not as many as there should be; 77
when nothing could be tested, as without npm.
"""

import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.npm import Installation
from tests.repository import NOT_TESTED
from tests.server.http.serving import served

_PACKAGE: Final = "@modelcontextprotocol/conformance"
_SUITE: Final = Installation("conformance", {_PACKAGE: "0.2.0-alpha.12"})
_SCORED: Final = {"2025-11-25": 30, "2026-07-28": 37}
"""How many scenarios count, by the revision of the protocol whose requirements they are."""

_LONGEST_RUN: Final = 300
_SCENARIO: Final = re.compile(
    r"^(?P<mark>[✓✗]) (?P<name>\S+): (?P<passed>\d+) passed, (?P<failed>\d+) failed", re.M
)
_NOT_SCORED: Final = re.compile(r"^  [✓✗] (\S+) \(([\w-]+)\)", re.M)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one scenario. `why_not_scored` is empty where it counts."""

    passed: int
    failed: int
    succeeded: bool
    why_not_scored: str

    def __str__(self) -> str:
        """Return it as a cell of the table."""
        total = self.passed + self.failed
        if self.why_not_scored:
            return f"{self.passed} of {total} ({self.why_not_scored}, does not count)"
        return f"{self.passed} of {total}" if self.succeeded else f"{self.passed} of {total} FAILED"


def main() -> int:
    """Install the suite, run it for both revisions against one server and print a table."""
    if reason := _SUITE.install():
        print(f"not tested: {reason}", file=sys.stderr)
        return NOT_TESTED

    with tempfile.TemporaryDirectory(prefix="goop-conformance-") as folder:
        place = Path(folder)
        # The limits stay on; this one is never met.
        options = ("--transport", "streamable-http", "--rate-limit", "100000")
        with served(*options, project=place, program="tests.conformance.fixture") as server:
            outcomes = {revision: _run(server.mcp, revision, place) for revision in _SCORED}

    _print_table(outcomes)
    scores = [_score(revision, found) for revision, found in outcomes.items()]

    return 0 if all(scores) else 1


def _run(url: str, revision: str, place: Path) -> dict[str, Outcome]:
    """Return the outcome of each scenario by its name.

    Raises RuntimeError when the suite says nothing.
    """
    program = _SUITE.file(_PACKAGE, "dist/index.js")
    ended = subprocess.run(
        [
            _SUITE.node,
            program,
            "server",
            "--url",
            url,
            "--requirements",
            revision,
            "-o",
            place / revision,
        ],
        cwd=place,
        env=_SUITE.environment(place),
        check=False,
        capture_output=True,
        encoding="utf-8",
        timeout=_LONGEST_RUN,
    )
    not_scored = {found[1]: found[2] for found in _NOT_SCORED.finditer(ended.stdout)}
    outcomes = {
        each["name"]: Outcome(
            int(each["passed"]),
            int(each["failed"]),
            each["mark"] == "✓",
            not_scored.get(each["name"], ""),
        )
        for each in _SCENARIO.finditer(ended.stdout)
    }
    if not outcomes:
        raise RuntimeError(
            f"the suite ended with {ended.returncode}: {(ended.stderr or ended.stdout)[-1000:]}"
        )

    return outcomes


def _print_table(outcomes: dict[str, dict[str, Outcome]]) -> None:
    names = dict.fromkeys(name for found in outcomes.values() for name in found)
    rows = [[name, *(str(found.get(name, "")) for found in outcomes.values())] for name in names]
    for row in [["scenario (checks passed)", *outcomes], *rows]:
        print("  ".join(cell.ljust(46) for cell in row).rstrip())
    print()


def _score(revision: str, outcomes: dict[str, Outcome]) -> bool:
    scored = [outcome for outcome in outcomes.values() if not outcome.why_not_scored]
    passed = sum(outcome.succeeded for outcome in scored)
    print(
        f"{revision}: {passed} of {len(scored)} scored scenarios passed; {_SCORED[revision]} are"
        " expected"
    )
    return passed == len(scored) == _SCORED[revision]


if __name__ == "__main__":
    sys.exit(main())
