-- How the leases stand that a pass did not extend: still held (somebody has the row's lock), expired, or gone.
SELECT x.n, a.state, a.attempt, a.settled_by, a.settled_event, a.settled_attempt,
    coalesce(a.lease_expires_at > (SELECT howdah.clock()), false) AS live
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS x (id, n)
JOIN howdah.all_jobs a ON a.id = x.id
ORDER BY x.n
