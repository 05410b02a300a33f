"""Run the hook as the host does: a process an event, with events recorded from the host."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goop_mcp.recording.state_folder import state_folder
from goop_mcp.services.stop_hooks.notices import NoticeFile
from tests.cli.running import Ended, run

__all__ = ["BAD", "GOOD", "Answer", "Host"]

CASES = Path(__file__).parent.parent.parent / "cases" / "hosts" / "claude_code"
GOOD = (CASES / "good_report.md").read_text(encoding="utf-8")
BAD = "I did the work but forgot the envelope."


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of the hook: its JSON, `{}` for none, and its text on stderr."""

    ended: Ended

    @property
    def json(self) -> dict[str, object]:
        value = json.loads(self.ended.out or "{}")
        assert isinstance(value, dict)
        return value

    @property
    def reason(self) -> str:
        """The feedback for the agent; the test fails when the hook allowed the reply."""
        assert self.json["decision"] == "block", self.ended
        return str(self.json["reason"])

    @property
    def message(self) -> str:
        """The message to the user."""
        return str(self.json.get("systemMessage", ""))

    @property
    def context(self) -> str:
        """The context that the agent receives."""
        specific = self.json["hookSpecificOutput"]
        assert isinstance(specific, dict)
        return str(specific["additionalContext"])

    @property
    def passed(self) -> bool:
        return "decision" not in self.json


@dataclass(frozen=True, slots=True)
class Host:
    """A session in `project`; the hook keeps its state in `data`.

    `options` are part of the hook's command.
    """

    project: Path
    data: Path
    name: str = "claude-code"
    environment: Mapping[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()

    @property
    def state(self) -> Path:
        """The folder of the person's state, which is not that of the plugin."""
        return Path(self.environment.get("XDG_STATE_HOME", self.data.parent / "person"))

    def let_know(self, *kinds: str) -> None:
        """Let the person have seen notices of these kinds in the session of the recorded events."""
        session = json.loads((CASES / "SubagentStop.json").read_text(encoding="utf-8"))[
            "session_id"
        ]
        file = NoticeFile(state_folder({"XDG_STATE_HOME": str(self.state)}), now=time.time())
        file.show(str(self.project), session, dict.fromkeys(kinds, "shown before"))

    def send(self, event: str, **changes: object) -> Answer:
        """Send the recorded `event` with `changes`; None removes a key."""
        recorded = json.loads((CASES / f"{event}.json").read_text(encoding="utf-8"))
        values = {**recorded, "cwd": str(self.project), **changes}
        return self.send_raw(
            json.dumps({key: value for key, value in values.items() if value is not None}).encode()
        )

    def send_raw(self, content: bytes) -> Answer:
        """Send bytes; whatever they are, the process must end with 0."""
        environment = {
            "CLAUDE_PROJECT_DIR": str(self.project),
            "CLAUDE_PLUGIN_DATA": str(self.data),
            "XDG_STATE_HOME": str(self.state),
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

    def configure(self, **settings: object) -> None:
        """Write the hooks.json of the project."""
        folder = self.project / ".goopspec"
        folder.mkdir(exist_ok=True)
        (folder / "hooks.json").write_text(json.dumps(settings), encoding="utf-8")
