"""Run the hook as the host does: a process an event, with the events that the host was seen to send."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.running import Ended, run

__all__ = ["BAD", "GOOD", "Answer", "Host"]

CASES = Path(__file__).parent.parent.parent / "cases" / "hosts" / "claude_code"
GOOD = (CASES / "good_report.md").read_text(encoding="utf-8")
BAD = "I did the work but forgot the envelope."


@dataclass(frozen=True, slots=True)
class Answer:
    """What the hook said: its JSON, {} for nothing, and its words on stderr."""

    ended: Ended

    @property
    def json(self) -> dict[str, object]:
        value = json.loads(self.ended.out or "{}")
        assert isinstance(value, dict)
        return value

    @property
    def reason(self) -> str:
        """The feedback for the agent; the test fails when the hook let it pass."""
        assert self.json["decision"] == "block", self.ended
        return str(self.json["reason"])

    @property
    def told(self) -> str:
        """What the person is told."""
        return str(self.json.get("systemMessage", ""))

    @property
    def context(self) -> str:
        """What the agent is told beforehand."""
        specific = self.json["hookSpecificOutput"]
        assert isinstance(specific, dict)
        return str(specific["additionalContext"])

    @property
    def passed(self) -> bool:
        return "decision" not in self.json


@dataclass(frozen=True, slots=True)
class Host:
    """A session in `project`; what the hook keeps lies in `data`.

    `options` stand in the command of the hook.
    """

    project: Path
    data: Path
    name: str = "claude-code"
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    def send(self, event: str, **changes: object) -> Answer:
        """Send the recorded `event` with `changes`; None takes a key away."""
        recorded = json.loads((CASES / f"{event}.json").read_text(encoding="utf-8"))
        values = {**recorded, "cwd": str(self.project), **changes}
        return self.send_raw(
            json.dumps({key: value for key, value in values.items() if value is not None}).encode()
        )

    def send_raw(self, content: bytes) -> Answer:
        """Send bytes; whatever they are, the process ends with 0."""
        environment = {
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_PLUGIN_DATA": str(self.data),
        }
        ended = run(
            "hook",
            self.name,
            *self.options,
            stdin=content,
            cwd=self.project,
            env={**environment, **self.environment},
        )
        assert ended.code == 0, ended.err

        return Answer(ended)

    def wish(self, **wishes: object) -> None:
        """Write what the project wants of the hooks."""
        folder = self.project / ".goopspec"
        folder.mkdir(exist_ok=True)
        (folder / "hooks.json").write_text(json.dumps(wishes), encoding="utf-8")
