-- A new run looks for tasks that other runs have results for.
CREATE INDEX graph_tasks_by_key ON goop.graph_tasks (tenant, project, task_key)
    WHERE state = 'accepted' AND task_key IS NOT NULL;
