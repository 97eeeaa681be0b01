-- Shows a worker that has started.
INSERT INTO howdah.workers AS w (worker, hostname, pid, version, queues, kinds)
VALUES (%(worker)s::text, %(hostname)s::text, %(pid)s::integer, %(version)s::text, %(queues)s::jsonb, %(kinds)s::text[])
ON CONFLICT (worker) DO UPDATE SET heartbeat_at = howdah.clock(), stopping = false
RETURNING w.started_at
