-- Scheduled jobs that have been due for longer than a few sweeps take.
SELECT j.id, extract(epoch FROM (SELECT howdah.clock()) - j.run_at)::double precision AS seconds
FROM howdah.jobs j
WHERE j.state = 'scheduled' AND j.run_at < (SELECT howdah.clock()) - make_interval(secs => %(overdue)s::double precision)
ORDER BY j.run_at
LIMIT 1000
