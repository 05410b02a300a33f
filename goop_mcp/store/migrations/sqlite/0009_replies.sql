-- The last reply of each agent, by its name and by the key of the one that runs under it.
CREATE TABLE kept_replies (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  agent      TEXT NOT NULL,
  agent_key  TEXT NOT NULL,
  round      INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  text       TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX kept_replies_of ON kept_replies (agent, agent_key);
CREATE INDEX kept_replies_by_agent ON kept_replies (agent, id);
