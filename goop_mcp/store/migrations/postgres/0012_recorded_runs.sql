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

ALTER TABLE goop.meta ADD COLUMN run_id bigint NOT NULL DEFAULT 0;

ALTER TABLE goop.recorded_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.recorded_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.recorded_runs
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.recorded_runs TO goop_app;
    END IF;
END $$;
