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

-- The last id that was given out: rows are removed, and no number is used twice.
ALTER TABLE goop.meta ADD COLUMN reply_id bigint NOT NULL DEFAULT 0;

ALTER TABLE goop.kept_replies ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.kept_replies FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.kept_replies
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.kept_replies TO goop_app;
    END IF;
END $$;
