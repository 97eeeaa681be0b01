-- A worker's heartbeat; the row comes back where it was cleaned away while the worker was out of reach.
INSERT INTO howdah.workers AS w (worker, hostname, pid, version, queues, running, stopping)
VALUES (%(worker)s::text, %(hostname)s::text, %(pid)s::integer, %(version)s::text, %(queues)s::jsonb, %(running)s::integer, %(stopping)s::boolean)
ON CONFLICT (worker) DO UPDATE SET heartbeat_at = howdah.clock(), running = excluded.running, stopping = excluded.stopping
RETURNING w.worker
