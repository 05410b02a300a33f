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

ALTER TABLE goop.callers ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.callers FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.callers
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.callers TO goop_app;
    END IF;
END $$;
