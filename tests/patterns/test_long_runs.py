"""No pattern of the package takes long over a text, whatever the text is made of."""

import subprocess
import sys

from tests.repository import ROOT

PATIENCE = 1_200


def try_patterns(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Try patterns in a process that the system kills when it uses too much processor time."""
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "tests.patterns.long_runs", *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        timeout=PATIENCE,
    )


def test_every_pattern_takes_linear_time_over_long_runs_of_its_own_characters() -> None:
    tried = try_patterns()

    lines = tried.stdout.splitlines()
    assert lines[-1:] == ["ALL TRIED"], f"never ended: {lines[-1:]} {tried.stderr[-2000:]}"
    assert len({line.split(" on ")[0] for line in lines}) > 200
    assert [line for line in lines if line.startswith("SLOW")] == []


def test_a_pattern_that_takes_exponential_time_is_named_and_killed() -> None:
    tried = try_patterns("--limit", "2", "--pattern", r"^[ \t]*(?:[#>*_]+[ \t]*)*Done")

    assert tried.returncode < 0
    assert "(?:[#>*_]+[ \\\\t]*)*Done' on '#####" in tried.stdout.splitlines()[-1]


def test_a_pattern_that_takes_quadratic_time_is_named() -> None:
    tried = try_patterns("--pattern", r"W\d\s*\.?\s*T")

    assert tried.stdout.splitlines()[-1] == "ALL TRIED"
    assert any(line.startswith("SLOW") for line in tried.stdout.splitlines())
