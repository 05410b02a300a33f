"""Agents that end in the middle of their report or without one, and honest ones that look so.

The hook runs here in the process of the test, for the number of events.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from goop_mcp.hosts.hooks.answers import answer_event
from goop_mcp.hosts.hooks.events import read_event
from tests.hosts.hooks.hooks import GOOD
from tests.hosts.hooks.test_channels import (
    SILENT,
    TASK,
    TESTED,
    given,
    hands_back,
    result,
    text,
    wrote,
)
from tests.workspace.true_projects import write

_Lines = Sequence[Mapping[str, object]]

END = GOOD.rindex("</goop_report>")
BEGIN = GOOD.index("<goop_report")
CUTS = {
    f"cut at {place}": GOOD[:place] for place in range(BEGIN + 8, END, max(1, (END - BEGIN) // 24))
}
FORMS = {
    "an open fence": f"Done.\n```xml\n{GOOD[BEGIN : END - 40]}",
    "a closed fence": f"Done.\n```xml\n{GOOD[BEGIN : END - 40]}\n```",
    "in a tag": GOOD[: GOOD.index("<status>") + 5],
    "in an attribute": GOOD[: GOOD.index('path="') + 7],
    "in an entity": f"{GOOD[: GOOD.index('<summary>')]}<summary>A &am",
    "a promise": "I will now run the tests and then report.",
    "the beginning of a sentence": "Now that the endpoint is there, I",
    "a thought in tags": "<thinking>I should report.</thinking>",
}
HONEST = {
    "the report": GOOD,
    "no last line feed": GOOD.rstrip(),
    "many line feeds": f"{GOOD}\n\n\n",
    "blanks at each line's end": GOOD.replace("\n", "  \n"),
    "line ends of Windows": GOOD.replace("\n", "\r\n"),
    "words about a cut": GOOD.replace(
        "<summary>", "<summary>Output was cut at 30,000 characters. "
    ),
    "words about the limit": f"I hit max_tokens once and went on.\n\n{GOOD}",
    "an ellipsis before": f"Reading the rest of the log…\n\n{GOOD}",
    "a sentence without an end before": f"So the next thing that I\n\n{GOOD}",
    "a draft that was cut before": f"<thinking>{GOOD[BEGIN : END - 80]}</thinking>\n\n{GOOD}",
    "a name of the tool": f"I call SubagentHandback next time.\n\n{GOOD}",
    "a mark of OpenCode": f"</task_result> is escaped now.\n\n{GOOD}",
    "in a fence": f"Done.\n\n```xml\n{GOOD[BEGIN:]}\n```",
    "in an open fence": f"Done.\n\n```xml\n{GOOD[BEGIN:]}",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    write(folder, "src/login.py")
    return folder


def answered(project: Path, message: str | None, lines: _Lines) -> Mapping[str, Any]:
    """Return the answer to the end of an agent with this last message and transcript."""
    file = project.parent / "agent.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    event: dict[str, object] = {
        "hook_event_name": "SubagentStop",
        "session_id": "s",
        "cwd": str(project),
        "agent_id": "a",
        "agent_type": "goop-executor",
        "agent_transcript_path": str(file),
    }
    if message is not None:
        event["last_assistant_message"] = message

    environment = {"CLAUDE_PLUGIN_DATA": str(project.parent / "data")}
    answer, _ = answer_event(
        read_event(json.dumps(event).encode()), environment, host="claude-code"
    )
    return answer


@pytest.mark.parametrize("cut", [*CUTS.values(), *FORMS.values()], ids=[*CUTS, *FORMS])
def test_a_reply_that_was_cut_is_sent_back(project: Path, cut: str) -> None:
    lines = [TASK, wrote(text(cut), stop_reason="max_tokens")]
    answer = answered(project, cut, lines)
    assert answer["decision"] == "block"
    assert "send it shorter" in answer["reason"]


@pytest.mark.parametrize("lines", SILENT.values(), ids=SILENT)
def test_a_silent_end_is_sent_back(project: Path, lines: _Lines) -> None:
    assert answered(project, None, lines)["decision"] == "block"


def test_there_are_enough_of_them() -> None:
    assert len(CUTS) + len(FORMS) + len(SILENT) >= 40


CHANNELS = ("message", "transcript", "blocks", "hand-back", "limit")


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("reply", HONEST.values(), ids=HONEST)
def test_an_honest_reply_passes_by_each_channel(project: Path, reply: str, channel: str) -> None:
    half = reply.index("<goop_report")
    message, lines = {
        "message": (reply, [wrote(text(reply))]),
        "transcript": (None, [wrote(text(reply)), wrote(text(""))]),
        "blocks": (None, [wrote(text(reply[:half])), wrote(text(reply[half:]))]),
        "hand-back": ("Done.", [wrote(hands_back(reply)), given(result()), wrote(text("Done."))]),
        "limit": (reply, [wrote(text(reply), stop_reason="max_tokens")]),
    }[channel]
    assert "decision" not in answered(project, message, [*TESTED, *lines])
