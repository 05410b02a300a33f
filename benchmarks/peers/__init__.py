"""Compare with other libraries that check replies of models and ask again: `make bench-peers`."""
