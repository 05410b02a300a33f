-- Vectors of an embedder, where one is configured: 32-bit floats, little-endian.
CREATE TABLE goop.vectors (
    tenant text NOT NULL,
    project text NOT NULL,
    memory_id bigint NOT NULL,
    model text NOT NULL,
    vector bytea NOT NULL,
    PRIMARY KEY (tenant, project, memory_id, model)
);
ALTER TABLE goop.vectors ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.vectors FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.vectors
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF has_table_privilege('goop_app', 'goop.memories', 'INSERT') THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.vectors TO goop_app;
    END IF;
EXCEPTION WHEN undefined_object THEN
    NULL;
END $$;

DROP INDEX goop.memories_by_revision;
DROP INDEX goop.reports_by_task;
CREATE INDEX reports_by_task ON goop.reports (tenant, project, task_id, agent, phase, id);
CREATE INDEX reports_by_revision ON goop.reports (tenant, project, revision);
