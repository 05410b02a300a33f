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

-- A report with a reason in retired no longer counts.
ALTER TABLE goop.reports ADD COLUMN round bigint NOT NULL DEFAULT 1;
ALTER TABLE goop.reports ADD COLUMN retired text;

DROP INDEX goop.reports_by_task;
CREATE INDEX reports_by_task ON goop.reports (tenant, project, round, task_id, agent, phase, id)
    WHERE retired IS NULL;
CREATE INDEX reports_by_round ON goop.reports (tenant, project, round, revision, id, retired);

-- The revision at which reports last changed other than by adding one, and the last ids of the tables below.
ALTER TABLE goop.meta ADD COLUMN reports_changed_at bigint NOT NULL DEFAULT 0;
ALTER TABLE goop.meta ADD COLUMN confirmation_id bigint NOT NULL DEFAULT 0;
ALTER TABLE goop.meta ADD COLUMN document_id bigint NOT NULL DEFAULT 0;

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

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['rounds', 'confirmations', 'project_state', 'kept_documents', 'counters'] LOOP
        EXECUTE format('ALTER TABLE goop.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE goop.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_project ON goop.%I'
            ' USING (tenant = current_setting(''app.tenant'', true) AND project = current_setting(''app.project'', true))'
            ' WITH CHECK (tenant = current_setting(''app.tenant'', true) AND project = current_setting(''app.project'', true))',
            name
        );
    END LOOP;

    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE
            ON goop.rounds, goop.confirmations, goop.project_state, goop.kept_documents, goop.counters TO goop_app;
    END IF;
END $$;
