-- Extends a worker's leases in one pass that waits for nobody, and says what each handler has been asked meanwhile.
WITH locked AS MATERIALIZED (
    SELECT j.id, j.lease_expires_at, x.seconds, x.progress
    FROM unnest(%(ids)s::bigint[], %(tokens)s::integer[], %(seconds)s::double precision[], %(progress)s::jsonb[]) AS x (id, token, seconds, progress)
    CROSS JOIN LATERAL ( -- one row by its id, whatever the statistics say of how many are running
        SELECT j.id, j.lease_expires_at FROM howdah.jobs j
        WHERE j.id = x.id AND j.attempt = x.token AND j.state = 'running'
        FOR NO KEY UPDATE SKIP LOCKED
    ) j
),
live AS MATERIALIZED ( -- compared after the lock, or an expired lease could be revived
    SELECT l.id, l.seconds, l.progress, c.now FROM locked l CROSS JOIN LATERAL (SELECT howdah.clock() AS now, l.id) c WHERE c.now < l.lease_expires_at
)
UPDATE howdah.jobs j SET
    lease_expires_at = greatest(j.lease_expires_at, l.now + make_interval(secs => l.seconds)),
    progress = coalesce(l.progress, j.progress)
FROM live l
WHERE j.id = ANY (ARRAY[l.id])
RETURNING j.id, j.attempt, j.lease_expires_at, j.cancel_requested_at IS NOT NULL AS cancelled,
    j.subject IS NOT NULL AND coalesce((SELECT k.on_supersede FROM howdah.kinds k WHERE k.kind = j.kind), 'cancel') = 'cancel' AND (
        SELECT max(newer.id)
        FROM (
            SELECT o.id FROM howdah.jobs o
            WHERE o.kind = j.kind AND o.subject = j.subject AND o.id > j.id
                AND (o.state IN ('available', 'scheduled', 'blocked') OR o.claim_no > j.claim_no)
            UNION ALL
            SELECT h.id FROM howdah.history h
            WHERE h.kind = j.kind AND h.subject = j.subject AND h.id > j.id
                AND h.claim_no > j.claim_no AND h.finished_at >= j.claimed_at - interval '1 hour'
        ) newer
    ) IS NOT NULL AS outdated
