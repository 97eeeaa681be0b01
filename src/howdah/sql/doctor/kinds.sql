-- Kinds that no code has declared, or that no worker of today has, among the jobs that wait at the heads of their lines.
WITH alive AS MATERIALIZED (
    SELECT s.kinds FROM howdah.worker_status s WHERE s.status IN ('alive', 'late')
),
waiting AS (
    (SELECT j.kind, j.excused, j.created_at FROM howdah.jobs j
     WHERE j.state = 'available' ORDER BY j.queue, j.priority LIMIT 5000)
    UNION ALL
    (SELECT j.kind, j.excused, j.created_at FROM howdah.jobs j WHERE j.state = 'scheduled' ORDER BY j.run_at LIMIT 5000)
)
SELECT w.kind, count(*) AS jobs, max(w.excused) AS put_off,
    extract(epoch FROM (SELECT howdah.clock()) - min(w.created_at))::double precision AS seconds
FROM waiting w
WHERE NOT EXISTS (SELECT FROM howdah.kinds k WHERE k.kind = w.kind AND k.declared IS NOT NULL)
    OR EXISTS (SELECT FROM alive) AND NOT EXISTS (SELECT FROM alive a WHERE a.kinds IS NULL OR w.kind = ANY (a.kinds))
GROUP BY w.kind
ORDER BY count(*) DESC
LIMIT 20
