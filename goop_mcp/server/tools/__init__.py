"""The tools: each reads its arguments, calls an operation and presents the value."""
