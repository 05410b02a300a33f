-- The work from one plan to its acceptance. A project without a row is in round 1, open since its beginning.
CREATE TABLE rounds (
  number          INTEGER PRIMARY KEY,
  first_revision  INTEGER NOT NULL,
  closed_revision INTEGER,
  name            TEXT,
  opened_at       TEXT,
  closed_at       TEXT,
  outcome         TEXT,
  plan_sha256     TEXT
) STRICT;

-- A report with a reason in retired no longer counts.
ALTER TABLE reports ADD COLUMN round INTEGER NOT NULL DEFAULT 1;
ALTER TABLE reports ADD COLUMN retired TEXT;

DROP INDEX reports_by_task;
CREATE INDEX reports_by_task ON reports (round, json_array(task_id, agent, phase), id) WHERE retired IS NULL;
-- With retired in it, reports are counted without reading their rows, which hold long texts.
CREATE INDEX reports_by_round ON reports (round, revision, id, retired);

-- The revision at which reports last changed other than by adding one.
INSERT INTO meta (key, value) VALUES ('reports_changed_at', 0);

CREATE TABLE confirmations (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  action      TEXT NOT NULL,
  subject_key TEXT NOT NULL,
  subject     TEXT NOT NULL,
  round       INTEGER NOT NULL,
  revision    INTEGER NOT NULL,
  asked_by    TEXT NOT NULL,
  asked_at    TEXT NOT NULL,
  status      TEXT NOT NULL,
  via         TEXT,
  comment     TEXT,
  answered_at TEXT,
  summary     TEXT NOT NULL,
  arguments   TEXT NOT NULL
) STRICT;

CREATE UNIQUE INDEX confirmations_asked ON confirmations (round, action, subject_key) WHERE status = 'open';
CREATE INDEX confirmations_given ON confirmations (round, id) WHERE status = 'confirmed';
CREATE INDEX confirmations_open ON confirmations (id) WHERE status = 'open';

-- The state, where many machines share the database. One row.
CREATE TABLE project_state (
  id       INTEGER PRIMARY KEY CHECK (id = 1),
  revision INTEGER NOT NULL,
  text     TEXT NOT NULL
) STRICT;

-- Documents of people as they were when a step judged them.
CREATE TABLE kept_documents (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  step       TEXT NOT NULL,
  round      INTEGER NOT NULL,
  sha256     TEXT NOT NULL,
  revision   INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  text       TEXT NOT NULL
) STRICT;

CREATE INDEX kept_documents_by_name ON kept_documents (name, id);
CREATE INDEX kept_documents_by_step ON kept_documents (round, step, name, id);

-- JSON for each task; those of the round itself have the empty task.
CREATE TABLE counters (
  round INTEGER NOT NULL,
  task  TEXT NOT NULL,
  json  TEXT NOT NULL,
  PRIMARY KEY (round, task)
) STRICT, WITHOUT ROWID;
