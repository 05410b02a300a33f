"""All statements on rows.

Each restricts rows to the tenant and project; row-level security is only a second safeguard.
"""

from typing import LiteralString

from psycopg.sql import SQL, Composed

from goop_mcp.store.statistics import Dialect

__all__ = [
    "ADD_ATTEMPT",
    "ADD_CONFIRMATION",
    "ADD_EVENT",
    "ADD_JUDGEMENT",
    "ADD_MEMORY",
    "ADD_REPORT",
    "AGENTS_WITH_KEPT_REPLIES",
    "ANSWER_CONFIRMATION",
    "ATTEMPTS",
    "CONFIRMATION",
    "COUNTERS",
    "DOCUMENT_REVISION",
    "EVENTS",
    "EVENT_REVISIONS",
    "FORGET_KEPT_RUNS",
    "FORGET_MEMORY",
    "KEEP_DOCUMENT",
    "KEEP_REPLY",
    "KEEP_RUN",
    "KEPT_DOCUMENT",
    "KEPT_REPLY",
    "KEPT_RUN",
    "KEPT_RUNS",
    "LAST_REPORTS",
    "MEMORIES",
    "MEMORIES_AFTER",
    "MEMORIES_BY_ID",
    "MEMORIES_BY_SKETCH",
    "MEMORY_BY_FINGERPRINT",
    "MEMORY_BY_ID",
    "MEMORY_BY_KEY",
    "MEMORY_BY_UID",
    "MEMORY_COUNTS",
    "NOW",
    "OPEN_CONFIRMATION",
    "OPEN_CONFIRMATIONS",
    "PROJECTIONS",
    "PURGE_MEMORY",
    "REMOVE_KEPT_REPLIES",
    "REMOVE_KEPT_REPLY",
    "REMOVE_KEPT_RUNS",
    "REPORTS",
    "REPORTS_CHANGED",
    "REPORTS_CHANGED_AT",
    "REPORT_BY_ID",
    "REPORT_BY_KEY",
    "REPORT_COUNT",
    "RETIRE_REPORTS",
    "ROUNDS",
    "SEARCH",
    "SET_COUNTERS",
    "SET_PROJECTION",
    "SET_ROUND",
    "SET_STATE",
    "STATE",
    "STATISTICS",
    "TOO_MANY_REPLIES",
    "TOO_MANY_RUNS",
    "WORD_COUNTS",
]

_PARTS = {
    "tsv": SQL(
        "setweight(to_tsvector('english', %(search_title)s), 'A') ||"
        " setweight(to_tsvector('english', %(search_body)s), 'B') ||"
        " array_to_tsvector(%(search_tokens)s::text[])"
    ),
    "mine": SQL("tenant = %(tenant)s AND project = %(project)s"),
    "wanted": SQL(
        "forgotten_at IS NULL AND importance >= %(min_importance)s "
        "AND (%(types)s::text[] = '{}' OR type = ANY(%(types)s::text[])) "
        "AND (%(concepts)s::text[] = '{}' OR concept_keys && %(concepts)s::text[])"
    ),
    "memory": SQL(
        "id, uid, type, title, content, importance, idempotency_key, fingerprint, created_at,"
        " revision, concepts, facts, source_files, agent, session_id, sketches, forgotten_at"
    ),
    "report": SQL(
        "id, protocol, idempotency_key, envelope, verdict, decision, created_at, revision, agent,"
        " phase, task_id, status, round, retired"
    ),
    "round": SQL(
        "number, name, opened_at, first_revision, closed_at, closed_revision, outcome, plan_sha256"
    ),
    "confirmation": SQL(
        "id, action, arguments, subject, subject_key, summary, round, revision, asked_by, asked_at,"
        " status, via, comment, answered_at"
    ),
    "kept": SQL("id, name, sha256, text, round, step, revision, created_at"),
    "reply": SQL("id, agent, agent_key, round, created_at, text"),
    "run": SQL("id, run, name, created_at, content, mac"),
    "event": SQL("id, kind, author, text, created_at, revision, document"),
    "attempt": SQL(
        "id, call_id, number, result, way, created_at, agent, session_id, protocol, rules, repairs,"
        " seconds, tokens, message, reply, ended"
    ),
}


def _statement(text: LiteralString) -> Composed:
    return SQL(text).format(**_PARTS)


