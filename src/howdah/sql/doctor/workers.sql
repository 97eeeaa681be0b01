-- Workers that are silent, or that have handlers which do not end.
SELECT w.worker, w.hostname, w.pid, w.status, w.slots, w.stuck, w.heartbeat_age_seconds
FROM howdah.worker_status w
WHERE w.status IN ('late', 'lost') OR w.stuck > 0
ORDER BY w.heartbeat_age_seconds
LIMIT 100
