-- Whether somebody works on a run, also while none of its tasks is under way: the run of each
-- runner, and whether that only waits for tasks of it, as the worker of a queue does.
ALTER TABLE graph_runners ADD COLUMN run TEXT;
ALTER TABLE graph_runners ADD COLUMN stands_by INTEGER NOT NULL DEFAULT 0;

CREATE INDEX graph_runners_of_run ON graph_runners (run, seen_at) WHERE run IS NOT NULL;
