"""Tests of `goop-mcp audit`."""
