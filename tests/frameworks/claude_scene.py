"""One scene with the real Claude Code and a scripted model; prints the result as JSON.

Arguments: `client`, `tool`, `interrupt` or `command`, then the prompt, or several with `; `
between.
"""

import asyncio
import gc
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import claude_agent_sdk
from claude_agent_sdk import (
    AgentDefinition,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

from goop_mcp import ask_until_accepted
from goop_mcp.hosts.frameworks.claude_agent_sdk import envelope_hooks
from goop_mcp.hosts.frameworks.command_line import claude_code
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import BAD_STATUS, GOOD, OPENING
from tests.frameworks.scenes import Payments
from tests.frameworks.scripted_messages import PAY, scripted_messages

PROGRAM = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


async def with_client(prompt: str, address: str) -> dict[str, Any]:
    """Delegate to a subagent under the hooks."""
    outcomes: list[Outcome] = []
    options = ClaudeAgentOptions(
        hooks=envelope_hooks(protocol="goop_report", on_stop=outcomes.append),
        agents={
            "goop-executor": AgentDefinition(description="Does tasks.", prompt="End with a report.")
        },
        allowed_tools=["Agent"],
        env={"ANTHROPIC_BASE_URL": address},
    )
    result = ""
    async for message in query(prompt=prompt, options=options):
        if isinstance(message, ResultMessage):
            result = message.result or ""

    return {"result": result, "outcomes": [shown(outcome) for outcome in outcomes]}


async def with_tool(prompt: str, address: str) -> dict[str, Any]:
    """Send two prompts of one session, with a tool that a person has to allow."""
    outcomes: list[Outcome] = []
    payments, asked = Payments(), list[str]()

    @tool("pay", "Pay the bill.", {})
    async def pay(_arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": payments.pay()}]}

    async def ask_person(name: str, *_: object) -> PermissionResultAllow | PermissionResultDeny:
        asked.append(name)
        return (
            PermissionResultAllow() if len(asked) > 1 else PermissionResultDeny(message="Not yet.")
        )

    options = ClaudeAgentOptions(
        hooks=envelope_hooks(protocol="goop_report", on_stop=outcomes.append),
        mcp_servers={"shop": create_sdk_mcp_server("shop", tools=[pay])},
        can_use_tool=ask_person if "GOOP-ASK" in prompt else None,
        allowed_tools=[] if "GOOP-ASK" in prompt else [PAY],
        env={"ANTHROPIC_BASE_URL": address},
    )
    results = []
    async with ClaudeSDKClient(options) as client:
        for each in prompt.split("; "):
            await client.query(each)
            async for message in client.receive_response():
                if isinstance(message, ResultMessage):
                    results.append((message.result or "").strip())

    return {
        "results": results,
        "asked": asked,
        "made": payments.made,
        "outcomes": [shown(outcome) for outcome in outcomes],
    }


async def with_interrupt(prompt: str, address: str, hanging: threading.Event) -> dict[str, Any]:
    """Interrupt the agent while its model is asked again, or have the model fail then.

    After that send another prompt, or end the session.
    """
    outcomes: list[Outcome] = []
    options = ClaudeAgentOptions(
        hooks=envelope_hooks(protocol="goop_report", on_stop=outcomes.append),
        env={"ANTHROPIC_BASE_URL": address},
    )
    first, *more = prompt.split("; ")
    async with ClaudeSDKClient(options) as client:
        await client.query(first)
        if "GOOP-HANG" in first:
            await asyncio.to_thread(hanging.wait, 20)
            await client.interrupt()
        async for _ in client.receive_response():
            pass
        before = [shown(outcome) for outcome in outcomes]
        for each in more:
            await client.query(each)
            async for _ in client.receive_response():
                pass

    # With the last reference to the hooks nobody can reply any more.
    del client, options
    gc.collect()

    return {"before": before, "outcomes": [shown(outcome) for outcome in outcomes]}


async def with_command(prompt: str, environment: dict[str, str]) -> dict[str, Any]:
    """Ask the program itself, and again with --resume."""
    agent = claude_code(program=str(PROGRAM), environment=environment)
    outcome = await ask_until_accepted(agent, prompt, protocol="goop_report")

    return {
        "result": outcome.text,
        "outcomes": [shown(outcome)],
        "failure": str(outcome.failure or ""),
    }


def shown(outcome: Outcome) -> dict[str, Any]:
    return {
        "accepted": outcome.accepted,
        "stopped_because": outcome.stopped_because,
        "replies": [(attempt.reply or "").strip() for attempt in outcome.attempts],
        "tokens": outcome.usage.tokens,
    }


def main() -> None:
    kind, prompt = sys.argv[1:]
    hanging = threading.Event()
    with scripted_messages(bad=BAD_STATUS, good=GOOD, feedback=OPENING, hanging=hanging) as address:
        if kind == "client":
            scene = asyncio.run(with_client(prompt, address))
        elif kind == "tool":
            scene = asyncio.run(with_tool(prompt, address))
        elif kind == "interrupt":
            scene = asyncio.run(with_interrupt(prompt, address, hanging))
        else:
            scene = asyncio.run(with_command(prompt, {**os.environ, "ANTHROPIC_BASE_URL": address}))

    json.dump(scene, sys.stdout)


if __name__ == "__main__":
    main()
