-- Words inside of others, and tokens for filters, which are read in the index instead of in the rows. Python computes
-- both (goop_mcp.store.sqlite.connection); forgotten memories have neither.
DROP TRIGGER memories_inserted;
DROP TRIGGER memories_updated;
DROP TRIGGER memories_deleted;
DROP TABLE memory_vocabulary;
DROP TABLE memory_index;

ALTER TABLE memories ADD COLUMN inner_words TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN filter_tokens TEXT NOT NULL DEFAULT '';

UPDATE memories
SET inner_words = goop_inner_words(title, content, concepts),
  filter_tokens = goop_filter_tokens(type, importance, concepts)
WHERE forgotten_at IS NULL;

CREATE VIRTUAL TABLE memory_index USING fts5 (
  title, content, concept_words, inner_words, filter_tokens,
  content = 'memories', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO memory_index (memory_index, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_index (memory_index) VALUES ('rebuild');

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
