"""The recipes of docs/gates.md, run with the real programs: `make gates`."""
