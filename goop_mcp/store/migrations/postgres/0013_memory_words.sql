-- The words of memories in a table of their own, which two functions search with the rights of its owner.
--
-- Under row-level security PostgreSQL uses an index only for operators that are marked as leakproof, and `@@` is not:
-- each search would scan every memory of the project. The functions compare tenant and project themselves, with the
-- settings that the policies of the other tables compare. Row-level security binds every other statement of goop_app
-- on this table; it is not forced, or it would bind the functions too.
CREATE TABLE goop.memory_words (
    tenant text NOT NULL,
    project text NOT NULL,
    memory_id bigint NOT NULL,
    importance double precision NOT NULL,
    -- Words of the title (weight A) and of the rest (B), tokens of filters and of the project (without a weight).
    tsv tsvector NOT NULL,
    PRIMARY KEY (tenant, project, memory_id)
);
CREATE INDEX memory_words_by_word ON goop.memory_words USING gin (tsv) WITH (fastupdate = off);

ALTER TABLE goop.memory_words ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.memory_words
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

-- The plan must not depend on statistics, which a table that has just been filled lacks. Words are looked up in the
-- index of words: IS NOT DISTINCT FROM compares tenant and project like =, but keeps the primary key from being used.
-- Words that most memories have are searched in the newest memories, by the primary key.
--
-- The best memories for `asked` among those that have the tokens of `required`. With `after` above 0, those with a
-- larger id are read one by one.
CREATE FUNCTION goop.find_memories(
    asked tsquery, required tsquery, least_importance double precision, after bigint, most integer
) RETURNS TABLE (memory_id bigint, tsv tsvector)
LANGUAGE plpgsql STABLE SECURITY DEFINER ROWS 200
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    IF after > 0 THEN
        RETURN QUERY SELECT words.memory_id, words.tsv FROM goop.memory_words AS words
        WHERE words.tenant = current_setting('app.tenant', true)
            AND words.project = current_setting('app.project', true) AND words.memory_id > after
            -- Not the index, which would first collect every memory with these words.
            AND (words.tsv @@ (asked && required)) IS TRUE AND words.importance >= least_importance
        ORDER BY ts_rank_cd(words.tsv, asked) DESC, words.memory_id DESC LIMIT most;
    ELSE
        RETURN QUERY SELECT words.memory_id, words.tsv FROM goop.memory_words AS words
        WHERE words.tsv @@ (asked && required) AND words.importance >= least_importance
            AND words.tenant IS NOT DISTINCT FROM current_setting('app.tenant', true)
            AND words.project IS NOT DISTINCT FROM current_setting('app.project', true)
        ORDER BY ts_rank_cd(words.tsv, asked) DESC, words.memory_id DESC LIMIT most;
    END IF;
END $$;

-- How many memories match `asked`, counted up to `most`.
CREATE FUNCTION goop.count_memories(asked tsquery, most integer) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off
AS $$
BEGIN
    RETURN (SELECT count(*) FROM (
        SELECT FROM goop.memory_words AS words
        WHERE words.tsv @@ asked
            AND words.tenant IS NOT DISTINCT FROM current_setting('app.tenant', true)
            AND words.project IS NOT DISTINCT FROM current_setting('app.project', true)
        LIMIT most
    ) AS counted);
END $$;

REVOKE EXECUTE ON FUNCTION goop.find_memories, goop.count_memories FROM PUBLIC;

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.memory_words TO goop_app;
        GRANT EXECUTE ON FUNCTION goop.find_memories, goop.count_memories TO goop_app;
    END IF;
END $$;

-- The rows are made by goop_mcp.store.postgres.schema, as identifiers are split by code of this program.
ALTER TABLE goop.memories DROP COLUMN tsv, DROP COLUMN search_title, DROP COLUMN search_body;
