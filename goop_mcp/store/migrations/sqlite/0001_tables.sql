-- The application id: the letters goop in ASCII.
PRAGMA application_id = 0x676F6F70;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- reports_changed_at: the revision at which reports last changed other than by adding one.
INSERT INTO meta (key, value) VALUES ('revision', 0), ('reports_changed_at', 0);

-- AUTOINCREMENT: the id of a purged memory is never used again. Long texts are last, as SQLite reads a row from its
-- start: the other columns are then read without them. Python makes inner_words (words inside of others) and
-- filter_tokens (filters, read in the index instead of in the rows); forgotten memories have neither.
CREATE TABLE memories (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  type            TEXT NOT NULL,
  importance      REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
  revision        INTEGER NOT NULL,
  created_at      TEXT NOT NULL,
  forgotten_at    TEXT,
  uid             TEXT NOT NULL UNIQUE,
  idempotency_key TEXT UNIQUE,
  fingerprint     TEXT UNIQUE,
  agent           TEXT,
  session_id      TEXT,
  filter_tokens   TEXT NOT NULL,
  sketches        TEXT NOT NULL,
  title           TEXT NOT NULL,
  concepts        TEXT NOT NULL,
  concept_words   TEXT NOT NULL,
  source_files    TEXT NOT NULL,
  facts           TEXT NOT NULL,
  inner_words     TEXT NOT NULL,
  content         TEXT NOT NULL
) STRICT;

-- Case-folded. No index by memory, which every save would pay for: a memory has its concepts in its row.
CREATE TABLE memory_concepts (
  concept   TEXT NOT NULL,
  memory_id INTEGER NOT NULL,
  PRIMARY KEY (concept, memory_id)
) STRICT, WITHOUT ROWID;

-- Numbers that memories with nearly the same words share. No index by memory: a memory has its sketches in its row.
CREATE TABLE memory_sketches (
  sketch    INTEGER NOT NULL,
  memory_id INTEGER NOT NULL,
  PRIMARY KEY (sketch, memory_id)
) STRICT, WITHOUT ROWID;

-- A report with a reason in retired no longer counts. Long texts are last, as in memories.
CREATE TABLE reports (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  protocol        TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  agent           TEXT,
  phase           TEXT,
  task_id         TEXT,
  status          TEXT,
  revision        INTEGER NOT NULL,
  created_at      TEXT NOT NULL,
  round           INTEGER NOT NULL,
  retired         TEXT,
  envelope        TEXT NOT NULL,
  verdict         TEXT NOT NULL,
  decision        TEXT NOT NULL
) STRICT;

CREATE INDEX reports_by_task ON reports (round, json_array(task_id, agent, phase), id) WHERE retired IS NULL;

-- With retired in it, reports are counted without reading their rows, which hold long texts.
CREATE INDEX reports_by_round ON reports (round, revision, id, retired);
CREATE INDEX reports_by_revision ON reports (revision);

CREATE TABLE events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL,
  author     TEXT NOT NULL,
  text       TEXT NOT NULL,
  document   TEXT,
  revision   INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

-- Every record queries what a document shows and the newest report of each task. Without these indexes, the time for
-- that grows with the number of records.
CREATE INDEX events_by_document ON events (document, revision);
CREATE INDEX events_by_revision ON events (revision);
CREATE INDEX events_by_kind ON events (document, kind, revision);

CREATE TABLE projections (
  path           TEXT PRIMARY KEY,
  revision       INTEGER NOT NULL,
  sha256         TEXT,
  pending_sha256 TEXT
) STRICT, WITHOUT ROWID;

-- Messages to agents and how the replies were judged, for statistics. They have no revision, as no file shows them.
-- ended: why the call ended, on its last attempt.
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
  ended      TEXT,
  UNIQUE (call_id, number)
) STRICT;

CREATE INDEX attempts_by_time ON attempts (created_at);

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

-- Who made a change through a server that requires tokens: the name of the token, by the revision of the change, which
-- the rows written by it hold as well.
CREATE TABLE callers (
  revision   INTEGER PRIMARY KEY,
  caller     TEXT NOT NULL,
  tool       TEXT,
  request_id TEXT NOT NULL
) STRICT;

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

CREATE VIRTUAL TABLE memory_index USING fts5 (
  title, content, concept_words, inner_words, filter_tokens,
  content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1);

CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab ('memory_index', 'row');

CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN
  INSERT INTO memory_index (rowid, title, content, concept_words, inner_words, filter_tokens)
  VALUES (new.id, new.title, new.content, new.concept_words, new.inner_words, new.filter_tokens);
END;

CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN
  INSERT INTO memory_index (memory_index, rowid, title, content, concept_words, inner_words, filter_tokens)
  VALUES ('delete', old.id, old.title, old.content, old.concept_words, old.inner_words, old.filter_tokens);
END;

