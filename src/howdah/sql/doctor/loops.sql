-- Jobs with many excused attempts, among those that come next.
WITH next AS (
    (SELECT j.id, j.kind, j.excused, j.settled_event FROM howdah.jobs j
     WHERE j.state = 'available' ORDER BY j.queue, j.priority LIMIT 5000)
    UNION ALL
    (SELECT j.id, j.kind, j.excused, j.settled_event FROM howdah.jobs j WHERE j.state = 'scheduled' ORDER BY j.run_at LIMIT 5000)
    UNION ALL
    (SELECT j.id, j.kind, j.excused, j.settled_event FROM howdah.jobs j
     WHERE j.state = ANY (ARRAY['running']) ORDER BY j.state, j.id LIMIT 5000)
)
SELECT n.id, n.kind, n.excused, n.settled_event FROM next n
WHERE n.excused >= %(least)s::integer AND n.settled_event IN ('release', 'snooze')
ORDER BY n.excused DESC
LIMIT 1000
