CREATE SCHEMA IF NOT EXISTS goop;

CREATE TABLE goop.versions (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- One row for each project: its revision and the last id of each kind. No id is used twice.
CREATE TABLE goop.meta (
    tenant text NOT NULL,
    project text NOT NULL,
    revision bigint NOT NULL DEFAULT 0,
    memory_id bigint NOT NULL DEFAULT 0,
    report_id bigint NOT NULL DEFAULT 0,
    event_id bigint NOT NULL DEFAULT 0,
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
    -- Concepts in one case, for the filter; words made by our own function, so that both engines find the same.
    concept_keys text[] NOT NULL,
    search_title text NOT NULL,
    search_body text NOT NULL,
    tsv tsvector NOT NULL GENERATED ALWAYS AS (
        setweight(to_tsvector('english', search_title), 'A') || setweight(to_tsvector('english', search_body), 'B')
    ) STORED,
    PRIMARY KEY (tenant, project, id),
    UNIQUE (tenant, project, uid),
    UNIQUE (tenant, project, idempotency_key),
    UNIQUE (tenant, project, fingerprint)
);
CREATE INDEX memories_by_revision ON goop.memories (tenant, project, revision DESC) WHERE forgotten_at IS NULL;
CREATE INDEX memories_by_word ON goop.memories USING gin (tsv);

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
    PRIMARY KEY (tenant, project, id),
    UNIQUE (tenant, project, idempotency_key)
);
CREATE INDEX reports_by_task ON goop.reports (tenant, project, task_id, id DESC);

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
CREATE INDEX events_by_revision ON goop.events (tenant, project, revision);

CREATE TABLE goop.projections (
    tenant text NOT NULL,
    project text NOT NULL,
    path text NOT NULL COLLATE "C",
    revision bigint NOT NULL,
    sha256 text,
    pending_sha256 text,
    PRIMARY KEY (tenant, project, path)
);

-- Defence in depth: every statement names tenant and project, and without both set in the transaction no row is
-- visible, not even for the owner of the tables (FORCE).
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['meta', 'memories', 'reports', 'events', 'projections'] LOOP
        EXECUTE format('ALTER TABLE goop.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE goop.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_project ON goop.%I'
            ' USING (tenant = current_setting(''app.tenant'', true) AND project = current_setting(''app.project'', true))'
            ' WITH CHECK (tenant = current_setting(''app.tenant'', true) AND project = current_setting(''app.project'', true))',
            name
        );
    END LOOP;
END $$;

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
        GRANT SELECT ON goop.versions TO goop_app;
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON goop.meta, goop.memories, goop.reports, goop.events, goop.projections TO goop_app;
    END IF;
END $$;