MEMORY_BY_ID = _statement("SELECT {memory} FROM goop.memories WHERE {mine} AND id = %(value)s")
MEMORIES_BY_ID = _statement(
    "SELECT {memory} FROM goop.memories WHERE {mine} AND id = ANY(%(ids)s::bigint[])"
)
MEMORY_BY_KEY = _statement(
    "SELECT {memory} FROM goop.memories WHERE {mine} AND idempotency_key = %(value)s"
)
MEMORY_BY_UID = _statement("SELECT {memory} FROM goop.memories WHERE {mine} AND uid = %(value)s")
MEMORY_BY_FINGERPRINT = _statement(
    "SELECT {memory} FROM goop.memories WHERE {mine} AND fingerprint = %(value)s"
)
MEMORIES_BY_SKETCH = _statement("""
WITH alike AS MATERIALIZED (
    SELECT memory_id AS id, sum(1 / held::double precision) AS shared
    FROM unnest(%(sketches)s::bigint[]) AS asked (number) CROSS JOIN LATERAL (
        SELECT memory_id, count(*) OVER () AS held FROM (
            SELECT memory_id FROM goop.memory_sketches
            WHERE {mine} AND sketch = number ORDER BY memory_id DESC LIMIT %(newest)s
        ) AS newest
    ) AS rated
    GROUP BY memory_id ORDER BY shared DESC, id DESC LIMIT %(limit)s
)
SELECT id, type, title, content FROM goop.memories JOIN alike USING (id) WHERE {mine}
ORDER BY shared DESC, id DESC
""")
MEMORIES = _statement("""
SELECT {memory} FROM goop.memories
WHERE {mine} AND {wanted} AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(limit)s
""")
MEMORIES_AFTER = _statement("""
SELECT {memory} FROM goop.memories AS m
WHERE {mine} AND id > %(after)s AND forgotten_at IS NULL ORDER BY id LIMIT %(limit)s
""")
MEMORY_COUNTS = _statement(
    "SELECT type, count(*) AS count FROM goop.memories WHERE {mine} AND forgotten_at IS NULL GROUP"
    " BY type"
)
# How many memories have each word, counted up to a bound, and how many there are.
# Counting a word collects each memory that has it. Most words that very many memories have are
# recognised in a sample: memories at equal distances. A word without a lexeme is one that the
# dictionary leaves out, such as "the".
WORD_COUNTS = _statement("""
WITH project AS MATERIALIZED (
    SELECT coalesce((SELECT memory_id FROM goop.meta WHERE {mine}), 0) AS all_memories
), sample AS MATERIALIZED (
    SELECT tsv FROM goop.memory_words WHERE {mine} AND memory_id = ANY(ARRAY(
        SELECT generate_series(1, all_memories, all_memories / %(sample)s::bigint)
        FROM project WHERE all_memories >= %(large)s
    ))
), asked AS MATERIALIZED (
    SELECT word, to_tsquery('english', word) AS query FROM unnest(%(words)s::text[]) AS word
)
SELECT word, numnode(query) > 0 AS is_indexed, all_memories, CASE
    WHEN numnode(query) = 0 THEN 0
    WHEN (SELECT count(*) FROM sample WHERE tsv @@ query) >= greatest(
        %(clear)s, 2 * %(most)s::bigint * %(sample)s / greatest(all_memories, 1)
    ) THEN %(most)s
    ELSE goop.count_memories(query && %(required)s::tsquery, %(most)s)
END AS memories
FROM asked, project
""")
# In two steps: candidates by all words alike, then ordered by how rare their words are. The filters
# apply before the candidates are cut, otherwise matching memories could be lost; `wanted` compares
# the few that are left once more with the rows themselves.
SEARCH = _statement("""
WITH best AS MATERIALIZED (
    SELECT memory_id AS id, tsv FROM goop.find_memories(
        to_tsquery('english', %(query)s), %(required)s::tsquery, %(min_importance)s, %(after)s,
        %(best)s
    )
), words AS MATERIALIZED (
    SELECT to_tsquery('english', word) AS query, weight
    FROM unnest(%(words)s::text[], %(weights)s::float8[]) AS given(word, weight)
)
SELECT memories.id, revision, (0.5 + importance) * (
    SELECT sum(weight * ts_rank(tsv, query)) FROM words WHERE tsv @@ query
) AS score
FROM best CROSS JOIN LATERAL (
    -- OFFSET keeps this from being joined in another order: until the table is analysed, the
    -- planner takes it for empty and would read all of it.
    SELECT id, revision, importance FROM goop.memories
    WHERE {mine} AND id = best.id AND {wanted} OFFSET 0
) AS memories
ORDER BY score DESC NULLS LAST, revision DESC, id DESC LIMIT %(limit)s
""")
ADD_MEMORY = _statement("""
WITH sketched AS (
    INSERT INTO goop.memory_sketches (tenant, project, sketch, memory_id)
    SELECT %(tenant)s, %(project)s, sketch, %(id)s FROM unnest(%(sketches)s::bigint[]) AS sketch
    ON CONFLICT DO NOTHING
), indexed AS (
    INSERT INTO goop.memory_words (tenant, project, memory_id, importance, tsv)
    SELECT %(tenant)s, %(project)s, %(id)s, %(importance)s, {tsv}
)
INSERT INTO goop.memories (
    tenant, project, id, uid, type, title, content, concepts, facts, source_files, importance,
    agent, session_id, idempotency_key, fingerprint, revision, created_at, concept_keys, sketches
) VALUES (
    %(tenant)s, %(project)s, %(id)s, %(uid)s, %(type)s, %(title)s, %(content)s, %(concepts)s,
    %(facts)s, %(source_files)s, %(importance)s, %(agent)s, %(session_id)s, %(idempotency_key)s,
    %(fingerprint)s, %(revision)s, %(created_at)s, %(concept_keys)s, %(sketches)s::bigint[]
) RETURNING {memory}
""")
_UNINDEXED = SQL("""
WITH unsketched AS (
    DELETE FROM goop.memory_sketches
    WHERE tenant = %(tenant)s AND project = %(project)s
        AND memory_id = %(id)s AND sketch = ANY(%(sketches)s::bigint[])
), unindexed AS (
    DELETE FROM goop.memory_words
    WHERE tenant = %(tenant)s AND project = %(project)s AND memory_id = %(id)s
)
""")
FORGET_MEMORY = _UNINDEXED + SQL("""
UPDATE goop.memories
SET title = '', content = '', concepts = '{}', facts = '{}', source_files = '{}',
    concept_keys = '{}', sketches = '{}', agent = NULL, session_id = NULL, idempotency_key = NULL,
    fingerprint = NULL, revision = %(revision)s, forgotten_at = %(forgotten_at)s
WHERE tenant = %(tenant)s AND project = %(project)s AND id = %(id)s
""")
PURGE_MEMORY = _UNINDEXED + _statement("DELETE FROM goop.memories WHERE {mine} AND id = %(id)s")

