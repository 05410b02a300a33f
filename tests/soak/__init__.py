"""Hostile and honest clients together on one server; `python -m tests.soak --minutes 15` prints what came of it."""
