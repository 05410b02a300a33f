"""The recorded transcripts of real hosts, each with the truth about it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.readers.claude_code import read_claude_code
from goop_mcp.evidence.readers.codex import read_codex
from goop_mcp.evidence.readers.opencode import read_opencode_export
from tests.repository import ROOT

__all__ = ["RECORDED", "Recorded", "recorded"]

CASES = ROOT / "tests" / "cases" / "transcripts"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One transcript. `truth` comes from the script of the scene, not from the transcript."""

    host: str
    name: str
    file: Path

    @property
    def truth(self) -> dict[str, Any]:
        value = json.loads(self.file.with_suffix(".truth.json").read_text(encoding="utf-8"))
        assert isinstance(value, dict)
        return value

    @property
    def report(self) -> str | None:
        report: str | None = self.truth["report"]
        return report

    def read(self, *, any_version: bool = False) -> AgentActivity:
        """Read it with the reader of its host."""
        content = self.file.read_bytes()
        if self.host == "opencode":
            return read_opencode_export(content, report=self.report)
        if self.host == "codex":
            return read_codex(content, report=self.report, any_version=any_version)
        return read_claude_code(content, report=self.report, any_version=any_version)


RECORDED = [
    Recorded(file.parent.name, file.stem, file)
    for file in sorted(CASES.glob("*/*.json*"))
    if not file.name.endswith(".truth.json")
]


def recorded(name: str, host: str = "claude-code") -> Recorded:
    """Return the transcript of this scene."""
    return next(each for each in RECORDED if (each.host, each.name) == (host, name))
