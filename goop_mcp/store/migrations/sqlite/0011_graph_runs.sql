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

-- The processes that run tasks.
CREATE TABLE graph_runners (
  owner TEXT NOT NULL,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  pid_started TEXT NOT NULL,
  seen_at REAL NOT NULL,
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
