-- Enqueues jobs that have neither keys nor subjects; gives their ids with the ordinals of the input.
WITH given AS MATERIALIZED (
    SELECT x.*, nextval('howdah.job_id_seq'::regclass) AS id
    FROM unnest(
        %(kinds)s::text[], %(queues)s::text[], %(fallback_queues)s::text[], %(priorities)s::smallint[],
        %(delays)s::double precision[], %(run_ats)s::timestamptz[], %(expires_ins)s::double precision[],
        %(max_attempts)s::integer[], %(args)s::jsonb[], %(headers)s::jsonb[], %(tags)s::jsonb[]
    ) WITH ORDINALITY AS x (
        kind, queue, fallback_queue, priority, delay, run_at, expires_in, max_attempts, args, headers, tags, n
    )
),
added AS (
    INSERT INTO howdah.jobs AS j (id, kind, queue, state, priority, run_at, created_at, expires_at, max_attempts, args, headers, tags)
    SELECT
        g.id,
        g.kind,
        coalesce(g.queue, k.queue, g.fallback_queue),
        CASE WHEN d.due > c.now THEN 'scheduled' ELSE 'available' END,
        g.priority,
        d.due,
        c.now,
        c.now + make_interval(secs => g.expires_in),
        g.max_attempts,
        g.args,
        g.headers,
        CASE WHEN g.tags = '[]' THEN '{}' ELSE ARRAY(SELECT jsonb_array_elements_text(g.tags)) END
    FROM given g
    CROSS JOIN (SELECT howdah.clock() AS now OFFSET 0) c
    CROSS JOIN LATERAL (
        SELECT coalesce(g.run_at, c.now + make_interval(secs => coalesce(g.delay, 0))) AS due
    ) d
    LEFT JOIN howdah.kinds k ON k.kind = g.kind
    ORDER BY g.n
    RETURNING j.queue, j.state
),
rung AS MATERIALIZED (
    SELECT count(howdah.ring(q.queue)) FROM (SELECT DISTINCT a.queue FROM added a WHERE a.state = 'available') q
)
SELECT g.id, true AS created FROM given g CROSS JOIN rung ORDER BY g.n
