-- Numbers that memories with nearly the same words share. No index by memory: a memory has its sketches in its row.
ALTER TABLE memories ADD COLUMN sketches TEXT NOT NULL DEFAULT '[]';

CREATE TABLE memory_sketches (
  sketch    INTEGER NOT NULL,
  memory_id INTEGER NOT NULL,
  PRIMARY KEY (sketch, memory_id)
) STRICT, WITHOUT ROWID;
