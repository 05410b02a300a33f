-- Every record queries what a document shows. Without these indexes, the time grows with the number of records.
CREATE INDEX events_by_document ON goop.events (tenant, project, document, revision);
CREATE INDEX events_by_kind ON goop.events (tenant, project, document, kind, revision);
