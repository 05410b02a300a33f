"""The prompts, made from the files in prompts/."""

from typing import Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.prompts import Prompt as SdkPrompt
from mcp.server.mcpserver.prompts.base import Message
from mcp.server.mcpserver.prompts.base import PromptArgument as SdkArgument

from goop_mcp.operations.prompts import Prompt, list_prompts, render_prompt

__all__ = ["add_prompts"]


def add_prompts(server: MCPServer) -> None:
    """Offer every prompt that ships with the package."""
    for prompt in list_prompts():
        server.add_prompt(_offered(prompt))


class _ShippedPrompt(SdkPrompt):
    """A prompt of ours: the operation alone judges the arguments, because it says in our words what is wrong."""

    async def render(self, arguments: dict[str, Any] | None, context: Context[Any, Any]) -> list[Message]:  # noqa: ARG002
        """Return the prompt as one message of the user. Raises GoopError."""
        return [UserMessage(await anyio.to_thread.run_sync(render_prompt, self.name, arguments or {}))]


def _offered(prompt: Prompt) -> _ShippedPrompt:
    return _ShippedPrompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            SdkArgument(name=each.name, description=each.description, required=each.required)
            for each in prompt.arguments
        ],
        fn=render_prompt,
        context_kwarg=None,
    )