# Revisions rise with ids. The revision of the report before which to continue lets the index skip
# the newer ones.
REPORTS = _statement("""
SELECT {report} FROM goop.reports
WHERE {mine} AND revision > %(after)s
    AND (%(round)s::bigint IS NULL OR round = %(round)s::bigint)
    AND (%(retired)s::boolean OR retired IS NULL)
    AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint AND revision <= (
        SELECT revision FROM goop.reports WHERE {mine} AND id < %(before)s::bigint
        ORDER BY id DESC LIMIT 1
    ))
ORDER BY revision DESC, id DESC LIMIT %(limit)s
""")
LAST_REPORTS = _statement("""
SELECT {report} FROM goop.reports
WHERE {mine} AND id IN (
    SELECT max(id) FROM goop.reports
    WHERE {mine} AND round = %(round)s AND retired IS NULL GROUP BY task_id, agent, phase
    UNION ALL SELECT id FROM goop.reports
    WHERE {mine} AND round = %(round)s AND retired IS NULL AND task_id IS NULL
        AND protocol = 'goop_report' AND status <> 'COMPLETE'
)
ORDER BY id DESC
""")
REPORT_BY_ID = _statement("SELECT {report} FROM goop.reports WHERE {mine} AND id = %(id)s")
REPORT_COUNT = _statement("""
SELECT count(*) AS count FROM goop.reports
WHERE {mine} AND retired IS NULL AND (%(round)s::bigint IS NULL OR round = %(round)s::bigint)
""")
RETIRE_REPORTS = _statement("""
UPDATE goop.reports SET retired = %(reason)s, idempotency_key = idempotency_key || ':' || id
WHERE {mine} AND id = ANY (%(ids)s::bigint[]) AND retired IS NULL RETURNING id
""")
REPORTS_CHANGED_AT = _statement("SELECT reports_changed_at FROM goop.meta WHERE {mine}")
REPORTS_CHANGED = _statement("UPDATE goop.meta SET reports_changed_at = %(revision)s WHERE {mine}")
REPORT_BY_KEY = _statement(
    "SELECT {report} FROM goop.reports WHERE {mine} AND idempotency_key = %(key)s"
)
ADD_REPORT = _statement("""
INSERT INTO goop.reports (
    tenant, project, id, protocol, idempotency_key, envelope, verdict, decision, agent, phase,
    task_id, status, revision, created_at, round
) VALUES (
    %(tenant)s, %(project)s, %(id)s, %(protocol)s, %(idempotency_key)s, %(envelope)s, %(verdict)s,
    %(decision)s, %(agent)s, %(phase)s, %(task_id)s, %(status)s, %(revision)s, %(created_at)s,
    %(round)s
) RETURNING {report}
""")

