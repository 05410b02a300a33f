"""Whole prompts that tests start from, and short ways to change and judge them."""

import json
from dataclasses import dataclass
from pathlib import Path

from goop_mcp import Expectations, Finding, Severity, Verdict
from goop_mcp.protocols.agent_request import AGENT_REQUEST, Request
from goop_mcp.validation import pipeline
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.samples import REQUEST_PROMPT

__all__ = [
    "CASES",
    "MODES",
    "PROMPT",
    "Case",
    "changed",
    "judge",
    "judge_both",
    "load_cases",
    "read_case",
    "request_of",
    "rules_of",
    "the_finding",
    "weighty_rules",
]

CASES = Path(__file__).parent.parent.parent / "cases" / "agent_request"
MODES: tuple[Mode, Mode] = ("lenient", "strict")
PROMPT = REQUEST_PROMPT


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt of the index with its `rules` (warnings, errors) and `expected` outcomes."""

    file: str
    protocol: str
    source: str
    why: str
    expected: dict[Mode, str]
    rules: list[str]

    @property
    def text(self) -> str:
        """The prompt, byte for byte."""
        return read_case(Path(self.file).stem)


def load_cases() -> list[Case]:
    """Return every case of the index, in order."""
    lines = (CASES / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


def read_case(name: str) -> str:
    """Return the prompt `name` with its own line ends."""
    return (CASES / f"{name}.md").read_bytes().decode("utf-8")


def changed(text: str, *edits: tuple[str, str]) -> str:
    """Return `text` with each (old, new) carried out; each `old` must stand in it exactly once."""
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    return text


def judge(text: str, mode: Mode = "lenient", *, expected: Expectations | None = None) -> Verdict:
    """Return the verdict on `text` as an agent_request."""
    return pipeline.validate(
        text, (AGENT_REQUEST,), protocol="agent_request", mode=mode, expected=expected
    )


def judge_both(text: str, *, expected: Expectations | None = None) -> tuple[Verdict, Verdict]:
    """Return the verdicts of both modes, lenient first; both must have seen the same (D-18)."""
    lenient, strict = (judge(text, mode, expected=expected) for mode in MODES)
    assert rules_of(lenient) == rules_of(strict)
    return lenient, strict


def request_of(verdict: Verdict) -> Request:
    """Return the typed request of a verdict that has one."""
    assert isinstance(verdict.envelope, Request)
    return verdict.envelope


def weighty_rules(verdict: Verdict) -> set[str]:
    """Return the rules of the warnings and errors."""
    return {finding.rule for finding in verdict.findings if finding.severity is not Severity.INFO}


def rules_of(verdict: Verdict) -> list[str]:
    """Return the rules of all findings, sorted."""
    return sorted(finding.rule for finding in verdict.findings)


def the_finding(verdict: Verdict, rule: str) -> Finding:
    """Return the only finding of `rule`."""
    (finding,) = [finding for finding in verdict.findings if finding.rule == rule]
    return finding
