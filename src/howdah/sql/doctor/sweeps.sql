-- How long ago somebody swept jobs, and how many workers there are to do so.
SELECT (SELECT count(*) FROM howdah.worker_status w WHERE w.status IN ('alive', 'late')) AS workers,
    (SELECT extract(epoch FROM (SELECT howdah.clock()) - max(s.last_at))::double precision
     FROM howdah.sweeps s WHERE s.name = 'jobs') AS seconds
