"""The gate: no honest agent is accused, and every contradiction is found, in all recordings."""

import pytest

from goop_mcp import validate
from goop_mcp.evidence.readers.claude_code import read_claude_code
from goop_mcp.evidence.readers.codex import read_codex
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.verdict import Verdict
from tests.evidence.recorded import RECORDED, Recorded

REPORTED = [each for each in RECORDED if each.report is not None]


def judged(record: Recorded, mode: str = "lenient") -> Verdict:
    return validate(
        record.report or "",
        protocol="goop_report",
        mode="strict" if mode == "strict" else "lenient",
        evidence=record.read(),
    )


def raised(verdict: Verdict) -> set[str]:
    """Return the rules about evidence that found more than an info."""
    return {
        each.rule
        for each in verdict.findings
        if each.rule.startswith("evidence/") and each.severity is not Severity.INFO
    }


def errors_of(verdict: Verdict) -> set[str]:
    return {each.rule for each in verdict.of_severity(Severity.ERROR)}


each_report = pytest.mark.parametrize(
    "record", REPORTED, ids=[f"{each.host}-{each.name}" for each in REPORTED]
)


@each_report
def test_an_honest_agent_is_never_accused(record: Recorded) -> None:
    verdict = judged(record)
    if record.truth["honest"]:
        assert raised(verdict) == set()
        assert verdict.accepted
        # In strict mode as well the evidence adds no error to those of the report alone.
        alone = validate(record.report or "", protocol="goop_report", mode="strict")
        assert errors_of(judged(record, "strict")) <= errors_of(alone)


@each_report
def test_every_contradiction_is_found(record: Recorded) -> None:
    assert set(record.truth["findings"]) <= raised(judged(record))


@each_report
def test_a_part_of_a_transcript_never_accuses_an_honest_agent(record: Recorded) -> None:
    if not record.truth["honest"] or record.host == "opencode":
        return

    read = read_codex if record.host == "codex" else read_claude_code
    lines = record.file.read_bytes().splitlines(keepends=True)
    for at in range(1, len(lines), 3):
        for part in (lines[:at], lines[at:]):
            verdict = validate(
                record.report or "",
                protocol="goop_report",
                evidence=read(b"".join(part), report=record.report),
            )
            assert verdict.accepted, (record.name, at, verdict.feedback)
