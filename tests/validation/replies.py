"""Whole replies that tests start from, and short ways to change and judge them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from goop_mcp import Finding, Severity, Verdict, validate
from goop_mcp.protocols.goop_report.model import Report
from goop_mcp.validation.findings import Mode

CASES = Path(__file__).parent.parent / "cases"
MODES: tuple[Mode, Mode] = ("lenient", "strict")


@dataclass(frozen=True, slots=True)
class Case:
    """One reply of `tests/cases/index.jsonl`.

    `rules` are its warnings and errors, `expected` the outcome by mode.
    """

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


def load_cases() -> list[Case]:
    """Return every case of the index, in order."""
    lines = (CASES / "index.jsonl").read_text(encoding="utf-8").splitlines()
    return [Case(**json.loads(line)) for line in lines]


EXECUTOR = read_case("goop_report/016_executor_complete.xml").strip()
PLANNER = read_case("goop_report/016_planner_complete.xml").strip()
BLOCKED = read_case("goop_report/016_executor_blocked.xml").strip()
TEMPLATE = read_case("goop_report/016_template.xml").strip()
SUMMARY = "Implemented JWT-based authentication with login/logout endpoints and middleware."
REQUIRED_PARTS = ("status", "agent", "phase", "state", "summary", "handoff")
DRAFT = (
    EXECUTOR.replace(SUMMARY, "Only a draft.")
    .replace("W2.T3", "W1.T1")
    .replace('current="3"', 'current="1"')
)


def changed(text: str, *edits: tuple[str, str]) -> str:
    """Return `text` with each (old, new) carried out; each `old` must stand in it exactly once."""
    for old, new in edits:
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times"
        text = text.replace(old, new)
    return text


def fenced(envelope: str, *, info: str = "xml", fence: str = "```") -> str:
    """Return a reply with one line of prose and `envelope` in a fence."""
    return f"The work is done.\n\n{fence}{info}\n{envelope}\n{fence}\n"


def judge(text: str, mode: Mode = "lenient") -> Verdict:
    """Return the verdict on `text` as a goop_report."""
    return validate(text, protocol="goop_report", mode=mode)


def judge_both(text: str) -> tuple[Verdict, Verdict]:
    """Return the verdicts of both modes, lenient first; both must have the same findings (D-18)."""
    lenient, strict = (judge(text, mode) for mode in MODES)
    assert sorted(f.rule for f in lenient.findings) == sorted(f.rule for f in strict.findings)
    return lenient, strict


def report_of(verdict: Verdict) -> Report:
    """Return the typed report of a verdict that has one."""
    assert isinstance(verdict.envelope, Report)
    return verdict.envelope


def weighty_rules(verdict: Verdict) -> set[str]:
    """Return the rules of the warnings and errors."""
    return {finding.rule for finding in verdict.findings if finding.severity is not Severity.INFO}


def rules_of(verdict: Verdict, severity: Severity) -> set[str]:
    """Return the rules of one severity."""
    return {finding.rule for finding in verdict.of_severity(severity)}


def the_finding(verdict: Verdict, rule: str) -> Finding:
    """Return the only finding of `rule`."""
    (finding,) = [finding for finding in verdict.findings if finding.rule == rule]
    return finding


def only_root_is_open(cut: str) -> bool:
    """Return whether `cut` has every required part and only its root is not closed."""
    if not cut.rstrip().endswith(">") or cut.rstrip().endswith("?>"):
        return False

    depth = 0
    for tag in re.finditer(r"<(/?)[\w]+[^<>]*?(/?)>", re.sub(r"<!--.*?-->", "", cut)):
        depth += 0 if tag[2] else -1 if tag[1] else 1

    unfinished = cut.rfind("<") > cut.rfind(">")

    return depth == 1 and not unfinished and all(f"</{name}>" in cut for name in REQUIRED_PARTS)
