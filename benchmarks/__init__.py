"""Measure goop_mcp beside the libraries it stands on: `make bench`, or `python -m benchmarks NAME`."""
