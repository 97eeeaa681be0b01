-- Pauses a queue: nothing of it is claimed until it is resumed. No row where it is paused already.
WITH paused AS (
    INSERT INTO howdah.queues AS q (queue, paused_at) VALUES (%(queue)s::text, howdah.clock())
    ON CONFLICT (queue) DO UPDATE SET paused_at = excluded.paused_at WHERE q.paused_at IS NULL
    RETURNING q.queue, q.paused_at
)
INSERT INTO howdah.audit (action, detail) SELECT 'pause', jsonb_build_object('queue', p.queue) FROM paused p RETURNING id
