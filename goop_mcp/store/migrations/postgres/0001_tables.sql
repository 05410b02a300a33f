CREATE SCHEMA IF NOT EXISTS goop;

CREATE TABLE goop.versions (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- One row for each project: its revision and the last id of each kind. No id is used twice. reports_changed_at: the
-- revision at which reports last changed other than by adding one. written_*: which transaction wrote the counters
-- last, in which table and when. A row that another transaction has written came from a copy: revisions that were given
-- after the copy was made must not be given again.
CREATE TABLE goop.meta (
    tenant text NOT NULL,
    project text NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    memory_id bigint NOT NULL DEFAULT 0,
    report_id bigint NOT NULL DEFAULT 0,
    event_id bigint NOT NULL DEFAULT 0,
    attempt_id bigint NOT NULL DEFAULT 0,
    judgement_id bigint NOT NULL DEFAULT 0,
    reports_changed_at bigint NOT NULL DEFAULT 0,
    confirmation_id bigint NOT NULL DEFAULT 0,
    document_id bigint NOT NULL DEFAULT 0,
    reply_id bigint NOT NULL DEFAULT 0,
    run_id bigint NOT NULL DEFAULT 0,
    written_by bigint,
    written_in bigint,
    written_at timestamptz,
    PRIMARY KEY (tenant, project)
);

CREATE TABLE goop.memories (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    uid text NOT NULL,
    type text NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    concepts text[] NOT NULL,
    facts text[] NOT NULL,
    source_files text[] NOT NULL,
    importance double precision NOT NULL CHECK (importance BETWEEN 0 AND 1),
    agent text,
    session_id text,
    idempotency_key text,
    fingerprint text,
    revision bigint NOT NULL,
    created_at text NOT NULL,
    forgotten_at text,
    -- Concepts in one case, for the filter.
    concept_keys text[] NOT NULL,
    sketches bigint[] NOT NULL,
    PRIMARY KEY (tenant, project, id),
    UNIQUE (tenant, project, uid),
    UNIQUE (tenant, project, idempotency_key),
    UNIQUE (tenant, project, fingerprint)
);

-- Numbers that memories with nearly the same words share. No index by memory: a memory has its sketches in its row.
CREATE TABLE goop.memory_sketches (
    tenant text NOT NULL,
    project text NOT NULL,
    sketch bigint NOT NULL,
    memory_id bigint NOT NULL,
    PRIMARY KEY (tenant, project, sketch, memory_id)
);

-- A report with a reason in retired no longer counts.
CREATE TABLE goop.reports (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    protocol text NOT NULL,
    idempotency_key text NOT NULL,
    envelope text NOT NULL,
    verdict text NOT NULL,
    decision text NOT NULL,
    agent text,
    phase text,
    task_id text,
    status text,
    revision bigint NOT NULL,
    created_at text NOT NULL,
    round bigint NOT NULL,
    retired text,
    PRIMARY KEY (tenant, project, id),
    UNIQUE (tenant, project, idempotency_key)
);
CREATE INDEX reports_by_task ON goop.reports (tenant, project, round, task_id, agent, phase, id)
    WHERE retired IS NULL;
CREATE INDEX reports_by_round ON goop.reports (tenant, project, round, revision, id, retired);
CREATE INDEX reports_by_revision ON goop.reports (tenant, project, revision);

CREATE TABLE goop.events (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    kind text NOT NULL,
    author text NOT NULL,
    text text NOT NULL,
    document text,
    revision bigint NOT NULL,
    created_at text NOT NULL,
    PRIMARY KEY (tenant, project, id)
);

-- Every record queries what a document shows. Without these indexes, the time grows with the number of records.
CREATE INDEX events_by_document ON goop.events (tenant, project, document, revision);
CREATE INDEX events_by_revision ON goop.events (tenant, project, revision);
CREATE INDEX events_by_kind ON goop.events (tenant, project, document, kind, revision);

CREATE TABLE goop.projections (
    tenant text NOT NULL,
    project text NOT NULL,
    path text NOT NULL COLLATE "C",
    revision bigint NOT NULL,
    sha256 text,
    pending_sha256 text,
    PRIMARY KEY (tenant, project, path)
);

-- Messages to agents and how the replies were judged, for statistics. They have no revision, as no file shows them.
-- ended: why the call ended, on its last attempt.
CREATE TABLE goop.attempts (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    call_id text NOT NULL,
    number bigint NOT NULL,
    result text NOT NULL,
    way text NOT NULL,
    agent text,
    session_id text,
    protocol text,
    rules text[] NOT NULL,
    repairs text[] NOT NULL,
    seconds double precision NOT NULL,
    tokens bigint,
    created_at text NOT NULL COLLATE "C",
    message text,
    reply text,
    ended text,
    PRIMARY KEY (tenant, project, id),
    UNIQUE (tenant, project, call_id, number)
);
CREATE INDEX attempts_by_time ON goop.attempts (tenant, project, created_at);

-- Replies and prompts that were judged where no attempts are recorded: names and numbers, no texts.
CREATE TABLE goop.judgements (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    surface text NOT NULL,
    result text NOT NULL,
    has_envelope boolean NOT NULL,
    protocol text,
    agent text,
    session_id text,
    rules text[] NOT NULL,
    number bigint,
    ended text,
    created_at text NOT NULL COLLATE "C",
    PRIMARY KEY (tenant, project, id)
);
CREATE INDEX judgements_by_time ON goop.judgements (tenant, project, created_at);

-- Who made a change through a server that requires tokens: the name of the token, by the revision of the change, which
-- the rows written by it hold as well.
CREATE TABLE goop.callers (
    tenant text NOT NULL,
    project text NOT NULL,
    revision bigint NOT NULL,
    caller text NOT NULL,
    tool text,
    request_id text NOT NULL,
    PRIMARY KEY (tenant, project, revision)
);

-- The work from one plan to its acceptance. A project without a row is in round 1, open since its beginning.
CREATE TABLE goop.rounds (
    tenant text NOT NULL,
    project text NOT NULL,
    number bigint NOT NULL,
    first_revision bigint NOT NULL,
    closed_revision bigint,
    name text,
    opened_at text,
    closed_at text,
    outcome text,
    plan_sha256 text,
    PRIMARY KEY (tenant, project, number)
);

CREATE TABLE goop.confirmations (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    action text NOT NULL,
    subject_key text NOT NULL,
    subject text NOT NULL,
    round bigint NOT NULL,
    revision bigint NOT NULL,
    asked_by text NOT NULL,
    asked_at text NOT NULL,
    status text NOT NULL,
    via text,
    comment text,
    answered_at text,
    summary text NOT NULL,
    arguments text NOT NULL,
    PRIMARY KEY (tenant, project, id)
);
CREATE UNIQUE INDEX confirmations_asked ON goop.confirmations (tenant, project, round, action, subject_key)
    WHERE status = 'open';
CREATE INDEX confirmations_given ON goop.confirmations (tenant, project, round, id) WHERE status = 'confirmed';
CREATE INDEX confirmations_open ON goop.confirmations (tenant, project, id) WHERE status = 'open';

-- The state, where many machines share the database. One row for each project.
CREATE TABLE goop.project_state (
    tenant text NOT NULL,
    project text NOT NULL,
    revision bigint NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant, project)
);

