"""What others run goop-mcp with: workflows, the action, hooks of pre-commit, container, service."""
