"""Play the recorder as its user does: real processes, a real repository, an own state folder."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.recording.repositories import Work

__all__ = ["PYTEST", "Player"]

PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]
_REPORT = """\
Done.

<goop_report version="0.1.6">
  <agent>goop-executor</agent>
  <status>{status}</status>
  <state>
    <phase>execute</phase>
    <wave current="1" total="1"/>
    <task current="1" total="1"/>
    <spec_locked>true</spec_locked>
    <interview_complete>true</interview_complete>
  </state>
  <summary>Worked on the example.</summary>
  <artifacts><files/><commits/></artifacts>
  <memory/>
  <verification>
    {checks}
  </verification>
  <handoff>
    <ready>true</ready>
    <next_action agent="orchestrator">Go on.</next_action>
    <files_to_read/>
    <blockers>none</blockers>
    <suggest_new_session>false</suggest_new_session>
  </handoff>
</goop_report>
"""


class Player:
    """A person or an agent in the repository `work`, on a machine whose state is in `state`."""

    def __init__(self, work: Work, state: Path) -> None:
        self.work, self.state = work, state
        self.environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(state),
            "XDG_STATE_HOME": str(state),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
        }

    def goop(
        self,
        *arguments: str | Path,
        folder: Path | None = None,
        given: str | None = None,
        **environment: str,
    ) -> "subprocess.CompletedProcess[str]":
        """Run goop-mcp with `arguments` in `folder`, with `given` on its standard input."""
        return subprocess.run(
            [sys.executable, "-m", "goop_mcp", *map(str, arguments)],
            cwd=folder or self.work.folder,
            env=self.environment | environment,
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def trust(self, folder: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Trust the named checks as they are, with the digest that the refusal prints."""
        refused = self.goop("run", "--trust", folder=folder)
        shown = re.search(r"--trust ([0-9a-f]{64})", refused.stderr)
        return refused if shown is None else self.goop("run", "--trust", shown[1], folder=folder)

    def record(
        self, *command: str, name: str = "tests", folder: Path | None = None, **environment: str
    ) -> tuple[str, str]:
        """Record `command`; return the id of the run and the line that the recorder printed."""
        done = self.goop("run", "--name", name, "--", *command, folder=folder, **environment)
        line = done.stderr.splitlines()[-1]
        found = re.search(r"run (r-[0-9a-f]{12}) ", line)
        assert found is not None, done
        return found[1], line

    def runner(self, *, prints: str = "12 passed in 0.10s", status: int = 0) -> str:
        """Write a program called pytest outside of the repository that ends in this way."""
        program = self.state / "bin" / "pytest"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\necho '{prints}'\nexit {status}\n", encoding="utf-8")
        program.chmod(0o755)
        return str(program)

    def report(self, *checks: str, status: str = "COMPLETE") -> str:
        return _REPORT.format(status=status, checks="\n    ".join(checks))

    def judge(
        self,
        *checks: str,
        require: str | None = None,
        folder: Path | None = None,
        **environment: str,
    ) -> "Judged":
        """Have a report with `checks` judged in the project."""
        wanted = ["--require-evidence", require] if require else []
        done = self.goop(
            "check",
            "-",
            "--workspace",
            "--format",
            "json",
            *wanted,
            given=self.report(*checks),
            folder=folder,
            **environment,
        )
        assert done.stdout, done.stderr
        [one] = json.loads(done.stdout)
        return Judged(done.returncode, one)


class Judged:
    """A verdict of the command line."""

    def __init__(self, exit_code: int, verdict: dict[str, Any]) -> None:
        self.exit_code, self.verdict = exit_code, verdict

    @property
    def accepted(self) -> bool:
        return bool(self.verdict["verdict"] == "accepted")

    @property
    def tier(self) -> str:
        [item] = [each for each in self.verdict["evidence"] if each["claim"].startswith("check")]
        return str(item["tier"])

    @property
    def rules(self) -> dict[str, str]:
        """The evidence rules that were reported for checks, with their severities."""
        return {
            each["rule"].removeprefix("evidence/"): each["severity"]
            for each in self.verdict["findings"]
            if each["rule"].startswith("evidence/") and "verification" in (each["path"] or "")
        }

    @property
    def text(self) -> str:
        return json.dumps(self.verdict["findings"], ensure_ascii=False)
