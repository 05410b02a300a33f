"""The whole play of the scenarios, each call made by the model of a real client.

Two rounds, three waves, bad replies, a false claim, a decision, a checkpoint, an amendment, a
rejection and its rework. After each step the project is compared with what the story says, as
in the scenarios; a person confirms at a terminal.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest

from goop_mcp.cli.demo.full_player import Player, PlayStep, ProjectPosition, ToolAnswer
from goop_mcp.settings import Settings
from tests.e2e import claude_code, opencode
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Ended, Sandbox
from tests.e2e.conversation import Conversation, ToolCall
from tests.e2e.script import CHAT, DONE, call_of
from tests.e2e.scripted_model import ScriptedModel, scripted_model
from tests.scenarios.connecting import stdio
from tests.scenarios.playing import STEPS, play
from tests.scenarios.terminal import answer_at_terminal

Run = Callable[[Sandbox, ScriptedModel, str], Ended]
# In the text of an answer, or within its JSON.
_COMMAND = re.compile(r'"(goop-mcp project [^"\n]+)"')
_NEGATIVE = "do not "


class OneCall:
    """The model of a session that makes the call of the present step, and then ends."""

    def __init__(self) -> None:
        self.step: PlayStep | None = None

    def __call__(self, conversation: Conversation) -> str | ToolCall:
        """Return the call, or the end of the session."""
        made = any(each.calls and "ToolSearch" not in each.calls for each in conversation.messages)
        # Clients ask for a title as well, without any tools.
        if self.step is None or self.step.tool is None or not conversation.tools:
            return CHAT
        if made or "GOOP-WHOLE" not in conversation.text_of("user"):
            return DONE
        return call_of(conversation, self.step.tool, self.step.arguments, since=0) or DONE


def received(model: ScriptedModel, step: PlayStep) -> str:
    """Return the answer of the tool, as the model of the client received it."""
    mark = f"GOOP-WHOLE {step.name} "
    asked = [each for each in model.conversations if mark in each.text_of("user")][-1]
    after = max(at for at, each in enumerate(asked.messages) if each.calls)
    return "\n".join(each.text for each in asked.messages[after + 1 :])


def answer_in(text: str) -> Mapping[str, Any]:
    """Return the structured half where the client shows it to its model, empty elsewhere."""
    try:
        # What the client adds of its own stands after it.
        value, _ = json.JSONDecoder().raw_decode(text.lstrip())
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def play_in(sandbox: Sandbox, run: Run) -> None:
    script = OneCall()
    with scripted_model(script) as model:

        async def call(
            player: Player, step: PlayStep, position: ProjectPosition
        ) -> ToolAnswer | None:
            del player, position
            if step.tool is None:
                return None
            script.step = step
            ended = await anyio.to_thread.run_sync(
                run, sandbox, model, f"GOOP-WHOLE {step.name} of the play"
            )
            assert ended.code == 0, ended.err
            text = received(model, step)

            found = _COMMAND.search(text)
            if step.person is not None and found is not None:
                # Nobody answers in a client without a person, so that the step waits for one.
                accept = not step.person.startswith(_NEGATIVE)
                words = partial(
                    answer_at_terminal,
                    found[1].rstrip("\\"),
                    "--project",
                    str(sandbox.project),
                    accept=accept,
                )
                code = await anyio.to_thread.run_sync(words)
                assert code == (0 if accept else 1)
                return None

            values = answer_in(text)
            if values:
                return ToolAnswer(text=text, values=values, is_error=False)
            for each in step.says:
                assert each in text, f"{each!r} is not in {text}"
            return None

        settings = Settings(project=sandbox.project)
        connect = stdio("--project", str(sandbox.project))
        anyio.run(
            partial(play, sandbox.project, connect, settings=settings, steps=STEPS, call=call)
        )


@pytest.mark.skipif(
    CLAUDE_CODE.missing_reason() is not None, reason=CLAUDE_CODE.missing_reason() or ""
)
def test_two_rounds_are_played_in_claude_code(sandbox: Sandbox) -> None:
    claude_code.write_project(sandbox, settings=None)
    opencode.install(sandbox, "claude-code")
    play_in(sandbox, lambda sandbox, model, prompt: claude_code.converse(sandbox, model, [prompt]))


@pytest.mark.skipif(OPENCODE.missing_reason() is not None, reason=OPENCODE.missing_reason() or "")
def test_two_rounds_are_played_in_opencode(sandbox: Sandbox) -> None:
    opencode.write_project(sandbox)
    opencode.install(sandbox)
    play_in(sandbox, opencode.delegate)
