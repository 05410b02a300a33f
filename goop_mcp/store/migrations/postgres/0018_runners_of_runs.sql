-- Whether somebody works on a run, also while none of its tasks is under way: the run of each
-- runner, and whether that only waits for tasks of it, as the worker of a queue does.
ALTER TABLE goop.graph_runners ADD COLUMN run text;
ALTER TABLE goop.graph_runners ADD COLUMN stands_by bigint NOT NULL DEFAULT 0;

CREATE INDEX graph_runners_of_run ON goop.graph_runners (tenant, project, run, seen_at) WHERE run IS NOT NULL;