TIME = SQL("""to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')""")
NOW = SQL("SELECT {} AS time").format(TIME)
ROUNDS = _statement(
    "SELECT {round} FROM goop.rounds WHERE {mine} ORDER BY number DESC LIMIT %(limit)s"
)
SET_ROUND = SQL("""
INSERT INTO goop.rounds (
    tenant, project, number, name, opened_at, first_revision, closed_at, closed_revision, outcome,
    plan_sha256
) VALUES (
    %(tenant)s, %(project)s, %(number)s, %(name)s, %(opened_at)s, %(first_revision)s,
    %(closed_at)s, %(closed_revision)s, %(outcome)s, %(plan_sha256)s
) ON CONFLICT (tenant, project, number)
DO UPDATE SET closed_at = excluded.closed_at, closed_revision = excluded.closed_revision,
    outcome = excluded.outcome, plan_sha256 = excluded.plan_sha256
""")

REMOVE_ROUND = _statement("DELETE FROM goop.rounds WHERE {mine} AND number = %(number)s")

CONFIRMATION = _statement(
    "SELECT {confirmation} FROM goop.confirmations WHERE {mine} AND id = %(id)s"
)
OPEN_CONFIRMATIONS = _statement("""
SELECT {confirmation} FROM goop.confirmations WHERE {mine} AND status = 'open'
ORDER BY id LIMIT %(limit)s
""")
OPEN_CONFIRMATION = _statement("""
SELECT {confirmation} FROM goop.confirmations
WHERE {mine} AND status = 'open' AND round = %(round)s AND action = %(action)s
    AND subject_key = %(subject_key)s
""")
CONFIRMATIONS = _statement("""
SELECT {confirmation} FROM goop.confirmations
WHERE {mine} AND round = %(round)s AND status = 'confirmed'
ORDER BY id DESC LIMIT %(limit)s
""")
ADD_CONFIRMATION = _statement("""
INSERT INTO goop.confirmations (
    tenant, project, id, action, arguments, subject, subject_key, summary, round, revision,
    asked_by, asked_at, status
) VALUES (
    %(tenant)s, %(project)s, %(id)s, %(action)s, %(arguments)s, %(subject)s, %(subject_key)s,
    %(summary)s, %(round)s, %(revision)s, %(asked_by)s, %(asked_at)s, 'open'
) RETURNING {confirmation}
""")
ANSWER_CONFIRMATION = _statement("""
UPDATE goop.confirmations
SET status = %(status)s, via = %(via)s, comment = %(comment)s, answered_at = %(answered_at)s
WHERE {mine} AND id = %(id)s
""")

STATE = _statement("SELECT text FROM goop.project_state WHERE {mine}")
SET_STATE = SQL("""
INSERT INTO goop.project_state (tenant, project, revision, text)
VALUES (%(tenant)s, %(project)s, %(revision)s, %(text)s)
ON CONFLICT (tenant, project) DO UPDATE SET revision = excluded.revision, text = excluded.text
""")

