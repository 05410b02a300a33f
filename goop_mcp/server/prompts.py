"""The prompts, made from the files in prompts/."""

from functools import partial

from mcp.server import MCPServer
from mcp.server.mcpserver.prompts import Prompt as OfferedPrompt
from mcp.server.mcpserver.prompts.base import PromptArgument as OfferedArgument

from goop_mcp.operations.prompts import Prompt, list_prompts, render_prompt

__all__ = ["add_prompts"]


def add_prompts(server: MCPServer) -> None:
    """Offer every prompt that ships with the package."""
    for prompt in list_prompts():
        server.add_prompt(_offered(prompt))


def _offered(prompt: Prompt) -> OfferedPrompt:
    return OfferedPrompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            OfferedArgument(name=each.name, description=each.description, required=each.required)
            for each in prompt.arguments
        ],
        fn=partial(_render, prompt.name),
    )


def _render(prompt: str, /, **arguments: str) -> str:
    return render_prompt(prompt, arguments)
