"""Compare goop_mcp with the libraries it uses: `make bench`, or `python -m benchmarks NAME`."""
