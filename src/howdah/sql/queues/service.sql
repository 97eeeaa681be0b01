-- Who serves one queue, whether a kind is known, and how many jobs are before one: why an available job still waits.
SELECT j.queue, j.kind, s.workers, s.slots,
    (SELECT count(*) FROM howdah.jobs r WHERE r.state = 'running' AND r.queue = j.queue) AS running,
    EXISTS (SELECT FROM howdah.kinds k WHERE k.kind = j.kind AND k.declared IS NOT NULL) AS kind_is_known,
    (
        SELECT count(*)
        FROM (
            SELECT FROM howdah.jobs o
            WHERE o.state = 'available' AND o.queue = j.queue AND (o.priority, o.position) < (j.priority, j.position)
            LIMIT %(most)s::integer
        ) before
    ) AS ahead
FROM howdah.jobs j
CROSS JOIN LATERAL (
    SELECT count(*) AS workers, coalesce(sum(q.slots::integer), 0) AS slots
    FROM howdah.worker_status w CROSS JOIN LATERAL jsonb_each_text(w.queues) AS q (queue, slots)
    WHERE w.status IN ('alive', 'late') AND q.queue = j.queue
) s
WHERE j.id = %(id)s::bigint
