-- Numbers that memories of nearly the same words share. Without an index by memory: a memory knows its sketches.
ALTER TABLE memories ADD COLUMN sketches TEXT NOT NULL DEFAULT '[]';

CREATE TABLE memory_sketches (
  sketch    INTEGER NOT NULL,
  memory_id INTEGER NOT NULL,
  PRIMARY KEY (sketch, memory_id)
) STRICT, WITHOUT ROWID;