KEPT_DOCUMENT = _statement("""
SELECT {kept} FROM goop.kept_documents
WHERE {mine} AND name = %(name)s AND (%(step)s::text IS NULL OR step = %(step)s::text)
    AND (%(round)s::bigint IS NULL OR round = %(round)s::bigint)
ORDER BY id DESC LIMIT 1
""")
KEPT_DOCUMENTS = _statement("""
SELECT {kept} FROM goop.kept_documents
WHERE {mine} AND id IN (
    SELECT max(id) FROM goop.kept_documents
    WHERE {mine} AND round = %(round)s AND step = %(step)s
    GROUP BY name
)
ORDER BY name DESC LIMIT %(limit)s
""")
KEEP_DOCUMENT = _statement("""
INSERT INTO goop.kept_documents (
    tenant, project, id, name, sha256, text, round, step, revision, created_at
) VALUES (
    %(tenant)s, %(project)s, %(id)s, %(name)s, %(sha256)s, %(text)s, %(round)s, %(step)s,
    %(revision)s, %(created_at)s
) RETURNING {kept}
""")

KEPT_REPLY = _statement("""
SELECT {reply} FROM goop.kept_replies WHERE {mine} AND agent = %(agent)s ORDER BY id DESC LIMIT 1
""")
AGENTS_WITH_KEPT_REPLIES = _statement("SELECT DISTINCT agent FROM goop.kept_replies WHERE {mine}")
REMOVE_KEPT_REPLY = _statement("""
DELETE FROM goop.kept_replies
WHERE {mine} AND agent = %(agent)s AND agent_key = %(agent_key)s RETURNING id
""")
REMOVE_KEPT_REPLIES = _statement("DELETE FROM goop.kept_replies WHERE {mine} RETURNING id")
KEEP_REPLY = _statement("""
INSERT INTO goop.kept_replies (tenant, project, id, agent, agent_key, round, created_at, text)
VALUES (
    %(tenant)s, %(project)s, %(id)s, %(agent)s, %(agent_key)s, %(round)s, %(created_at)s, %(text)s
) RETURNING {reply}
""")
# The newest is always kept: nothing larger than all of them together is stored.
TOO_MANY_REPLIES = _statement("""
DELETE FROM goop.kept_replies WHERE {mine} AND id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS place, sum(octet_length(text)) OVER newest AS bytes
        FROM goop.kept_replies WHERE {mine} WINDOW newest AS (ORDER BY id DESC)
    ) AS counted WHERE place > %(most)s OR bytes > %(most_bytes)s
) RETURNING id
""")

KEPT_RUN = _statement("SELECT {run} FROM goop.recorded_runs WHERE {mine} AND run = %(run)s")
KEPT_RUNS = _statement("""
SELECT {run} FROM goop.recorded_runs
WHERE {mine} AND content <> '' AND (%(before)s::bigint IS NULL OR id < %(before)s::bigint)
ORDER BY id DESC LIMIT %(limit)s
""")
KEEP_RUN = _statement("""
INSERT INTO goop.recorded_runs (tenant, project, id, run, name, created_at, content, mac)
VALUES (
    %(tenant)s, %(project)s, %(id)s, %(run)s, %(name)s, %(created_at)s, %(content)s, %(mac)s
) RETURNING {run}
""")
REMOVE_KEPT_RUNS = _statement("""
UPDATE goop.recorded_runs SET content = '', mac = ''
WHERE {mine} AND id = ANY(%(ids)s::bigint[]) AND content <> '' RETURNING id
""")
TOO_MANY_RUNS = _statement("""
UPDATE goop.recorded_runs SET content = '', mac = '' WHERE {mine} AND id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER newest AS place,
            sum(octet_length(content)) OVER newest AS bytes
        FROM goop.recorded_runs WHERE {mine} AND content <> '' WINDOW newest AS (ORDER BY id DESC)
    ) AS counted WHERE place > %(most)s OR bytes > %(most_bytes)s
) RETURNING id
""")
FORGET_KEPT_RUNS = _statement("""
DELETE FROM goop.recorded_runs WHERE {mine} AND id <= (
    SELECT id FROM goop.recorded_runs WHERE {mine} ORDER BY id DESC LIMIT 1 OFFSET %(most)s
) RETURNING id
""")

COUNTERS = _statement(
    "SELECT json FROM goop.counters WHERE {mine} AND round = %(round)s AND task = %(task)s"
)
SET_COUNTERS = SQL("""
INSERT INTO goop.counters (tenant, project, round, task, json)
VALUES (%(tenant)s, %(project)s, %(round)s, %(task)s, %(json)s)
ON CONFLICT (tenant, project, round, task) DO UPDATE SET json = excluded.json
""")

