-- The queues that anybody serves, sends to or has paused; not those of jobs alone, which would be a walk through all of them.
SELECT k.queue FROM howdah.kinds k
UNION SELECT p.queue FROM howdah.queues p
UNION SELECT q.queue FROM howdah.workers w CROSS JOIN LATERAL jsonb_object_keys(w.queues) AS q (queue)
ORDER BY queue
