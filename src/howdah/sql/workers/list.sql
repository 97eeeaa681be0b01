-- The workers and how they are, those that serve before those that have gone.
SELECT w.worker, w.status, w.queues, w.slots, w.running, w.stuck, w.hostname, w.pid, w.version, w.started_at, w.heartbeat_at,
    w.heartbeat_age_seconds
FROM howdah.worker_status w ORDER BY w.status = 'lost', w.worker
