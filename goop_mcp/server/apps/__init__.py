"""Views that hosts with MCP Apps show next to the answers of tools.

The text and the structure of an answer are complete without them: several hosts show none.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from mcp.server.apps import Apps
from mcp.server.mcpserver.tools import Tool

__all__ = ["VIEWS", "tool_views"]

VIEWS: Final = {
    "validate_report": ("ui://goop/verdict", "verdict.html", "The verdict on a report"),
    "build_handoff": ("ui://goop/handoff", "handoff.html", "A form for a handoff"),
}
"""Address, file and title of the view of a tool."""

_HERE: Final = Path(__file__).parent


def tool_views(tools: Iterable[Tool]) -> Apps:
    """Return the views of those of `tools` that have one, and name them in the tools."""
    apps = Apps()
    for tool in tools:
        if tool.name in VIEWS:
            uri, file, title = VIEWS[tool.name]
            # A view may load nothing: the style and the script that all share become part of it.
            names = (file, "view.css", "view.js")
            page, style, script = ((_HERE / each).read_text(encoding="utf-8") for each in names)
            page = page.replace("/* view.css */", style).replace("// view.js", script)
            # The tools exist already, with schemas of their own; the extension would make others.
            tool.meta = {**(tool.meta or {}), "ui": {"resourceUri": uri}}
            apps.add_html_resource(
                uri,
                page,
                name=f"view-{tool.name}",
                title=title,
                description="For hosts that show views; the answer is complete without it.",
                prefers_border=True,
            )

    return apps