-- Documents of people as they were when a step judged them.
CREATE TABLE goop.kept_documents (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    name text NOT NULL,
    step text NOT NULL,
    round bigint NOT NULL,
    sha256 text NOT NULL,
    revision bigint NOT NULL,
    created_at text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant, project, id)
);
CREATE INDEX kept_documents_by_name ON goop.kept_documents (tenant, project, name, id);
CREATE INDEX kept_documents_by_step ON goop.kept_documents (tenant, project, round, step, name, id);

-- JSON for each task; those of the round itself have the empty task.
CREATE TABLE goop.counters (
    tenant text NOT NULL,
    project text NOT NULL,
    round bigint NOT NULL,
    task text NOT NULL,
    json text NOT NULL,
    PRIMARY KEY (tenant, project, round, task)
);

-- The last reply of each agent, by its name and by the key of the one that runs under it.
CREATE TABLE goop.kept_replies (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    agent text NOT NULL,
    agent_key text NOT NULL,
    round bigint NOT NULL,
    created_at text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (tenant, project, id)
);
CREATE UNIQUE INDEX kept_replies_of ON goop.kept_replies (tenant, project, agent, agent_key);
CREATE INDEX kept_replies_by_agent ON goop.kept_replies (tenant, project, agent, id);

-- A run of a delegation graph; graph, input, options and edges are JSON.
CREATE TABLE goop.graph_runs (
    tenant text NOT NULL,
    project text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    graph text NOT NULL,
    graph_hash text NOT NULL,
    input text NOT NULL,
    options text NOT NULL,
    edges text NOT NULL,
    state text NOT NULL,
    created_at text NOT NULL,
    ended_at text,
    deadline_at double precision,
    spent_tokens bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    spent_calls bigint NOT NULL,
    spent_cost double precision NOT NULL,
    trace_id text,
    last_seq bigint NOT NULL,
    PRIMARY KEY (tenant, project, id)
);

