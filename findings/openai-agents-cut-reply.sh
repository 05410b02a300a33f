#!/usr/bin/env bash
# Software: openai-agents 0.24.0, Python, with a model that has the chat API
# Date: 2026-11-27
# Guess: an answer that the model did not finish (finish_reason "length" or "content_filter") raises an error, or its item
#        in the history has the status "incomplete", which the format of these items has for that.
# Seen: it is the final output, its item says "completed", and the reason is kept nowhere in the result.
# Matters: a report that was cut off by the limit of tokens, or withheld by a filter, looks the same as one that its
#          author ended there.
. "$(dirname "$0")/lib/finding.sh"
python_packages env openai-agents==0.24.0

python_in env <<'PY'
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI
from scripted_model import ScriptedModel, reply

set_tracing_disabled(True)
for finish in ("stop", "length", "content_filter"):
    model = ScriptedModel(reply("The tests pa", finish=finish))
    client = AsyncOpenAI(base_url=model.url)
    agent = Agent(name="tester", model=OpenAIChatCompletionsModel("scripted", client))
    result = Runner.run_sync(agent, "Report.")
    kept = finish in repr((result.to_input_list(), result.raw_responses, result.new_items))
    status = result.to_input_list()[-1]["status"]
    print(f"{finish}: {result.final_output!r}, status {status}, reason kept {kept}")
PY

expect <<'TEXT'
stop: 'The tests pa', status completed, reason kept False
length: 'The tests pa', status completed, reason kept False
content_filter: 'The tests pa', status completed, reason kept False
TEXT
