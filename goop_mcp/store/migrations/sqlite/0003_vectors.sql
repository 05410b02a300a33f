-- Vectors of an embedder, where one is configured: 32-bit floats, little-endian.
CREATE TABLE vectors (
  memory_id INTEGER NOT NULL,
  model     TEXT NOT NULL,
  vector    BLOB NOT NULL,
  PRIMARY KEY (memory_id, model)
) STRICT;

DROP INDEX reports_by_task;
CREATE INDEX reports_by_task ON reports (task_id, agent, phase);
CREATE INDEX reports_by_revision ON reports (revision);
