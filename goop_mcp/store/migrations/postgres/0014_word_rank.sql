-- Candidates are ordered by ts_rank instead of ts_rank_cd, which took 5 to 75 microseconds a memory, the more words
-- were asked for: most of the time of a search. How close the words are to each other hardly matters here, as the
-- best candidates are ordered once more, by how rare their words are.
CREATE OR REPLACE FUNCTION goop.find_memories(
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
        ORDER BY ts_rank(words.tsv, asked) DESC, words.memory_id DESC LIMIT most;
    ELSE
        RETURN QUERY SELECT words.memory_id, words.tsv FROM goop.memory_words AS words
        WHERE words.tsv @@ (asked && required) AND words.importance >= least_importance
            AND words.tenant IS NOT DISTINCT FROM current_setting('app.tenant', true)
            AND words.project IS NOT DISTINCT FROM current_setting('app.project', true)
        ORDER BY ts_rank(words.tsv, asked) DESC, words.memory_id DESC LIMIT most;
    END IF;
END $$;
