"""Run a check, and record on which files it ran and how it ended.

Loaded only where a run is started or recorded runs are compared with a report. Nothing here uses
the database; `goop_mcp.services.recorded_runs` keeps the runs.
"""
