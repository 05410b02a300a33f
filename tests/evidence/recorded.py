"""The recorded transcripts of real hosts, each with the truth about it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goop_mcp.evidence.activity import AgentActivity
from goop_mcp.evidence.readers.claude_code import read_claude_code
from goop_mcp.evidence.readers.codex import read_codex
from goop_mcp.evidence.readers.opencode import read_opencode_export
from tests.repository import ROOT

__all__ = ["CASES", "RECORDED", "Recorded", "recorded"]

CASES = ROOT / "tests" / "cases" / "transcripts"


@dataclass(frozen=True, slots=True)
class Recorded:
    """One transcript. `truth` comes from the script of the scene, not from the transcript.

    `version` is "" for the pinned version of the host.
    """

    host: str
    version: str
    name: str
    file: Path

    @property
    def id(self) -> str:
        """The name of its test."""
        return "-".join(filter(None, (self.host, self.version, self.name)))

    @property
    def truth(self) -> dict[str, Any]:
        value = json.loads(self.file.with_suffix(".truth.json").read_text(encoding="utf-8"))
        assert isinstance(value, dict)
        return value

    @property
    def report(self) -> str | None:
        report: str | None = self.truth["report"]
        return report

    def read(self) -> AgentActivity:
        """Read it with the reader of its host."""
        content = self.file.read_bytes()
        if self.host == "opencode":
            return read_opencode_export(content, report=self.report)
        if self.host == "codex":
            return read_codex(content, report=self.report)
        return read_claude_code(content, report=self.report)


def _found() -> Iterator[Recorded]:
    for file in sorted(CASES.glob("**/*.json*")):
        if not file.name.endswith(".truth.json"):
            host, *version = file.relative_to(CASES).parent.parts
            yield Recorded(host, "".join(version), file.stem, file)


RECORDED = list(_found())


def recorded(name: str, host: str = "claude-code") -> Recorded:
    """Return the transcript of this scene by the pinned version of the host."""
    return next(
        each for each in RECORDED if (each.host, each.version, each.name) == (host, "", name)
    )
