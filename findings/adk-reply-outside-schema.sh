#!/usr/bin/env bash
# Software: google-adk 2.13.0, Python
# Date: 2026-11-27
# Guess: a final reply that does not fit `output_schema` is an event of the run and of the session, as every reply is,
#        before the error about it is raised.
# Seen: it is in neither: the run gives one event without content, with the error, which counts as a final response, and
#       of the reply only a few characters are in the text of the error.
# Matters: the reply that a person or a retry would need to see is lost, and a caller that takes the first final response
#          for the answer gets an empty one.
. "$(dirname "$0")/lib/finding.sh"
python_packages env google-adk==2.13.0

python_in env <<'PY'
import asyncio
import logging

from adk_model import ScriptedLlm, message, text
from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from pydantic import BaseModel

logging.disable(logging.CRITICAL)
REPLY = "I have written the file and 12 of 12 tests pass, but the linter is not installed here."


class Report(BaseModel):
    passed: int


async def run(**schema: object) -> None:
    agent = LlmAgent(name="worker", model=ScriptedLlm(answers=[text(REPLY)]), **schema)
    runner = InMemoryRunner(agent=agent, app_name="app")
    session = await runner.session_service.create_session(app_name="app", user_id="person")
    ids, events, raised = {"user_id": "person", "session_id": session.id}, [], ""
    try:
        async for event in runner.run_async(**ids, new_message=message("Report.")):
            events.append(event)
    except Exception as error:
        raised = type(error).__name__
    kept = await runner.session_service.get_session(app_name="app", **ids)
    final = [(event.error_code, event.content is not None) for event in events if event.is_final_response()]
    print(f"{sorted(schema)}: raised {raised or None}, final responses {final}")
    print(f"  reply in events {REPLY in repr(events)}, in the session {REPLY in repr(kept)}")


asyncio.run(run())
asyncio.run(run(output_schema=Report, output_key="report"))
PY

expect <<'TEXT'
[]: raised None, final responses [(None, True)]
  reply in events True, in the session True
['output_key', 'output_schema']: raised ValidationError, final responses [('ValidationError', False)]
  reply in events False, in the session False
TEXT
