-- Locks jobs whose time to start has passed, as far as they are free.
SELECT j.id FROM howdah.jobs j
WHERE j.expires_at <= (SELECT howdah.clock()) AND j.expires_at IS NOT NULL AND j.attempt = 0
    AND j.state IN ('scheduled', 'blocked', 'available')
    AND (%(only)s::bigint IS NULL OR j.id = %(only)s::bigint)
ORDER BY j.expires_at
LIMIT %(limit)s::integer
FOR NO KEY UPDATE SKIP LOCKED
