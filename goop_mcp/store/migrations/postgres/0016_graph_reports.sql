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

ALTER TABLE goop.graph_reports ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_reports FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_reports
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.graph_reports TO goop_app;
    END IF;
END $$;