-- The tasks and gates of runs: what they wait for, who works on them, what came of them.
CREATE TABLE goop.graph_tasks (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    round bigint NOT NULL,
    parent text,
    depth bigint NOT NULL,
    spec text NOT NULL,
    prompt text,
    notes text,
    optional bigint NOT NULL,
    priority bigint NOT NULL,
    distance bigint NOT NULL,
    state text NOT NULL,
    reason text,
    message text,
    ready_at double precision,
    deadline_at double precision,
    fence bigint NOT NULL,
    owner text,
    lease_until double precision,
    cancel_requested bigint NOT NULL,
    session text,
    program_pid bigint,
    program_started text,
    task_key text,
    decision text,
    result text,
    report bigint,
    PRIMARY KEY (tenant, project, run, id)
);

-- The edges of runs: `task` needs `need`.
CREATE TABLE goop.graph_needs (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    task text NOT NULL,
    need text NOT NULL,
    PRIMARY KEY (tenant, project, run, task, need)
);

-- Each message to an agent, written before it is sent.
CREATE TABLE goop.graph_attempts (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    task text NOT NULL,
    round bigint NOT NULL,
    number bigint NOT NULL,
    fence bigint NOT NULL,
    way text NOT NULL,
    message text NOT NULL,
    outcome text,
    reserved bigint NOT NULL,
    began_at text NOT NULL,
    ended_at text,
    PRIMARY KEY (tenant, project, run, task, round, number)
);

-- What happened in runs, in order; only added.
CREATE TABLE goop.graph_events (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    seq bigint NOT NULL,
    at text NOT NULL,
    task text,
    what text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (tenant, project, run, seq)
);

-- The processes that run tasks: also whether somebody works on a run while none of its tasks is under way. stands_by:
-- only waits for tasks of it, as the worker of a queue does.
CREATE TABLE goop.graph_runners (
    tenant text NOT NULL,
    project text NOT NULL,
    owner text NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid bigint NOT NULL,
    pid_started text NOT NULL,
    seen_at double precision NOT NULL,
    run text,
    stands_by bigint NOT NULL,
    PRIMARY KEY (tenant, project, owner)
);

-- How the calls of each agent went, for all runners.
CREATE TABLE goop.graph_circuits (
    tenant text NOT NULL,
    project text NOT NULL,
    agent text NOT NULL,
    failures bigint NOT NULL,
    open_until double precision NOT NULL,
    next_call_at double precision NOT NULL,
    usages text NOT NULL,
    PRIMARY KEY (tenant, project, agent)
);
CREATE INDEX graph_needs_of ON goop.graph_needs (tenant, project, run, need);
CREATE INDEX graph_runs_by_name ON goop.graph_runs (tenant, project, name, created_at);
CREATE INDEX graph_tasks_in_state ON goop.graph_tasks (tenant, project, run, state, priority, distance, id);
CREATE INDEX graph_tasks_of_owner ON goop.graph_tasks (tenant, project, owner, state);

-- The runs of checks that goop-mcp started itself. A removed run keeps its row without its content.
CREATE TABLE goop.recorded_runs (
    tenant text NOT NULL,
    project text NOT NULL,
    id bigint NOT NULL,
    run text NOT NULL,
    name text NOT NULL,
    created_at text NOT NULL,
    content text NOT NULL,
    mac text NOT NULL,
    PRIMARY KEY (tenant, project, id)
);
CREATE UNIQUE INDEX recorded_runs_by_run ON goop.recorded_runs (tenant, project, run);

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

