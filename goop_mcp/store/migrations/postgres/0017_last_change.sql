-- Which transaction wrote the counters last, in which table and when. A row that another transaction has written came
-- from a copy: revisions that were given after the copy was made must not be given again.
ALTER TABLE goop.meta ADD COLUMN written_by bigint;
ALTER TABLE goop.meta ADD COLUMN written_in bigint;
ALTER TABLE goop.meta ADD COLUMN written_at timestamptz;
