-- Jobs whose outcome is unknown: each waits for a person or a reconciler.
SELECT j.id, j.kind, extract(epoch FROM (SELECT howdah.clock()) - j.lease_expires_at)::double precision AS seconds
FROM howdah.jobs j
WHERE j.state = ANY (ARRAY['unknown'])
ORDER BY j.state, j.id
LIMIT 1000
