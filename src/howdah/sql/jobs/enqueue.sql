-- Enqueues one job that has neither key nor subject; rings the bell if somebody is idle.
WITH added AS (
    INSERT INTO howdah.jobs AS j (kind, queue, state, priority, run_at, created_at, expires_at, max_attempts, args, headers, tags)
    SELECT
        %(kind)s::text,
        coalesce(%(queue)s::text, (SELECT k.queue FROM howdah.kinds k WHERE k.kind = %(kind)s::text), %(fallback_queue)s::text),
        CASE WHEN d.due > c.now THEN 'scheduled' ELSE 'available' END,
        %(priority)s::smallint,
        d.due,
        c.now,
        c.now + make_interval(secs => %(expires_in)s::double precision),
        %(max_attempts)s::integer,
        %(args)s::jsonb,
        %(headers)s::jsonb,
        %(tags)s::text[]
    FROM (SELECT howdah.clock() AS now OFFSET 0) c
    CROSS JOIN LATERAL (
        SELECT coalesce(%(run_at)s::timestamptz, c.now + make_interval(secs => coalesce(%(delay)s::double precision, 0))) AS due
    ) d
    RETURNING j.id, j.queue, j.state
)
SELECT a.id, true AS created, CASE WHEN a.state = 'available' THEN howdah.ring(a.queue) END AS rung FROM added a
