-- The application id: the letters goop in ASCII.
PRAGMA application_id = 0x676F6F70;

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('revision', 0);

-- AUTOINCREMENT: the id of a purged memory is never used again. Long texts are last, as SQLite reads a row from its
-- start: the other columns are then read without them.
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
  title           TEXT NOT NULL,
  concepts        TEXT NOT NULL,
  concept_words   TEXT NOT NULL,
  source_files    TEXT NOT NULL,
  facts           TEXT NOT NULL,
  content         TEXT NOT NULL
) STRICT;

-- Case-folded. No index by memory, which every save would pay for: a memory has its concepts in its row.
CREATE TABLE memory_concepts (
  concept   TEXT NOT NULL,
  memory_id INTEGER NOT NULL,
  PRIMARY KEY (concept, memory_id)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE memory_index USING fts5 (
  title, content, concept_words,
  content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

CREATE VIRTUAL TABLE memory_vocabulary USING fts5vocab ('memory_index', 'row');

CREATE TRIGGER memories_inserted AFTER INSERT ON memories BEGIN
  INSERT INTO memory_index (rowid, title, content, concept_words)
  VALUES (new.id, new.title, new.content, new.concept_words);
END;

CREATE TRIGGER memories_deleted AFTER DELETE ON memories BEGIN
  INSERT INTO memory_index (memory_index, rowid, title, content, concept_words)
  VALUES ('delete', old.id, old.title, old.content, old.concept_words);
END;

CREATE TRIGGER memories_updated AFTER UPDATE OF title, content, concept_words ON memories BEGIN
  INSERT INTO memory_index (memory_index, rowid, title, content, concept_words)
  VALUES ('delete', old.id, old.title, old.content, old.concept_words);
  INSERT INTO memory_index (rowid, title, content, concept_words)
  VALUES (new.id, new.title, new.content, new.concept_words);
END;

CREATE TABLE reports (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  protocol        TEXT NOT NULL,
  idempotency_key TEXT NOT NULL UNIQUE,
  envelope        TEXT NOT NULL,
  verdict         TEXT NOT NULL,
  decision        TEXT NOT NULL,
  agent           TEXT,
  phase           TEXT,
  task_id         TEXT,
  status          TEXT,
  revision        INTEGER NOT NULL,
  created_at      TEXT NOT NULL
) STRICT;

CREATE INDEX reports_by_task ON reports (task_id);

CREATE TABLE events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  kind       TEXT NOT NULL,
  author     TEXT NOT NULL,
  text       TEXT NOT NULL,
  document   TEXT,
  revision   INTEGER NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_revision ON events (revision);

CREATE TABLE projections (
  path           TEXT PRIMARY KEY,
  revision       INTEGER NOT NULL,
  sha256         TEXT,
  pending_sha256 TEXT
) STRICT, WITHOUT ROWID;
