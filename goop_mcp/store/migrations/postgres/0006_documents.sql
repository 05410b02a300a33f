-- What a document shows is asked for with every record; without these that takes the longer, the more was recorded.
CREATE INDEX events_by_document ON goop.events (tenant, project, document, revision);
CREATE INDEX events_by_kind ON goop.events (tenant, project, document, kind, revision);
