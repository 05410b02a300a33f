"""Ours beside other libraries that check what a model says and ask again: `make bench-peers`."""
