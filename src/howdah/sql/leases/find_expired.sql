-- Locks attempts whose lease has expired, as far as they are free; a locked one is somebody's who is settling it.
-- A lease is at most 24 hours: one that ends later than that was written by a clock that stepped back.
SELECT j.id, j.attempt FROM howdah.jobs j
WHERE j.state = ANY (ARRAY['running']) -- not `=`: then `ORDER BY state, id` is the order of jobs_held alone, and no plan reads the whole table
    AND (j.lease_expires_at <= (SELECT howdah.clock()) OR j.lease_expires_at >= (SELECT howdah.clock()) + interval '25 hours')
    AND j.id > %(after)s::bigint
    AND (%(only)s::bigint IS NULL OR j.id = %(only)s::bigint)
ORDER BY j.state, j.id
LIMIT %(limit)s::integer
FOR NO KEY UPDATE SKIP LOCKED
