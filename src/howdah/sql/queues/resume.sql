-- Resumes a queue and wakes its workers.
WITH resumed AS (
    UPDATE howdah.queues q SET paused_at = NULL WHERE q.queue = %(queue)s::text AND q.paused_at IS NOT NULL RETURNING q.queue
),
audited AS (
    INSERT INTO howdah.audit (action, detail) SELECT 'resume', jsonb_build_object('queue', r.queue) FROM resumed r
)
SELECT howdah.ring(r.queue) AS rung FROM resumed r
