-- A run of a delegation graph; graph, input, options and edges are JSON.
CREATE TABLE goop.graph_runs (
    tenant text NOT NULL,
    project text NOT NULL,
    id text NOT NULL,
    name text NOT NULL,
    graph text NOT NULL,
    graph_hash text NOT NULL,
    input text NOT NULL,
    options text NOT NULL,
    edges text NOT NULL,
    state text NOT NULL,
    created_at text NOT NULL,
    ended_at text,
    deadline_at double precision,
    spent_tokens bigint NOT NULL,
    reserved_tokens bigint NOT NULL,
    spent_calls bigint NOT NULL,
    spent_cost double precision NOT NULL,
    trace_id text,
    last_seq bigint NOT NULL,
    PRIMARY KEY (tenant, project, id)
);

-- The tasks and gates of runs: what they wait for, who works on them, what came of them.
CREATE TABLE goop.graph_tasks (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    id text NOT NULL,
    kind text NOT NULL,
    round bigint NOT NULL,
    parent text,
    depth bigint NOT NULL,
    spec text NOT NULL,
    prompt text,
    notes text,
    optional bigint NOT NULL,
    priority bigint NOT NULL,
    distance bigint NOT NULL,
    state text NOT NULL,
    reason text,
    message text,
    ready_at double precision,
    deadline_at double precision,
    fence bigint NOT NULL,
    owner text,
    lease_until double precision,
    cancel_requested bigint NOT NULL,
    session text,
    program_pid bigint,
    program_started text,
    task_key text,
    decision text,
    result text,
    report bigint,
    PRIMARY KEY (tenant, project, run, id)
);

-- The edges of runs: `task` needs `need`.
CREATE TABLE goop.graph_needs (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    task text NOT NULL,
    need text NOT NULL,
    PRIMARY KEY (tenant, project, run, task, need)
);

-- Each message to an agent, written before it is sent.
CREATE TABLE goop.graph_attempts (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    task text NOT NULL,
    round bigint NOT NULL,
    number bigint NOT NULL,
    fence bigint NOT NULL,
    way text NOT NULL,
    message text NOT NULL,
    outcome text,
    reserved bigint NOT NULL,
    began_at text NOT NULL,
    ended_at text,
    PRIMARY KEY (tenant, project, run, task, round, number)
);

-- What happened in runs, in order; only added.
CREATE TABLE goop.graph_events (
    tenant text NOT NULL,
    project text NOT NULL,
    run text NOT NULL,
    seq bigint NOT NULL,
    at text NOT NULL,
    task text,
    what text NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (tenant, project, run, seq)
);

-- The processes that run tasks.
CREATE TABLE goop.graph_runners (
    tenant text NOT NULL,
    project text NOT NULL,
    owner text NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid bigint NOT NULL,
    pid_started text NOT NULL,
    seen_at double precision NOT NULL,
    PRIMARY KEY (tenant, project, owner)
);

-- How the calls of each agent went, for all runners.
CREATE TABLE goop.graph_circuits (
    tenant text NOT NULL,
    project text NOT NULL,
    agent text NOT NULL,
    failures bigint NOT NULL,
    open_until double precision NOT NULL,
    next_call_at double precision NOT NULL,
    usages text NOT NULL,
    PRIMARY KEY (tenant, project, agent)
);

CREATE INDEX graph_needs_of ON goop.graph_needs (tenant, project, run, need);
CREATE INDEX graph_runs_by_name ON goop.graph_runs (tenant, project, name, created_at);
CREATE INDEX graph_tasks_in_state ON goop.graph_tasks (tenant, project, run, state, priority, distance, id);
CREATE INDEX graph_tasks_of_owner ON goop.graph_tasks (tenant, project, owner, state);

ALTER TABLE goop.graph_runs ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_runs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_runs
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

ALTER TABLE goop.graph_tasks ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_tasks FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_tasks
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

ALTER TABLE goop.graph_attempts ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_attempts FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_attempts
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

ALTER TABLE goop.graph_needs ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_needs FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_needs
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

ALTER TABLE goop.graph_events ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_events FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_events
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

ALTER TABLE goop.graph_runners ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_runners FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_runners
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

ALTER TABLE goop.graph_circuits ENABLE ROW LEVEL SECURITY;
ALTER TABLE goop.graph_circuits FORCE ROW LEVEL SECURITY;
CREATE POLICY own_project ON goop.graph_circuits
    USING (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true))
    WITH CHECK (tenant = current_setting('app.tenant', true) AND project = current_setting('app.project', true));

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'goop_app' AND NOT rolsuper AND NOT rolbypassrls) THEN
        GRANT SELECT, INSERT, UPDATE, DELETE ON goop.graph_runs, goop.graph_tasks, goop.graph_needs, goop.graph_attempts, goop.graph_events, goop.graph_runners, goop.graph_circuits TO goop_app;
    END IF;
END $$;