EVENTS = _statement("""
SELECT {event} FROM goop.events
WHERE {mine} AND revision > %(after)s
    AND (%(document)s::text IS NULL OR document = %(document)s::text)
    AND (%(kinds)s::text[] IS NULL OR kind = ANY (%(kinds)s::text[]))
    AND (%(month)s::text IS NULL OR left(created_at, 7) = %(month)s::text)
ORDER BY id LIMIT %(limit)s
""")
EVENT_REVISIONS = _statement("""
SELECT revision FROM goop.events
WHERE {mine} AND document = %(document)s AND kind <> ALL (%(without)s::text[])
    AND (%(up_to)s::bigint IS NULL OR revision <= %(up_to)s::bigint)
ORDER BY revision DESC LIMIT %(limit)s
""")
# Uses the index by document, from its end.
DOCUMENT_REVISION = _statement("""
SELECT revision FROM goop.events WHERE {mine} AND document = %(document)s
ORDER BY revision DESC LIMIT 1
""")
ADD_EVENT = _statement("""
INSERT INTO goop.events (tenant, project, id, kind, author, text, document, revision, created_at)
VALUES (
    %(tenant)s, %(project)s, %(id)s, %(kind)s, %(author)s, %(text)s, %(document)s, %(revision)s,
    %(created_at)s
) RETURNING {event}
""")

ADD_CALLER = SQL("""
INSERT INTO goop.callers (tenant, project, revision, caller, tool, request_id)
VALUES (%(tenant)s, %(project)s, %(revision)s, %(caller)s, %(tool)s, %(request_id)s)
RETURNING revision
""")

PROJECTIONS = _statement("""
SELECT path, revision, sha256, pending_sha256 FROM goop.projections WHERE {mine} ORDER BY path
""")
SET_PROJECTION = SQL("""
INSERT INTO goop.projections (tenant, project, path, revision, sha256, pending_sha256)
VALUES (%(tenant)s, %(project)s, %(path)s, %(revision)s, %(sha256)s, %(pending_sha256)s)
ON CONFLICT (tenant, project, path)
DO UPDATE SET revision = excluded.revision, sha256 = excluded.sha256,
    pending_sha256 = excluded.pending_sha256
""")

ATTEMPTS = _statement("""
SELECT {attempt} FROM goop.attempts
WHERE {mine} AND (%(since)s::text IS NULL OR created_at >= %(since)s::text)
ORDER BY id LIMIT %(limit)s
""")
ADD_ATTEMPT = _statement("""
INSERT INTO goop.attempts (
    tenant, project, id, call_id, number, result, way, created_at, agent, session_id, protocol,
    rules, repairs, seconds, tokens, message, reply, ended
) VALUES (
    %(tenant)s, %(project)s, %(id)s, %(call_id)s, %(number)s, %(result)s, %(way)s, %(created_at)s,
    %(agent)s, %(session_id)s, %(protocol)s, %(rules)s, %(repairs)s, %(seconds)s, %(tokens)s,
    %(message)s, %(reply)s, %(ended)s
) RETURNING {attempt}
""")

ADD_JUDGEMENT = SQL("""
INSERT INTO goop.judgements (
    tenant, project, id, surface, result, has_envelope, protocol, agent, session_id, rules, number,
    ended, created_at
) VALUES (
    %(tenant)s, %(project)s, %(id)s, %(surface)s, %(result)s, %(has_envelope)s, %(protocol)s,
    %(agent)s, %(session_id)s, %(rules)s, %(number)s, %(ended)s, %(created_at)s
) RETURNING id
""")
STATISTICS = Dialect(
    schema="goop.",
    wanted=(
        "tenant = %(tenant)s AND project = %(project)s AND (%(since)s::text IS NULL OR created_at"
        " >= %(since)s::text) AND (%(until)s::text IS NULL OR created_at < %(until)s::text)"
        " AND (%(agent)s::text IS NULL OR agent = %(agent)s::text)"
    ),
    week="""to_char(created_at::timestamptz AT TIME ZONE 'UTC', 'IYYY"-W"IW')""",
    each_rule="CROSS JOIN LATERAL unnest(replies.rules) AS broken (value)",
    rule="broken.value",
)
