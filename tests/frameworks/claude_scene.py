"""One scene with the real Claude Code and a scripted model, as a program: print what became of it as JSON.

Arguments: `client` or `command`, then the prompt.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import claude_agent_sdk
from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, ResultMessage, query

from goop_mcp import ask_until_accepted
from goop_mcp.hosts.frameworks.claude_agent_sdk import envelope_hooks
from goop_mcp.hosts.frameworks.command_line import claude_code
from goop_mcp.retry import Outcome
from tests.frameworks.recipes import BAD_STATUS, GOOD, OPENING
from tests.frameworks.scripted_messages import scripted_messages

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
    with scripted_messages(bad=BAD_STATUS, good=GOOD, feedback=OPENING) as address:
        if kind == "client":
            scene = asyncio.run(with_client(prompt, address))
        else:
            scene = asyncio.run(with_command(prompt, {**os.environ, "ANTHROPIC_BASE_URL": address}))

    json.dump(scene, sys.stdout)


if __name__ == "__main__":
    main()
