"""Hostile and honest clients on one server; `python -m tests.soak --minutes 15` prints a table."""
