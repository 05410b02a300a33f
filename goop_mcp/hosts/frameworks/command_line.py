"""Agents that are programs: the same module as `goop_mcp.retry.command_line`.

It stands here too because people look for Claude Code, OpenCode and Codex among the frameworks.
"""

from goop_mcp.retry.command_line import (
    Answer,
    CommandFailedError,
    CommandLineAgent,
    claude_code,
    codex,
    opencode,
)

__all__ = ["Answer", "CommandFailedError", "CommandLineAgent", "claude_code", "codex", "opencode"]
