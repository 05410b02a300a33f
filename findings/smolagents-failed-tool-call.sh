#!/usr/bin/env bash
# Software: smolagents 1.26.0, Python
# Date: 2026-11-27
# Guess: the step of a tool that raised names the call (tool and arguments) in `tool_calls`, next to its error; of two
#        calls in one answer, the one that succeeded is there with its result.
# Seen: `tool_calls` of such a step is empty and `observations` are None, also for the call before it that was run and
#       succeeded; both live on in the text of the error or nowhere.
# Matters: whoever reads the memory of an agent to find out what it did misses everything of a step in which one call
#          failed, including calls that changed files.
. "$(dirname "$0")/lib/finding.sh"
python_packages env 'smolagents[openai]==1.26.0'

python_in env <<'PY'
from scripted_model import ScriptedModel, call, reply
from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool

ran = []


@tool
def write(path: str) -> str:
    """Write a file.

    Args:
        path: Where.
    """
    ran.append(path)
    return "written"


@tool
def check(name: str) -> str:
    """Check something.

    Args:
        name: What.
    """
    raise ValueError("1 failed")


both = (call("write", '{"path": "a.py"}', "call_1"), call("check", '{"name": "tests"}', "call_2"))
model = ScriptedModel(
    reply(None, *both), reply(None, call("final_answer", '{"answer": "Done."}', "call_3"))
)
agent = ToolCallingAgent(
    tools=[write, check],
    model=OpenAIServerModel("scripted", api_base=model.url, api_key="scripted"),
    max_tool_threads=1,
    verbosity_level=LogLevel.OFF,
)
agent.run("Write and check.")
step = next(step for step in agent.memory.steps if getattr(step, "error", None))
print(f"ran: {ran}")
print(f"tool_calls: {step.dict()['tool_calls']}, observations: {step.observations}")
print(f"the error names check: {'check' in str(step.error)}, write: {'write' in str(step.error)}")
PY

expect <<'TEXT'
ran: ['a.py']
tool_calls: [], observations: None
the error names check: True, write: False
TEXT
