"""Where agents run: their hosts and frameworks, each on its own extension point."""
"""What connects goop-mcp to the programs in which agents run."""
