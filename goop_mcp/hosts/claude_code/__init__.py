"""Claude Code: its hooks, which are a process for each event (`goop-mcp hook claude-code`)."""
