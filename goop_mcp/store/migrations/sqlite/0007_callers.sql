-- Who made a change through a server that requires tokens: the name of the token, by the revision of the change, which
-- the rows written by it hold as well.
CREATE TABLE callers (
  revision   INTEGER PRIMARY KEY,
  caller     TEXT NOT NULL,
  tool       TEXT,
  request_id TEXT NOT NULL
) STRICT;
