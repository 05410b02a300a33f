-- The runs of checks that goop-mcp started itself. A removed run keeps its row without its content.
CREATE TABLE recorded_runs (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  run        TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at TEXT NOT NULL,
  content    TEXT NOT NULL,
  mac        TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX recorded_runs_by_run ON recorded_runs (run);
