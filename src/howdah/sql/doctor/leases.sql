-- Attempts whose lease has been over for longer than a few sweeps take.
SELECT j.id, j.worker, extract(epoch FROM (SELECT howdah.clock()) - j.lease_expires_at)::double precision AS seconds
FROM howdah.jobs j
WHERE j.state = ANY (ARRAY['running']) -- as in leases/find_expired
    AND j.lease_expires_at < (SELECT howdah.clock()) - make_interval(secs => %(overdue)s::double precision)
ORDER BY j.state, j.id
LIMIT 1000
