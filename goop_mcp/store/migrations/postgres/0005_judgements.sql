-- Why a call ended, on its last attempt. For calls recorded earlier only acceptance is known.
ALTER TABLE goop.attempts ADD COLUMN ended text;

-- The owner is bound by row-level security too, and this is about the rows of all projects.
ALTER TABLE goop.attempts NO FORCE ROW LEVEL SECURITY;
UPDATE goop.attempts AS attempt
SET ended = CASE result WHEN 'accepted' THEN 'accepted' ELSE 'unknown' END
WHERE NOT EXISTS (
    SELECT FROM goop.attempts AS later
    WHERE later.tenant = attempt.tenant AND later.project = attempt.project AND later.call_id = attempt.call_id
        AND later.number > attempt.number
);
ALTER TABLE goop.attempts FORCE ROW LEVEL SECURITY;

-- Replies and prompts that were judged where no attempts are recorded: names and numbers, no texts.
ALTER TABLE goop.meta ADD COLUMN judgement_id bigint NOT NULL DEFAULT 0;

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

ALTER TABLE goop.judgements ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.judgements FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.judgements
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.judgements TO goop_app;
    END IF;
END $$;
