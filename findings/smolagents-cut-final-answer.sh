#!/usr/bin/env bash
# Software: smolagents 1.26.0, Python
# Date: 2026-11-27
# Guess: a call of a tool whose JSON arguments were cut off is an error of the step, and the model is asked again.
# Seen: the beginning of the JSON, as text, becomes the only argument of the tool. With final_answer the run ends with the
#       state "success", and the answer is that fragment; any other tool with one text as its argument runs with it.
# Matters: what a caller gets as the result of a finished run is neither the answer nor parsable, and only its text
#          shows that; neither the state nor the step has an error.
. "$(dirname "$0")/lib/finding.sh"
python_packages env 'smolagents[openai]==1.26.0'

python_in env <<'PY'
from scripted_model import ScriptedModel, call, reply
from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool

ran = []


@tool
def check(name: str) -> str:
    """Check something.

    Args:
        name: What to check.
    """
    ran.append(name)
    return "passed"


for name in ("final_answer", "check"):
    cut = reply(None, call(name, '{"answer": "All tests pa'), finish="length")
    model = ScriptedModel(cut, reply(None, call("final_answer", '{"answer": "whole"}', "call_2")))
    agent = ToolCallingAgent(
        tools=[check],
        model=OpenAIServerModel("scripted", api_base=model.url, api_key="scripted"),
        verbosity_level=LogLevel.OFF,
    )
    result = agent.run("Report.", return_full_result=True)
    errors = [step.error is not None for step in agent.memory.steps if hasattr(step, "error")]
    print(f"{name}: {len(model.requests)} requests, {result.state}, {result.output!r}, errors {errors}")
print(f"check ran with {ran}")
PY

expect <<'TEXT'
final_answer: 1 requests, success, '{"answer": "All tests pa', errors [False]
check: 2 requests, success, 'whole', errors [False, False]
check ran with ['{"answer": "All tests pa']
TEXT
