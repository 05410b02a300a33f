-- What a document shows and the newest report of each task are asked for with every record; without these that takes the
-- longer, the more was recorded.
CREATE INDEX events_by_document ON events (document, revision);
CREATE INDEX events_by_kind ON events (document, kind, revision);
DROP INDEX reports_by_task;
CREATE INDEX reports_by_task ON reports (json_array(task_id, agent, phase), id);
