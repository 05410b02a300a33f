"""What a person sees in Claude Code when a report is sent back.

With GOOP_RECORD=1 it is kept for the documentation; `make docs` makes the picture of it.
"""

import json
import os

import pytest

from tests.e2e.claude_code import claude_on_screen, hook_settings, write_project
from tests.e2e.clients import CLAUDE_CODE, Sandbox
from tests.e2e.scripted_model import ScriptedModel
from tests.repository import ROOT

pytestmark = pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)

RECORDED = ROOT / "tests" / "documentation" / "recorded" / "claude-code.json"
PROMPT = "GOOP-MAIN GOOP-OWN add the login endpoint"
ANSWER = "● I added the endpoint."
END_OF_FEEDBACK = "only your last message is handed on."
END_OF_REPORT = "</goop_report>"


def test_a_person_sees_that_a_report_is_sent_back_and_corrected(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox, settings=hook_settings())
    with claude_on_screen(sandbox, model, PROMPT) as claude:
        claude.wait_for(END_OF_FEEDBACK)
        # What is above and below has the version, the folder and the time.
        first = claude.text[claude.text.index(f"❯ {PROMPT}") :].partition(END_OF_FEEDBACK)[0]
        claude.wait_for("<status>COMPLETE</status>")
        claude.wait_for("✻ ")
        last = claude.text[claude.text.rindex(ANSWER) :].partition(END_OF_REPORT)[0]

    scenes = [
        {"command": "claude", "output": f"{first}{END_OF_FEEDBACK}\n"},
        {"command": "claude", "output": f"{last}{END_OF_REPORT}\n"},
    ]
    assert "<status>FINISHED</status>" in first
    assert "<status>COMPLETE</status>" in last
    if os.environ.get("GOOP_RECORD"):
        kept = json.dumps(scenes, indent=1, ensure_ascii=False)
        RECORDED.write_text(f"{kept}\n", encoding="utf-8")
    assert json.loads(RECORDED.read_text(encoding="utf-8")) == scenes, "run it with GOOP_RECORD=1"
