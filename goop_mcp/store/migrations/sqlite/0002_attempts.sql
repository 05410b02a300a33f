-- Messages to agents and how the replies were judged, for statistics. They have no revision, as no file shows them.
CREATE TABLE attempts (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  call_id    TEXT NOT NULL,
  number     INTEGER NOT NULL,
  result     TEXT NOT NULL,
  way        TEXT NOT NULL,
  agent      TEXT,
  session_id TEXT,
  protocol   TEXT,
  rules      TEXT NOT NULL,
  repairs    TEXT NOT NULL,
  seconds    REAL NOT NULL,
  tokens     INTEGER,
  created_at TEXT NOT NULL,
  message    TEXT,
  reply      TEXT,
  UNIQUE (call_id, number)
) STRICT;

CREATE INDEX attempts_by_time ON attempts (created_at);
