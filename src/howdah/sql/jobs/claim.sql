-- Claims available jobs: queues in the order given, of each at most its quota, by priority and position.
-- What it meets and must not run (a newer job of its subject, its time to start passed) goes to history at once.
WITH ranges AS MATERIALIZED (
    SELECT r.queue, r.low, r.high, r.floor, r.quota
    FROM unnest(
        %(queues)s::text[], %(lows)s::smallint[], %(highs)s::smallint[], %(floors)s::bigint[], %(quotas)s::integer[]
    ) AS r (queue, low, high, floor, quota)
    WHERE (SELECT q.paused_at FROM howdah.queues q WHERE q.queue = r.queue) IS NULL
),
picked AS MATERIALIZED ( -- materialized, or a plan may lock and update more rows than the limit
    SELECT j.id, j.kind, j.subject, j.claim_no, j.claimed_at, j.expires_at, j.attempt
    FROM ranges r
    CROSS JOIN LATERAL (
        SELECT j.id, j.kind, j.subject, j.claim_no, j.claimed_at, j.expires_at, j.attempt
        FROM howdah.jobs j
        WHERE j.state = 'available' AND j.queue = r.queue AND j.priority BETWEEN r.low AND r.high AND j.position >= r.floor
        ORDER BY j.priority, j.position
        LIMIT r.quota
        FOR NO KEY UPDATE SKIP LOCKED
    ) j
    LIMIT %(limit)s::integer
),
clock AS MATERIALIZED (SELECT howdah.clock() AS now),
judged AS MATERIALIZED (
    SELECT p.id, p.kind, row_number() OVER () AS n,
        CASE WHEN p.subject IS NOT NULL THEN (
            SELECT max(newer.id)
            FROM (
                SELECT o.id FROM howdah.jobs o
                WHERE o.kind = p.kind AND o.subject = p.subject AND o.id > p.id
                    AND (o.state IN ('available', 'scheduled', 'blocked') OR o.claim_no > p.claim_no)
                UNION ALL
                SELECT h.id FROM howdah.history h
                WHERE h.kind = p.kind AND h.subject = p.subject AND h.id > p.id
                    AND h.claim_no > p.claim_no AND h.finished_at >= p.claimed_at - interval '1 hour'
            ) newer
        ) END AS newer,
        coalesce(p.attempt = 0 AND p.expires_at <= c.now, false) AS late
    FROM picked p CROSS JOIN clock c
),
gone AS (
    DELETE FROM howdah.jobs j USING judged g
    WHERE j.id = ANY (ARRAY[g.id]) AND (g.newer IS NOT NULL OR g.late)
    RETURNING j.*, g.newer
),
dropped_keys AS (
    DELETE FROM howdah.keys k USING gone g
    WHERE k.kind = g.kind AND k.key = g.key AND k.job_id = g.id AND k.key_for IS NULL
),
freed_keys AS (
    UPDATE howdah.keys k SET free_at = c.now + make_interval(secs => k.key_for)
    FROM gone g CROSS JOIN clock c
    WHERE k.kind = g.kind AND k.key = g.key AND k.job_id = g.id AND k.key_for IS NOT NULL
),
kept AS (
    INSERT INTO howdah.history (id, claim_no, origin_id, superseded_by, run_at, created_at, claimed_at, started_at,
        lease_expires_at, expires_at, cancel_requested_at, finished_at, attempt, excused, max_attempts, own_max_attempts, crashes,
        settled_attempt, priority, state, kind, queue, worker, key, key_for, subject, lane, settled_by, settled_event, args, headers,
        tags, progress, errors, result)
    SELECT g.id, g.claim_no, g.origin_id, g.newer, g.run_at, g.created_at, g.claimed_at, g.started_at,
        NULL, g.expires_at, g.cancel_requested_at, c.now, g.attempt, g.excused, coalesce(g.max_attempts, k.max_attempts, 10), g.max_attempts, g.crashes,
        g.attempt, g.priority, CASE WHEN g.newer IS NOT NULL THEN 'superseded' ELSE 'expired' END, g.kind, g.queue, g.worker, g.key, g.key_for, g.subject, g.lane, 'claim',
        CASE WHEN g.newer IS NOT NULL THEN 'supersede' ELSE 'expire' END, g.args, g.headers,
        g.tags, g.progress, g.errors, NULL
    FROM gone g CROSS JOIN clock c LEFT JOIN howdah.kinds k ON k.kind = g.kind
),
claimed AS (
    UPDATE howdah.jobs j SET
        state = 'running',
        attempt = j.attempt + 1,
        claimed_at = c.now,
        started_at = NULL,
        lease_expires_at = c.now + make_interval(secs => coalesce(%(lease)s::double precision, k.lease, 60)),
        worker = %(worker)s::text,
        claim_no = CASE WHEN j.subject IS NOT NULL THEN nextval('howdah.claim_seq'::regclass) END,
        needs_start = coalesce(k.on_crash, 'retry') <> 'retry' OR coalesce(j.max_attempts, k.max_attempts, 10) = 1 OR j.crashes > 0
    FROM judged g CROSS JOIN clock c LEFT JOIN howdah.kinds k ON k.kind = g.kind
    WHERE j.id = ANY (ARRAY[g.id]) AND g.newer IS NULL AND NOT g.late
    RETURNING j.id, j.kind, j.queue, j.args, j.headers, j.attempt, coalesce(j.max_attempts, k.max_attempts, 10) AS max_attempts, j.key,
        j.subject, j.needs_start, j.worker, j.lease_expires_at, coalesce(%(lease)s::double precision, k.lease, 60) AS lease_seconds,
        j.origin_id IS NOT NULL AS follow_up, j.crashes > 0 AS has_crashed, g.n
)
-- `moved` tells a queue that is empty from one whose head has just been cleared away.
SELECT c.*, m.moved
FROM (SELECT count(*) AS moved FROM gone) m LEFT JOIN claimed c ON true
WHERE c.id IS NOT NULL OR m.moved > 0
