-- Puts a final job back, with a fresh budget of attempts, unless its key is held or a newer job of its subject is unfinished.
WITH found AS MATERIALIZED (
    SELECT h.id, h.kind, h.key, h.key_for, h.subject FROM howdah.history h WHERE h.id = %(id)s::bigint
    LIMIT 1 -- as the planner cannot know before the first ANALYZE: it would expect thousands, and compile the rest for them
    FOR UPDATE
),
fit AS MATERIALIZED (
    SELECT f.* FROM found f
    WHERE f.subject IS NULL OR NOT EXISTS (
        SELECT FROM howdah.jobs o WHERE o.kind = f.kind AND o.subject = f.subject AND o.id > f.id
    )
),
taken AS (
    INSERT INTO howdah.keys AS k (kind, key, job_id, key_for)
    SELECT f.kind, f.key, f.id, f.key_for FROM fit f WHERE f.key IS NOT NULL
    ON CONFLICT (kind, key) DO UPDATE SET job_id = excluded.job_id, key_for = excluded.key_for, free_at = NULL
        WHERE k.free_at <= howdah.clock() OR k.job_id = excluded.job_id
    RETURNING k.job_id
),
gone AS (
    DELETE FROM howdah.history h USING fit f
    WHERE h.id = ANY (ARRAY[f.id]) AND (f.key IS NULL OR EXISTS (SELECT FROM taken t WHERE t.job_id = f.id))
    RETURNING h.*
),
back AS (
    INSERT INTO howdah.jobs AS j (id, origin_id, run_at, created_at, attempt, excused, max_attempts, crashes, priority,
        kind, queue, worker, key, key_for, subject, lane, args, headers, tags, progress, errors)
    SELECT g.id, g.origin_id, howdah.clock(), g.created_at, g.attempt, g.attempt, g.own_max_attempts, g.crashes, g.priority,
        g.kind, g.queue, g.worker, g.key, g.key_for, g.subject, g.lane, g.args, g.headers, g.tags, g.progress, g.errors
    FROM gone g
    RETURNING j.id, j.kind, j.queue
),
audited AS (
    INSERT INTO howdah.audit (action, job_id, kind, note, detail)
    SELECT 'requeue', g.id, g.kind, %(note)s::text, jsonb_build_object('from', g.state, 'to', 'available', 'attempt', g.attempt)
    FROM gone g
)
SELECT b.id, howdah.ring(b.queue) AS rung FROM back b
