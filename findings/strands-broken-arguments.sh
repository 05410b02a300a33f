#!/usr/bin/env bash
# Software: strands-agents 1.62.0, Python
# Date: 2026-11-27
# Guess: a call of a tool whose arguments are not JSON is answered with an error, as one without a required argument is.
# Seen: the arguments become {} and the tool runs with its defaults; the history shows a successful call with {} and
#       nothing of what the model wrote. Only where an argument is required does the call fail.
# Matters: a tool whose arguments all have defaults acts on "everything" because a text was cut, and a reader of the
#          history finds a call that nobody asked for and that succeeded.
. "$(dirname "$0")/lib/finding.sh"
python_packages env strands-agents==1.62.0 'openai>=2,<4'

python_in env <<'PY'
import logging

from scripted_model import ScriptedModel, call, reply
from strands import Agent, tool
from strands.models.openai import OpenAIModel

logging.disable(logging.CRITICAL)
ran = []


@tool
def clean(path: str = "/", force: bool = False) -> str:
    """Remove build output."""
    ran.append((path, force))
    return "cleaned"


@tool
def clean_one(path: str) -> str:
    """Remove one folder."""
    ran.append(path)
    return "cleaned"


for name in ("clean", "clean_one"):
    ran.clear()
    model = ScriptedModel(reply(None, call(name, '{"path": "build/tm')), reply("Done."))
    client = OpenAIModel(client_args={"base_url": model.url}, model_id="scripted")
    agent = Agent(model=client, tools=[clean, clean_one], callback_handler=None)
    agent("Clean up.")
    [used] = [part["toolUse"] for part in agent.messages[1]["content"] if "toolUse" in part]
    [result] = [part["toolResult"] for part in agent.messages[2]["content"]]
    print(f"{name}: ran {ran}, history {used['input']} {result['status']}")
PY

expect <<'TEXT'
clean: ran [('/', False)], history {} success
clean_one: ran [], history {} error
TEXT
