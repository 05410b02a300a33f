"""Fixtures of the conformance suite: contents of every kind, under names that the suite defines."""

import base64
import json
from typing import Final

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Message
from mcp.types import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

__all__ = ["add_contents"]

_PNG: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg"
    "=="
)
# The head of a WAV file of one channel with 8,000 samples a second, and no samples.
_WAV: Final = base64.b64encode(
    b"RIFF\x24\x00\x00\x00WAVEfmt"
    b" \x10\x00\x00\x00\x01\x00\x01\x00\x40\x1f\x00\x00\x80\x3e\x00\x00\x02\x00\x10\x00"
    b"data\x00\x00\x00\x00"
).decode()
_IMAGE: Final = ImageContent(type="image", data=_PNG, mime_type="image/png")
_BETWEEN: Final = 0.05


def add_contents(server: MCPServer) -> None:
    """Offer tools, resources and prompts that need nothing from the client."""
    _add_tools(server)
    _add_notices(server)
    _add_changes(server)
    _add_resources(server)
    _add_prompts(server)


def _add_tools(server: MCPServer) -> None:
    @server.tool(name="test_simple_text")
    def simple_text() -> str:
        """Return a text."""
        return "This is a simple text response for testing."

    @server.tool(name="test_image_content")
    def image_content() -> ImageContent:
        """Return an image."""
        return _IMAGE

    @server.tool(name="test_audio_content")
    def audio_content() -> AudioContent:
        """Return a sound."""
        return AudioContent(type="audio", data=_WAV, mime_type="audio/wav")

    @server.tool(name="test_embedded_resource")
    def embedded_resource() -> EmbeddedResource:
        """Return a resource."""
        return _embedded(
            "test://embedded-resource", "text/plain", "This is an embedded resource content."
        )

    @server.tool(name="test_multiple_content_types")
    def multiple_content_types() -> list[ContentBlock]:
        """Return a text, an image and a resource."""
        text = TextContent(type="text", text="Multiple content types test:")
        data = json.dumps({"test": "data", "value": 123})
        return [text, _IMAGE, _embedded("test://mixed-content-resource", "application/json", data)]

    @server.tool(name="test_error_handling")
    def error_handling() -> str:
        """Fail."""
        raise ToolError("This tool intentionally returns an error for testing")


def _add_notices(server: MCPServer) -> None:
    @server.tool(name="test_tool_with_logging")
    async def tool_with_logging(ctx: Context) -> str:
        """Say three times how far it is."""
        await ctx.info("Tool execution started")
        await anyio.sleep(_BETWEEN)
        await ctx.info("Tool processing data")
        await anyio.sleep(_BETWEEN)
        await ctx.info("Tool execution completed")
        return "Three messages were sent."

    @server.tool(name="test_tool_with_progress")
    async def tool_with_progress(ctx: Context) -> str:
        """Report progress three times."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
            await anyio.sleep(_BETWEEN)
        return "Progress was reported three times."


def _add_changes(server: MCPServer) -> None:
    @server.tool(name="test_trigger_tool_change")
    async def trigger_tool_change(ctx: Context) -> str:
        """Offer one more tool for a moment."""
        server.add_tool(lambda: "", name="test_passing_tool", description="Is there for a moment.")
        await ctx.notify_tools_changed()
        server.remove_tool("test_passing_tool")
        await ctx.notify_tools_changed()
        return "The list of tools has changed twice."

    @server.tool(name="test_trigger_prompt_change")
    async def trigger_prompt_change(ctx: Context) -> str:
        """Say that the list of prompts has changed."""
        await ctx.notify_prompts_changed()
        return "A change of the list of prompts was reported."


def _add_resources(server: MCPServer) -> None:
    @server.resource("test://static-text", description="A text.", mime_type="text/plain")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", description="An image.", mime_type="image/png")
    def static_binary() -> bytes:
        return base64.b64decode(_PNG)

    @server.resource(
        "test://watched-resource", description="A text to be watched.", mime_type="text/plain"
    )
    def watched() -> str:
        return "This is the content of the watched resource."

    @server.resource(
        "test://template/{id}/data", description="Data of an id.", mime_type="application/json"
    )
    def data(id: str) -> str:
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


def _add_prompts(server: MCPServer) -> None:
    @server.prompt(name="test_simple_prompt")
    def simple_prompt() -> str:
        """Return a text."""
        return "This is a simple prompt for testing."

    @server.prompt(name="test_prompt_with_arguments")
    def prompt_with_arguments(arg1: str, arg2: str) -> str:
        """Return a text with two arguments in it."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt(name="test_prompt_with_embedded_resource")
    # The suite's own name
    def prompt_with_embedded_resource(resourceUri: str) -> list[Message]:  # noqa: N803
        """Return a resource and a text."""
        resource = _embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
        return [UserMessage(resource), UserMessage("Please process the embedded resource above.")]

    @server.prompt(name="test_prompt_with_image")
    def prompt_with_image() -> list[Message]:
        """Return an image and a text."""
        return [UserMessage(_IMAGE), UserMessage("Please analyze the image above.")]


def _embedded(uri: str, media_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=media_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)
