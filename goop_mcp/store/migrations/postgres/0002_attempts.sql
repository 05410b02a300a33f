ALTER TABLE goop.meta ADD COLUMN attempt_id bigint NOT NULL DEFAULT 0;

-- Messages to agents and how the replies were judged, for statistics. They have no revision, as no file shows them.
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
    PRIMARY KEY (tenant, project, id),
    UNIQUE (tenant, project, call_id, number)
);
CREATE INDEX attempts_by_time ON goop.attempts (tenant, project, created_at);

ALTER TABLE goop.attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.attempts FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.attempts
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.attempts TO goop_app;
    END IF;
END $$;
