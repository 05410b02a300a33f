"""The prompts, made from the files in prompts/."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.prompts import Prompt as SdkPrompt
from mcp.server.mcpserver.prompts.base import Message
from mcp.server.mcpserver.prompts.base import PromptArgument as SdkArgument
from pydantic import Field

from goop_mcp.services.prompts import list_prompts, render_prompt

if TYPE_CHECKING:
    from goop_mcp.context import AppContext

__all__ = ["add_prompts"]


def add_prompts(server: MCPServer, application: "AppContext") -> None:
    """Offer every prompt that ships with the package.

    Prompts about a project read the project of `application`, prompts about a reply judge it by
    its rules.
    """
    fill = partial(
        render_prompt,
        find_document=application.find_document,
        rules=application.rules,
        project=application.settings.project,
    )
    for prompt in list_prompts():
        server.add_prompt(
            _ShippedPrompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    SdkArgument(
                        name=each.name, description=each.description, required=each.required
                    )
                    for each in prompt.arguments
                ],
                # Required by the SDK and never called: `render` below replaces what would call it.
                fn=render_prompt,
                fill=fill,
                context_kwarg=None,
            )
        )


class _ShippedPrompt(SdkPrompt):
    """A prompt of the package; `render_prompt` checks its arguments, with better messages."""

    fill: Callable[[str, Mapping[str, str]], str] = Field(exclude=True)

    # The SDK passes the context, which is not needed here.
    async def render(
        self,
        arguments: dict[str, Any] | None,
        context: Context[Any, Any],  # noqa: ARG002
    ) -> list[Message]:
        """Return the prompt as one message of the user. Raises GoopError."""
        return [UserMessage(await anyio.to_thread.run_sync(self.fill, self.name, arguments or {}))]
