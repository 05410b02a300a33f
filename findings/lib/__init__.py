"""What findings share: scripted models, and an MCP server that sends what it is given."""