CREATE TRIGGER memories_updated
AFTER UPDATE OF title, content, concept_words, inner_words, filter_tokens ON memories BEGIN
  INSERT INTO memory_index (memory_index, rowid, title, content, concept_words, inner_words, filter_tokens)
  VALUES ('delete', old.id, old.title, old.content, old.concept_words, old.inner_words, old.filter_tokens);
  INSERT INTO memory_index (rowid, title, content, concept_words, inner_words, filter_tokens)
  VALUES (new.id, new.title, new.content, new.concept_words, new.inner_words, new.filter_tokens);
END;

-- A run of a delegation graph; graph, input, options and edges are JSON.
CREATE TABLE graph_runs (
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  graph TEXT NOT NULL,
  graph_hash TEXT NOT NULL,
  input TEXT NOT NULL,
  options TEXT NOT NULL,
  edges TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at TEXT NOT NULL,
  ended_at TEXT,
  deadline_at REAL,
  spent_tokens INTEGER NOT NULL,
  reserved_tokens INTEGER NOT NULL,
  spent_calls INTEGER NOT NULL,
  spent_cost REAL NOT NULL,
  trace_id TEXT,
  last_seq INTEGER NOT NULL,
  PRIMARY KEY (id)
) STRICT;

-- The tasks and gates of runs: what they wait for, who works on them, what came of them.
CREATE TABLE graph_tasks (
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  round INTEGER NOT NULL,
  parent TEXT,
  depth INTEGER NOT NULL,
  spec TEXT NOT NULL,
  prompt TEXT,
  notes TEXT,
  optional INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  distance INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT,
  message TEXT,
  ready_at REAL,
  deadline_at REAL,
  fence INTEGER NOT NULL,
  owner TEXT,
  lease_until REAL,
  cancel_requested INTEGER NOT NULL,
  session TEXT,
  program_pid INTEGER,
  program_started TEXT,
  task_key TEXT,
  decision TEXT,
  result TEXT,
  report INTEGER,
  PRIMARY KEY (run, id)
) STRICT;

-- The edges of runs: `task` needs `need`.
CREATE TABLE graph_needs (
  run TEXT NOT NULL,
  task TEXT NOT NULL,
  need TEXT NOT NULL,
  PRIMARY KEY (run, task, need)
) STRICT, WITHOUT ROWID;

-- Each message to an agent, written before it is sent.
CREATE TABLE graph_attempts (
  run TEXT NOT NULL,
  task TEXT NOT NULL,
  round INTEGER NOT NULL,
  number INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  way TEXT NOT NULL,
  message TEXT NOT NULL,
  outcome TEXT,
  reserved INTEGER NOT NULL,
  began_at TEXT NOT NULL,
  ended_at TEXT,
  PRIMARY KEY (run, task, round, number)
) STRICT;

-- What happened in runs, in order; only added.
CREATE TABLE graph_events (
  run TEXT NOT NULL,
  seq INTEGER NOT NULL,
  at TEXT NOT NULL,
  task TEXT,
  what TEXT NOT NULL,
  data TEXT NOT NULL,
  PRIMARY KEY (run, seq)
) STRICT;

-- The processes that run tasks: also whether somebody works on a run while none of its tasks is under way. stands_by:
-- only waits for tasks of it, as the worker of a queue does.
CREATE TABLE graph_runners (
  owner TEXT NOT NULL,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  pid_started TEXT NOT NULL,
  seen_at REAL NOT NULL,
  run TEXT,
  stands_by INTEGER NOT NULL,
  PRIMARY KEY (owner)
) STRICT;

-- How the calls of each agent went, for all runners.
CREATE TABLE graph_circuits (
  agent TEXT NOT NULL,
  failures INTEGER NOT NULL,
  open_until REAL NOT NULL,
  next_call_at REAL NOT NULL,
  usages TEXT NOT NULL,
  PRIMARY KEY (agent)
) STRICT;

CREATE INDEX graph_runs_by_name ON graph_runs (name, created_at);
CREATE INDEX graph_tasks_in_state ON graph_tasks (run, state, priority, distance, id);
CREATE INDEX graph_tasks_of_owner ON graph_tasks (owner, state);
CREATE INDEX graph_needs_of ON graph_needs (run, need);

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

-- A new run looks for tasks that other runs have results for.
CREATE INDEX graph_tasks_by_key ON graph_tasks (task_key) WHERE state = 'accepted' AND task_key IS NOT NULL;

-- Reports of rounds of tasks that are over, as after feedback, until they are recorded: the rows of
-- the tasks have moved on.
CREATE TABLE graph_reports (
  run TEXT NOT NULL,
  task TEXT NOT NULL,
  fence INTEGER NOT NULL,
  round INTEGER NOT NULL,
  spec TEXT NOT NULL,
  owner TEXT,
  result TEXT NOT NULL,
  PRIMARY KEY (run, task, fence)
) STRICT;

CREATE INDEX graph_reports_of_owner ON graph_reports (owner) WHERE owner IS NOT NULL;
CREATE INDEX graph_runners_of_run ON graph_runners (run, seen_at) WHERE run IS NOT NULL;
