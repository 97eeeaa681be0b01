-- How the leases stand that a pass did not extend: still held (somebody has the row's lock), expired, or gone.
SELECT x.n, a.state, a.attempt, a.settled_by, a.settled_event, a.settled_attempt,
    coalesce(a.lease_expires_at > (SELECT howdah.clock()), false) AS live
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS x (id, n)
CROSS JOIN LATERAL ( -- OFFSET 0, or a plan reads the whole view to join it
    SELECT a.* FROM howdah.all_jobs a WHERE a.id = x.id OFFSET 0
) a
ORDER BY x.n
