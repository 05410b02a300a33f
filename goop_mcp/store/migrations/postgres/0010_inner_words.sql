-- The words are computed again by goop_mcp.store.postgres.schema.
COMMENT ON COLUMN goop.memories.search_body IS 'words of the content and the concepts, and inner words of all texts';
