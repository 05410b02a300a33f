-- Who changed something through a server that asks for tokens: the name of the token, by the revision of the change,
-- which every row that was written then bears as well.
CREATE TABLE callers (
  revision   INTEGER PRIMARY KEY,
  caller     TEXT NOT NULL,
  tool       TEXT,
  request_id TEXT NOT NULL
) STRICT;
