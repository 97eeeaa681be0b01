-- Queues with available jobs, found by jumps through the claim index, and paused ones: since when, and who serves them.
WITH RECURSIVE busy AS (
    (SELECT j.queue FROM howdah.jobs j WHERE j.state = 'available' ORDER BY j.queue LIMIT 1)
    UNION ALL
    SELECT (SELECT j.queue FROM howdah.jobs j WHERE j.state = 'available' AND j.queue > b.queue ORDER BY j.queue LIMIT 1)
    FROM busy b WHERE b.queue IS NOT NULL
),
names AS (
    SELECT b.queue FROM (SELECT b.queue FROM busy b WHERE b.queue IS NOT NULL LIMIT 1000) b
    UNION
    SELECT q.queue FROM howdah.queues q WHERE q.paused_at IS NOT NULL
),
serving AS (
    SELECT q.queue, count(*) AS workers
    FROM howdah.worker_status w CROSS JOIN LATERAL jsonb_object_keys(w.queues) AS q (queue)
    WHERE w.status IN ('alive', 'late')
    GROUP BY q.queue
)
SELECT n.queue, coalesce(s.workers, 0) AS workers,
    extract(epoch FROM (SELECT howdah.clock()) - p.paused_at)::double precision AS paused,
    (
        SELECT extract(epoch FROM (SELECT howdah.clock()) - j.run_at)::double precision
        FROM howdah.jobs j WHERE j.state = 'available' AND j.queue = n.queue
        ORDER BY j.queue, j.priority LIMIT 1 -- an order that jobs_claim has, so the first in line
    ) AS waiting
FROM names n
LEFT JOIN serving s ON s.queue = n.queue
LEFT JOIN howdah.queues p ON p.queue = n.queue
ORDER BY n.queue
