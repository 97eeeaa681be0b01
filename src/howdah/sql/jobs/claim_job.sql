-- Claims one job by its id, waiting for its row. Gives nothing if it is not available, outdated, or too late to start.
WITH locked AS MATERIALIZED (
    SELECT j.id, j.kind, j.subject, j.claim_no, j.claimed_at, j.expires_at, j.attempt
    FROM howdah.jobs j
    WHERE j.id = %(id)s::bigint AND coalesce(j.state = 'available', false) -- plainly said, a plan may read all of jobs_claim for it
    FOR NO KEY UPDATE
),
judged AS MATERIALIZED (
    SELECT p.id, p.kind, c.now
    FROM locked p CROSS JOIN LATERAL (SELECT howdah.clock() AS now, p.id) c
    WHERE (p.attempt > 0 OR p.expires_at > c.now) IS NOT FALSE
        AND CASE WHEN p.subject IS NOT NULL THEN (
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
        ) END IS NULL
)
UPDATE howdah.jobs j SET
    state = 'running',
    attempt = j.attempt + 1,
    claimed_at = g.now,
    started_at = NULL,
    lease_expires_at = g.now + make_interval(secs => coalesce(%(lease)s::double precision, k.lease, 60)),
    worker = %(worker)s::text,
    claim_no = CASE WHEN j.subject IS NOT NULL THEN nextval('howdah.claim_seq'::regclass) END,
    needs_start = coalesce(k.on_crash, 'retry') <> 'retry' OR coalesce(j.max_attempts, k.max_attempts, 10) = 1 OR j.crashes > 0
FROM judged g LEFT JOIN howdah.kinds k ON k.kind = g.kind
WHERE j.id = ANY (ARRAY[g.id])
RETURNING j.id, j.kind, j.queue, j.args, j.headers, j.attempt, coalesce(j.max_attempts, k.max_attempts, 10) AS max_attempts, j.key,
    j.subject, j.needs_start, j.worker, j.lease_expires_at, coalesce(%(lease)s::double precision, k.lease, 60) AS lease_seconds,
    j.origin_id IS NOT NULL AS follow_up, j.crashes > 0 AS has_crashed, 1 AS n
