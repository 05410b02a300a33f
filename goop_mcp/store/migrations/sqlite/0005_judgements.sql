-- Why a call ended, on its last attempt. For calls recorded earlier only acceptance is known.
ALTER TABLE attempts ADD COLUMN ended TEXT;
UPDATE attempts SET ended = CASE result WHEN 'accepted' THEN 'accepted' ELSE 'unknown' END
WHERE number = (SELECT max(last.number) FROM attempts AS last WHERE last.call_id = attempts.call_id);

-- Replies and prompts that were judged where no attempts are recorded: names and numbers, no texts.
CREATE TABLE judgements (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  surface      TEXT NOT NULL,
  result       TEXT NOT NULL,
  has_envelope INTEGER NOT NULL,
  protocol     TEXT,
  agent        TEXT,
  session_id   TEXT,
  rules        TEXT NOT NULL,
  number       INTEGER,
  ended        TEXT,
  created_at   TEXT NOT NULL
) STRICT;

CREATE INDEX judgements_by_time ON judgements (created_at);
