"""A transcript of more than 16 MB is read from its end, and is never a complete history."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from goop_mcp import validate
from goop_mcp.evidence import AgentActivity
from goop_mcp.services.transcripts import read_activity
from goop_mcp.validation.verdict import Requirement, Verdict
from tests.evidence.recorded import recorded

RECORD = recorded("passed")
LINES: list[dict[str, Any]] = [
    json.loads(line) for line in RECORD.file.read_text(encoding="utf-8").splitlines()
]
REPORT = RECORD.report or ""
MOST = 16 * 1024 * 1024
ASKED = LINES[0]
CALLED, ANSWERED = (
    next(each for each in LINES if word in json.dumps(each))
    for word in ('"type": "tool_use"', '"type": "tool_result"')
)
PASSED, FAILED = ("pytest -q", 0, "2 passed in 0.02s"), ("pytest -q", 1, "2 failed in 0.02s")
FILLER = ("cat notes.txt", 0, "a line of notes\n" * 250)

Command = tuple[str, int, str]


def lines_of(number: int, command: Command) -> list[str]:
    """Return a call and its result, as the host writes them."""
    line, status, output = command
    called, answered = json.loads(json.dumps(CALLED)), json.loads(json.dumps(ANSWERED))
    called["message"]["content"][0] |= {"id": f"t{number}", "input": {"command": line}}
    result = answered["message"]["content"][0]
    result |= {"tool_use_id": f"t{number}", "is_error": status != 0}
    result["content"] = f"Exit code {status}\n{output}" if status else output
    return [json.dumps(called), json.dumps(answered)]


def long_file(folder: Path, *, before: list[Command], after: list[Command], size: int) -> Path:
    """Write a transcript of at least `size` bytes, with commands at its beginning and end."""
    parts = [json.dumps(ASKED)]
    for number, command in enumerate(before):
        parts += lines_of(number, command)
    filler = lines_of(0, FILLER)
    each = sum(map(len, filler))
    for number in range(1000, 1000 + size // each + 1):
        parts += [text.replace('"t0"', f'"t{number}"') for text in filler]
    for number, command in enumerate(after, 100):
        parts += lines_of(number, command)
    file = folder / "agent-1.jsonl"
    file.write_text("\n".join([*parts, json.dumps(LINES[-1])]) + "\n", encoding="utf-8")
    return file


def judged(file: Path, require: Requirement = "readable") -> tuple[AgentActivity, Verdict]:
    activity = read_activity(str(file), REPORT)
    assert not activity.complete
    assert activity.why_incomplete == "only the end of the transcript was read"
    verdict = validate(REPORT, protocol="goop_report", evidence=activity, require=require)
    return activity, verdict


def raised(verdict: Verdict) -> set[str]:
    return {each.rule for each in verdict.findings if each.severity != "info"}


def tier(verdict: Verdict) -> str:
    return next(each.tier for each in verdict.evidence if each.claim.startswith("check"))


def test_what_its_end_shows_counts(tmp_path: Path) -> None:
    _, verdict = judged(long_file(tmp_path, before=[], after=[PASSED], size=MOST))
    assert verdict.accepted
    assert tier(verdict) == "observed"
    assert "only in part" in next(
        each.message for each in verdict.findings if each.rule == "evidence/not-checked"
    )
    assert validate(REPORT, evidence=judged(tmp_path / "agent-1.jsonl")[0]).accepted


def test_a_failure_after_which_nothing_ran_contradicts_the_report(tmp_path: Path) -> None:
    file = long_file(tmp_path, before=[PASSED], after=[FAILED], size=MOST)
    _, verdict = judged(file)
    assert raised(verdict) == {"evidence/check-failed"}
    # The whole file is no other.
    assert "evidence/check-failed" in raised(
        validate(
            REPORT,
            protocol="goop_report",
            evidence=AgentActivity(host="x", complete=True, commands=judged(file)[0].commands),
        )
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # What is missing may have been the run.
        ([PASSED], []),
        ([], []),
        ([], [("ls", 0, "")]),
        ([], [("echo '2 passed'", 0, "2 passed")]),
        ([], [("pytest --version", 0, "pytest 9")]),
        ([], [("pytest -q", 127, "pytest: not found")]),
        ([], [("pytest -q", 137, "")]),
        # Its counts may be those of a run that is missing.
        ([], [("pytest -q tests/one", 0, "1 passed in 0.1s")]),
        # It may be one on other files, or in another folder.
        ([], [("cd ../base && pytest -q", 1, "2 failed in 0.1s")]),
        ([], [FAILED, ("git stash pop", 0, "")]),
        # It was possibly run again.
        ([], [FAILED, ("./run_tests.sh", 0, "")]),
        ([], [FAILED, ("pytest -q | tail", 0, "2 passed in 0.1s")]),
        # Another program than the one that the check names.
        ([], [("npx jest", 1, "Tests: 1 failed, 1 total")]),
    ],
    ids=lambda commands: " then ".join(each[0] for each in commands) or "nothing",
)
def test_nothing_that_needs_the_beginning_accuses(
    tmp_path: Path, before: list[Command], after: list[Command]
) -> None:
    _, verdict = judged(long_file(tmp_path, before=before, after=after, size=MOST))
    assert verdict.accepted
    assert raised(verdict) == set()


def test_time_and_memory_do_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for size in (MOST, 3 * MOST):
        file = long_file(tmp_path, before=[], after=[FAILED], size=size)
        tracemalloc.start()
        activity = read_activity(str(file), REPORT)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert activity.to_report
        assert len(activity.commands) <= 1000
    assert peaks[1] < peaks[0] * 1.2


def test_one_line_that_is_longer_than_what_is_read_accuses_nobody(tmp_path: Path) -> None:
    file = tmp_path / "agent-1.jsonl"
    line = json.dumps({**LINES[-1], "padding": "x" * (MOST + 10)})
    file.write_text(f"{json.dumps(ASKED)}\n{line}\n", encoding="utf-8")
    activity = read_activity(str(file), REPORT)
    assert not activity.complete
    assert not activity.to_report
    assert validate(REPORT, protocol="goop_report", evidence=activity).accepted
