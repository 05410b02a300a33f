-- Numbers that memories with nearly the same words share. No index by memory: a memory has its sketches in its row.
ALTER TABLE goop.memories ADD COLUMN sketches bigint[] NOT NULL DEFAULT '{}';

CREATE TABLE goop.memory_sketches (
    tenant text NOT NULL,
    project text NOT NULL,
    sketch bigint NOT NULL,
    memory_id bigint NOT NULL,
    PRIMARY KEY (tenant, project, sketch, memory_id)
);

ALTER TABLE goop.memory_sketches ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.memory_sketches FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.memory_sketches
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.memory_sketches TO goop_app;
    END IF;
END $$;
