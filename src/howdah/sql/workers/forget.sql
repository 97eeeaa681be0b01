-- Forgets workers that have been silent for a day; nothing but the list depends on them.
WITH silent AS MATERIALIZED (
    SELECT w.worker FROM howdah.workers w WHERE w.heartbeat_at < (SELECT howdah.clock()) - interval '1 day'
    LIMIT 1000 FOR UPDATE SKIP LOCKED
)
DELETE FROM howdah.workers w USING silent s WHERE w.worker = s.worker RETURNING w.worker
