#!/usr/bin/env bash
# Software: openai-agents 0.24.0, langchain 1.5.2 with langchain-mcp-adapters 0.3.2, strands-agents 1.62.0,
#           pydantic-ai-slim 2.68.0, Python
# Date: 2026-11-28
# Guess: of a result of an MCP tool that has only structured content the model gets the JSON; of one with text and
#        structured content it gets the text, also when `isError` is true.
# Seen: of structured content alone the model gets nothing in three of them, an empty list or an empty text. pydantic-ai
#       sends the JSON, and then drops the text of every result that has both, even the text of an error.
# Matters: a server cannot put the reason in one place: what stands only in the structure is never seen by most agents, and
#          what stands only in the text is not seen by this one. An empty answer looks like a check that found nothing.
. "$(dirname "$0")/lib/finding.sh"
python_packages openai-agents openai-agents==0.24.0 mcp==2.3.0
python_packages langchain langchain==1.5.2 langchain-openai==1.7.4 langchain-mcp-adapters==0.3.2 mcp==1.30.0
python_packages strands 'strands-agents[openai]==1.62.0' mcp==2.1.1
python_packages pydantic-ai 'pydantic-ai-slim[openai,mcp]==2.68.0' mcp==2.3.0

cat >"$work/asking.py" <<'PY'
"""Ask an agent of each framework to call every tool of the server, and show what its model gets."""

import json
import sys
from collections.abc import Callable

from scripted_model import ScriptedModel, call, reply

SERVER, NAME = sys.argv[1:3]
FAILED = {"failed": 3}
SUMMARY = [{"type": "text", "text": "summary"}]
RESULTS = {
    "structure": {"content": [], "structuredContent": FAILED},
    "both": {"content": SUMMARY, "structuredContent": FAILED},
    "error": {"content": SUMMARY, "structuredContent": FAILED, "isError": True},
}
TOOLS = [{"name": name, "inputSchema": {"type": "object", "properties": {}}} for name in RESULTS]
ARGUMENTS = [SERVER, json.dumps([TOOLS]), json.dumps(RESULTS)]


def show(run: Callable[[ScriptedModel], object]) -> None:
    for name in RESULTS:
        model = ScriptedModel(reply(None, call(name, "{}")), reply("Done."))
        run(model)
        [answer] = [each["content"] for each in model.requests[-1]["messages"] if each["role"] == "tool"]
        if isinstance(answer, list):
            answer = [part["text"] for part in answer]
        print(f"{NAME} {name}: {answer!r}")
PY
export PYTHONPATH="$PYTHONPATH:$work"

python_in openai-agents "$lib/raw_mcp_server.py" openai-agents <<'PY'
import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from asking import ARGUMENTS, show
from openai import AsyncOpenAI

set_tracing_disabled(True)


async def ask(model) -> None:
    async with MCPServerStdio({"command": sys.executable, "args": ARGUMENTS}) as server:
        chat = OpenAIChatCompletionsModel("scripted", AsyncOpenAI(base_url=model.url))
        await Runner.run(Agent(name="worker", model=chat, mcp_servers=[server]), "Check.")


show(lambda model: asyncio.run(ask(model)))
PY
python_in langchain "$lib/raw_mcp_server.py" langchain <<'PY'
import asyncio
import sys

from asking import ARGUMENTS, show
from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_openai import ChatOpenAI


async def ask(model) -> None:
    started = {"command": sys.executable, "args": ARGUMENTS, "transport": "stdio"}
    tools = await MultiServerMCPClient({"raw": started}).get_tools()
    agent = create_agent(ChatOpenAI(model="scripted", base_url=model.url), tools)
    await agent.ainvoke({"messages": "Check."})


show(lambda model: asyncio.run(ask(model)))
PY
python_in strands "$lib/raw_mcp_server.py" strands <<'PY'
import sys

from asking import ARGUMENTS, show
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands import Agent
from strands.models.openai import OpenAIModel
from strands.tools.mcp import MCPClient

started = StdioServerParameters(command=sys.executable, args=ARGUMENTS)
with MCPClient(lambda: stdio_client(started)) as server:
    tools = server.list_tools_sync()

    def ask(model) -> None:
        chat = OpenAIModel(client_args={"base_url": model.url}, model_id="scripted")
        Agent(model=chat, tools=tools, callback_handler=None)("Check.")

    show(ask)
PY
python_in pydantic-ai "$lib/raw_mcp_server.py" pydantic-ai <<'PY'
import asyncio
import sys

from asking import ARGUMENTS, show
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


async def ask(model) -> None:
    chat = OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=model.url))
    await Agent(chat, toolsets=[MCPToolset(StdioTransport(sys.executable, ARGUMENTS))]).run("Check.")


show(lambda model: asyncio.run(ask(model)))
PY

expect <<'TEXT'
openai-agents structure: '[]'
openai-agents both: ['summary']
openai-agents error: ['summary']
langchain structure: []
langchain both: ['summary']
langchain error: ['summary']
strands structure: ''
strands both: 'summary'
strands error: 'summary'
pydantic-ai structure: '{"failed":3}'
pydantic-ai both: '{"failed":3}'
pydantic-ai error: '{"error":"{\\"failed\\":3}"}'
TEXT
