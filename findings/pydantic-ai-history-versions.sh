#!/usr/bin/env bash
# Software: pydantic-ai-slim 2.68.0 and 1.107.10, Python
# Date: 2026-11-27
# Guess: in the history a tool that raised ModelRetry is a RetryPromptPart in both versions, and a history that one
#        version wrote as JSON can be read by the other, at least where only texts and calls of tools are in it.
# Seen: version 2 has a ToolReturnPart with the outcome "retried" for it, the class of results that succeeded, and a
#       RetryFeedbackPart for a refused output. Version 1 cannot read that; version 2 turns what version 1 wrote into its
#       own parts.
# Matters: a reader that takes every ToolReturnPart for a result counts refused calls as done, and two services with
#          different versions on one table of histories work in one direction only, until the first refused call.
. "$(dirname "$0")/lib/finding.sh"
python_packages one 'pydantic-ai-slim[openai]==1.107.10'
python_packages two 'pydantic-ai-slim[openai]==2.68.0'

for version in one two; do
    python_in "$version" "$version" "$work/$version.json" <<'PY'
import sys

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scripted_model import ScriptedModel, call, reply

model = ScriptedModel(reply(None, call("check", "{}")), reply("short"), reply("long enough"))
provider = OpenAIProvider(base_url=model.url, api_key="scripted")
agent = Agent(OpenAIChatModel("scripted", provider=provider), retries=3)


@agent.tool_plain
def check() -> str:
    raise ModelRetry("1 failed")


@agent.output_validator
def long_enough(output: str) -> str:
    if len(output) < 8:
        raise ModelRetry("too short")
    return output


result = agent.run_sync("Report.")
asked = [part for message in result.all_messages() for part in message.parts]
answers = [part for part in asked if "1 failed" in str(part) or "too short" in str(part)]
print(f"{sys.argv[1]}: {[(type(part).__name__, getattr(part, 'outcome', None)) for part in answers]}")
open(sys.argv[2], "wb").write(result.all_messages_json())
PY
done
for reader in one two; do
    for writer in one two; do
        python_in "$reader" "$writer by $reader" "$work/$writer.json" <<'PY'
import sys

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessagesTypeAdapter

try:
    messages = ModelMessagesTypeAdapter.validate_json(open(sys.argv[2], "rb").read())
    found = [type(part).__name__ for message in messages for part in message.parts]
    print(f"{sys.argv[1]}: {[name for name in found if name.startswith(('Retry', 'ToolReturn'))]}")
except ValidationError as error:
    print(f"{sys.argv[1]}: {type(error).__name__}")
PY
    done
done

expect <<'TEXT'
one: [('RetryPromptPart', None), ('RetryPromptPart', None)]
two: [('ToolReturnPart', 'retried'), ('RetryFeedbackPart', None)]
one by one: ['RetryPromptPart', 'RetryPromptPart']
two by one: ValidationError
one by two: ['ToolReturnPart', 'RetryFeedbackPart']
two by two: ['ToolReturnPart', 'RetryFeedbackPart']
TEXT
