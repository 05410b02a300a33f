-- Reports of rounds of tasks that are over, as after feedback, until they are recorded: the rows of
-- the tasks have moved on.
CREATE TABLE graph_reports (
  run TEXT NOT NULL,
  task TEXT NOT NULL,
  fence INTEGER NOT NULL,
  round INTEGER NOT NULL,
  spec TEXT NOT NULL,
  owner TEXT,
  result TEXT NOT NULL,
  PRIMARY KEY (run, task, fence)
) STRICT;

CREATE INDEX graph_reports_of_owner ON graph_reports (owner) WHERE owner IS NOT NULL;
