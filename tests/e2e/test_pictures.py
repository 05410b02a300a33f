"""What a person sees in a host when a report is sent back.

With GOOP_RECORD=1 it is kept for the documentation; `make docs` makes the pictures of it.
"""

import json
import os
import re
from collections.abc import Sequence

import pytest

from tests.e2e.claude_code import claude_on_screen, hook_settings
from tests.e2e.claude_code import write_project as write_claude_project
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Client, Sandbox
from tests.e2e.opencode import install, opencode_on_screen, write_project
from tests.e2e.screen import DOWN
from tests.e2e.script import DONE
from tests.e2e.scripted_model import ScriptedModel
from tests.repository import ROOT

RECORDED = ROOT / "tests" / "documentation" / "recorded"
PROMPT = "GOOP-MAIN GOOP-OWN add the login endpoint"
ANSWER = "● I added the endpoint."
END_OF_FEEDBACK = "only your last message is handed on."
END_OF_REPORT = "</goop_report>"
SUBAGENTS = "\x18" + DOWN
"""Opens the conversation of the subagent in OpenCode."""
TASK = "add the login endpoint"
NOTICE = "Shown once in a session"
"""In a notice that OpenCode shows over the rest for some seconds."""


def needs(client: Client) -> pytest.MarkDecorator:
    reason = client.missing_reason()
    return pytest.mark.skipif(reason is not None, reason=reason or "")


def compare(client: Client, name: str, outputs: Sequence[str]) -> None:
    """Compare the screens with those of the documentation, or keep them for it."""
    scenes = [{"command": client.program, "output": f"{output}\n"} for output in outputs]
    path = RECORDED / f"{name}.json"
    if os.environ.get("GOOP_RECORD"):
        kept = json.dumps(scenes, indent=1, ensure_ascii=False)
        path.write_text(f"{kept}\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == scenes, "run it with GOOP_RECORD=1"


@needs(CLAUDE_CODE)
def test_a_person_sees_that_a_report_is_sent_back_and_corrected(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_claude_project(sandbox, settings=hook_settings())
    # High enough for both reports: the second one pushes the first out of a lower screen at once.
    with claude_on_screen(sandbox, model, PROMPT, rows=100) as claude:
        claude.wait_for(f"❯ {PROMPT}", END_OF_FEEDBACK, "<status>COMPLETE</status>", "✻ ")
        # What is above and below has the version, the folder and the time.
        first = claude.text[claude.text.index(f"❯ {PROMPT}") :].partition(END_OF_FEEDBACK)[0]
        last = claude.text[claude.text.rindex(ANSWER) :].partition(END_OF_REPORT)[0]

    assert "<status>FINISHED</status>" in first
    assert "<status>COMPLETE</status>" in last
    compare(CLAUDE_CODE, "claude-code", [f"{first}{END_OF_FEEDBACK}", f"{last}{END_OF_REPORT}"])


@needs(OPENCODE)
def test_a_person_sees_in_opencode_what_the_subagent_was_sent(
    sandbox: Sandbox, model: ScriptedModel
) -> None:
    write_project(sandbox)
    install(sandbox)
    with opencode_on_screen(sandbox, model, f"GOOP-MAIN {TASK}", rows=100) as opencode:
        opencode.wait_for(DONE, without=NOTICE)
        main = opencode.text.strip("\n").partition(DONE)[0] + DONE
        opencode.press(SUBAGENTS, then="Parent")
        # The feedback has the end tag as well.
        whole = f"     {END_OF_REPORT}\n\n     ▣  Goop-Executor"
        opencode.wait_for(whole, without=NOTICE)
        subagent = opencode.text.strip("\n").rpartition(END_OF_REPORT)[0] + END_OF_REPORT

    assert "I did the work but forgot the envelope." in subagent
    assert "Your report was not accepted." in subagent
    assert subagent.index("<status>COMPLETE</status>") > subagent.index("handed on.")
    # First what the subagent was sent: it is all that readers who want no motion see.
    compare(OPENCODE, "opencode", [_without_times(subagent), _without_times(main)])


def _without_times(screen: str) -> str:
    """Return the screen with one time in place of those that differ in each run."""
    return re.sub(r"\b\d+(?:\.\d+)?(?:s|ms)$", "1.2s", screen, flags=re.MULTILINE)
