-- Completes a set of plain attempts (no key, no subject), moving them to history; gives the ids that it completed.
WITH locked AS MATERIALIZED (
    SELECT j.id, x.result
    FROM (
        SELECT x.id, x.token, x.result
        FROM unnest(%(ids)s::bigint[], %(tokens)s::integer[], %(results)s::jsonb[]) AS x (id, token, result)
        ORDER BY x.id
    ) x
    CROSS JOIN LATERAL ( -- one row by its id, whatever the statistics say of how many are running
        SELECT j.id FROM howdah.jobs j
        WHERE j.id = x.id AND j.attempt = x.token AND j.state = 'running' AND j.key IS NULL AND j.subject IS NULL
        FOR NO KEY UPDATE
    ) j
),
gone AS (
    DELETE FROM howdah.jobs j USING locked l WHERE j.id = ANY (ARRAY[l.id]) RETURNING j.*, l.result
),
clock AS MATERIALIZED (SELECT howdah.clock() AS now)
INSERT INTO howdah.history (id, claim_no, origin_id, superseded_by, run_at, created_at, claimed_at, started_at,
    lease_expires_at, expires_at, cancel_requested_at, finished_at, attempt, excused, max_attempts, own_max_attempts, crashes,
    settled_attempt, priority, state, kind, queue, worker, key, key_for, subject, lane, settled_by, settled_event, args, headers,
    tags, progress, errors, result)
SELECT g.id, g.claim_no, g.origin_id, g.superseded_by, g.run_at, g.created_at, g.claimed_at, g.started_at,
    NULL, g.expires_at, g.cancel_requested_at, c.now, g.attempt, g.excused, coalesce(g.max_attempts, k.max_attempts, 10), g.max_attempts, g.crashes,
    g.attempt, g.priority, 'completed', g.kind, g.queue, g.worker, g.key, g.key_for, g.subject, g.lane, 'worker', 'complete', g.args, g.headers,
    g.tags, g.progress, g.errors, g.result
FROM gone g CROSS JOIN clock c LEFT JOIN howdah.kinds k ON k.kind = g.kind
RETURNING id
