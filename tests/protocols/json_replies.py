"""Judge replies of the JSON families, and read their cases."""

import json
from dataclasses import dataclass
from pathlib import Path

from goop_mcp import Expectations, Finding, Severity, Verdict
from goop_mcp.protocols.factory import FACTORY
from goop_mcp.protocols.speckit import SPECKIT
from goop_mcp.validation import families, pipeline
from goop_mcp.validation.findings import Mode

CASES = Path(__file__).parent.parent / "cases"
MODES: tuple[Mode, Mode] = ("lenient", "strict")
FAMILIES: dict[str, families.Family] = {"speckit": SPECKIT, "factory": FACTORY}


@dataclass(frozen=True, slots=True)
class JsonCase:
    """One reply of `tests/cases`; `rules` are its warnings and errors, `expected` the outcomes."""

    file: str
    protocol: str
    expected: dict[Mode, str]
    rules: list[str]
    why: str

    @property
    def text(self) -> str:
        """The reply, byte for byte."""
        return read_case(self.file)


def read_case(name: str) -> str:
    """Return the reply `name` with its own line ends."""
    return (CASES / name).read_bytes().decode("utf-8")


def load_cases(protocol: str) -> list[JsonCase]:
    """Return every case of `protocol`, in order."""
    lines = (CASES / protocol / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [JsonCase(**json.loads(line)) for line in lines]


def judge(
    text: str, protocol: str, mode: Mode = "lenient", expected: Expectations | None = None
) -> Verdict:
    """Return the verdict on `text` as a reply of `protocol`."""
    return pipeline.validate(
        text, (FAMILIES[protocol],), protocol=protocol, mode=mode, expected=expected
    )


def judge_both(
    text: str, protocol: str, expected: Expectations | None = None
) -> tuple[Verdict, Verdict]:
    """Return the verdicts of both modes, lenient first; both must have seen the same (D-18)."""
    lenient, strict = (judge(text, protocol, mode, expected) for mode in MODES)
    assert rules_of(lenient) == rules_of(strict)
    assert lenient.envelope == strict.envelope
    return lenient, strict


def outcome(verdict: Verdict) -> str:
    """Return how the index calls a verdict: valid, warnings or errors."""
    if not verdict.accepted:
        return "errors"
    return "warnings" if verdict.of_severity(Severity.WARNING) else "valid"


def rules_of(verdict: Verdict) -> list[str]:
    """Return the rules of all findings, sorted."""
    return sorted(finding.rule for finding in verdict.findings)


def weighty_rules(verdict: Verdict) -> set[str]:
    """Return the rules of the warnings and errors."""
    return {finding.rule for finding in verdict.findings if finding.severity is not Severity.INFO}


def the_finding(verdict: Verdict, rule: str) -> Finding:
    """Return the only finding of `rule`."""
    (finding,) = [finding for finding in verdict.findings if finding.rule == rule]
    return finding


def changed(text: str, *edits: tuple[str, str]) -> str:
    """Return `text` with each (old, new) carried out; each `old` must stand in it exactly once."""
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    return text
