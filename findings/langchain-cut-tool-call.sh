#!/usr/bin/env bash
# Software: langchain 1.5.0, langgraph 1.2.24 and langchain-openai 1.7.3, Python
# Date: 2026-11-27
# Guess: a call of a tool whose JSON arguments were cut off at the limit of tokens is an error of the run or goes back
#        to the model; it is the same whether the answer was streamed or not, and the tool is never run.
# Seen: not streamed, the run ends after one request as if the agent had finished, with the text that stood before the
#       call; streamed, the missing end of the JSON is made up, and the tool runs with half of a text or a number.
# Matters: a loop that takes the last message for the report believes an agent that was interrupted, and a file is
#          written with half of its content depending on a switch that should only change how an answer travels.
. "$(dirname "$0")/lib/finding.sh"
python_packages env langchain==1.5.0 langgraph==1.2.24 langchain-core==1.8.3 langchain-openai==1.7.3

python_in env <<'PY'
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from scripted_model import ScriptedModel, call, reply

for cut in ('{"path": "a.py", "text": "import os\\nprin', '{"path": "a.py", "lines": 12'):
    for streaming in (False, True):
        ran = []

        @tool
        def write(path: str, text: str = "", lines: int = 0) -> str:
            """Write a file."""
            ran.append((path, text, lines))
            return "written"

        model = ScriptedModel(
            reply("I write the file now.", call("write", cut), finish="length"), reply("Done.")
        )
        chat = ChatOpenAI(model="scripted", base_url=model.url, streaming=streaming)
        result = create_agent(chat, [write]).invoke({"messages": [("user", "Write a.py.")]})
        last = result["messages"][-1].content
        print(f"streamed {streaming}: {len(model.requests)} requests, ran {ran}, ends with {last!r}")
PY

expect <<'TEXT'
streamed False: 1 requests, ran [], ends with 'I write the file now.'
streamed True: 2 requests, ran [('a.py', 'import os\nprin', 0)], ends with 'Done.'
streamed False: 1 requests, ran [], ends with 'I write the file now.'
streamed True: 2 requests, ran [('a.py', '', 12)], ends with 'Done.'
TEXT
