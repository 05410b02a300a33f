"""Where agents run: their hosts and frameworks, each on its own extension point."""