-- The plan must not depend on statistics, which a table that has just been filled lacks. Words are looked up in the
-- index of words: IS NOT DISTINCT FROM compares tenant and project like =, but keeps the primary key from being used.
-- Words that most memories have are searched in the newest memories, by the primary key.
--
-- The best memories for `asked` among those that have the tokens of `required`. With `after` above 0, those with a
-- larger id are read one by one. Candidates are ordered by ts_rank instead of ts_rank_cd, which took 5 to 75
-- microseconds a memory, the more words were asked for: most of the time of a search. How close the words are to each
-- other hardly matters here, as the best candidates are ordered once more, by how rare their words are.
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
        ORDER BY ts_rank(words.tsv, asked) DESC, words.memory_id DESC LIMIT most;
    ELSE
        RETURN QUERY SELECT words.memory_id, words.tsv FROM goop.memory_words AS words
        WHERE words.tsv @@ (asked && required) AND words.importance >= least_importance
            AND words.tenant IS NOT DISTINCT FROM current_setting('app.tenant', true)
            AND words.project IS NOT DISTINCT FROM current_setting('app.project', true)
        ORDER BY ts_rank(words.tsv, asked) DESC, words.memory_id DESC LIMIT most;
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

-- A new run looks for tasks that other runs have results for.
CREATE INDEX graph_tasks_by_key ON goop.graph_tasks (tenant, project, task_key)
    WHERE state = 'accepted' AND task_key IS NOT NULL;

-- Reports of rounds of tasks that are over, as after feedback, until they are recorded: the rows of
-- the tasks have moved on.
CREATE TABLE goop.graph_reports (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    task text NOT NULL,
    fence bigint NOT NULL,
    round bigint NOT NULL,
    spec text NOT NULL,
    owner text,
    result text NOT NULL,
    PRIMARY KEY (tenant, project, run, task, fence)
);
CREATE INDEX graph_reports_of_owner ON goop.graph_reports (tenant, project, owner) WHERE owner IS NOT NULL;
CREATE INDEX graph_runners_of_run ON goop.graph_runners (tenant, project, run, seen_at) WHERE run IS NOT NULL;

-- Defence in depth: every statement names tenant and project, and without both set in the transaction no row is
-- visible, not even for the owner of the tables (FORCE).
DO $$
DECLARE name text;
BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'goop' AND tablename <> 'versions' LOOP
        EXECUTE format('ALTER TABLE goop.%I ENABLE ROW LEVEL SECURITY', name);
        IF name <> 'memory_words' THEN
            EXECUTE format('ALTER TABLE goop.%I FORCE ROW LEVEL SECURITY', name);
        END IF;
        EXECUTE format(
            'CREATE POLICY own_project ON goop.%I'
            ' USING (tenant = current_setting(''app.tenant'', true) AND project = current_setting(''app.project'', true))'
            ' WITH CHECK (tenant = current_setting(''app.tenant'', true) AND project = current_setting(''app.project'', true))',
            name
        );
    END LOOP;
END $$;

REVOKE EXECUTE ON FUNCTION goop.find_memories, goop.count_memories FROM PUBLIC;

-- The role that works with the rows and owns no table. Created where this user may create roles, used where it exists.
DO $$
BEGIN
    BEGIN
        CREATE ROLE goop_app NOLOGIN;
    EXCEPTION WHEN duplicate_object OR unique_violation OR insufficient_privilege THEN
        NULL;
    END;
    BEGIN
        -- The creator of a role is not always a member of it.
        EXECUTE format('GRANT goop_app TO %I', current_user);
    EXCEPTION WHEN undefined_object OR insufficient_privilege OR invalid_grant_operation THEN
        NULL;
    END;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT USAGE ON SCHEMA goop TO goop_app;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA goop TO goop_app;
        REVOKE INSERT, UPDATE, DELETE ON goop.versions FROM goop_app;
        GRANT EXECUTE ON FUNCTION goop.find_memories, goop.count_memories TO goop_app;
    END IF;
END $$;
