"""The MCP server: tools, resources and prompts over the same operations as every other surface."""
