-- Extends one lease, waiting for its row; never resurrects one that has expired, never shortens one.
WITH locked AS MATERIALIZED (
    SELECT j.id, j.lease_expires_at FROM howdah.jobs j
    WHERE j.id = %(id)s::bigint AND j.attempt = %(token)s::integer AND j.state = 'running'
    FOR NO KEY UPDATE
),
live AS MATERIALIZED (
    SELECT l.id, c.now FROM locked l CROSS JOIN LATERAL (SELECT howdah.clock() AS now, l.id) c WHERE c.now < l.lease_expires_at
)
UPDATE howdah.jobs j SET lease_expires_at = greatest(j.lease_expires_at, l.now + make_interval(secs => %(seconds)s::double precision))
FROM live l
WHERE j.id = ANY (ARRAY[l.id])
RETURNING j.lease_expires_at
