-- A worker's heartbeat; the row comes back where it was cleaned away while the worker was out of reach,
-- and says so: a database that was made anew or restored meanwhile does not know the worker's kinds either.
INSERT INTO howdah.workers AS w (worker, hostname, pid, version, queues, kinds, running, stuck, stopping)
VALUES (%(worker)s::text, %(hostname)s::text, %(pid)s::integer, %(version)s::text, %(queues)s::jsonb, %(kinds)s::text[], %(running)s::integer, %(stuck)s::integer, %(stopping)s::boolean)
ON CONFLICT (worker) DO UPDATE SET heartbeat_at = howdah.clock(), running = excluded.running, stuck = excluded.stuck, stopping = excluded.stopping
RETURNING w.worker, w.xmax = 0 AS is_new
