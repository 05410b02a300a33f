#!/usr/bin/env bash
# Software: google-adk 2.13.0, Python
# Date: 2026-11-27
# Guess: the declared types of a function that is a tool are checked as its required arguments are: "abc" for an int goes
#        back to the model as an error.
# Seen: the function runs with the text "abc"; only a missing argument is refused, and one of type list or a model is
#       passed as it came too. An argument that the function does not have is dropped without a word.
# Matters: other frameworks validate with the same annotations, so that a tool moved from there meets values that its
#          types exclude, and the history shows a successful call.
. "$(dirname "$0")/lib/finding.sh"
python_packages env google-adk==2.13.0

python_in env <<'PY'
import asyncio
import logging

from adk_model import ScriptedLlm, call, message, text
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner

logging.disable(logging.CRITICAL)
ran = []


def keep(lines: int, names: list[str] = []) -> str:
    """Keep some lines."""
    ran.append((lines, names))
    return "kept"


async def run(arguments: dict) -> None:
    ran.clear()
    model = ScriptedLlm(answers=[call("keep", arguments), text("Done.")])
    runner = InMemoryRunner(agent=LlmAgent(name="worker", model=model, tools=[keep]), app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="person")
    found = []
    async for event in runner.run_async(
        user_id="person", session_id=session.id, new_message=message("Keep.")
    ):
        found += [list(each.response) for each in event.get_function_responses()]
    print(f"{arguments}: ran with {ran}, answered with {found}")


for arguments in ({"lines": "abc"}, {"lines": 2.5}, {"lines": 1, "names": "x"}, {"lines": 1, "all": True}, {}):
    asyncio.run(run(arguments))
PY

expect <<'TEXT'
{'lines': 'abc'}: ran with [('abc', [])], answered with [['result']]
{'lines': 2.5}: ran with [(2.5, [])], answered with [['result']]
{'lines': 1, 'names': 'x'}: ran with [(1, 'x')], answered with [['result']]
{'lines': 1, 'all': True}: ran with [(1, [])], answered with [['result']]
{}: ran with [], answered with [['error']]
TEXT
