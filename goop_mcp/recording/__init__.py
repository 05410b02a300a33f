"""Recorded runs: what goop-mcp saw itself when a command ran."""
