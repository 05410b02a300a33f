-- Every record queries what a document shows and the newest report of each task. Without these indexes, the time for
-- that grows with the number of records.
CREATE INDEX events_by_document ON events (document, revision);
CREATE INDEX events_by_kind ON events (document, kind, revision);
DROP INDEX reports_by_task;
CREATE INDEX reports_by_task ON reports (json_array(task_id, agent, phase), id);
