-- Makes due jobs available, each with a new position, in the order in which they are due; gives how many.
WITH due AS MATERIALIZED (
    SELECT j.id FROM howdah.jobs j
    WHERE j.state = 'scheduled' AND j.run_at <= (SELECT howdah.clock())
    ORDER BY j.run_at
    LIMIT %(limit)s::integer
    FOR NO KEY UPDATE SKIP LOCKED
),
promoted AS (
    UPDATE howdah.jobs j SET state = 'available', position = nextval('howdah.position_seq'::regclass)
    FROM due d WHERE j.id = ANY (ARRAY[d.id])
    RETURNING j.queue
),
rung AS MATERIALIZED (SELECT count(howdah.ring(q.queue)) FROM (SELECT DISTINCT p.queue FROM promoted p) q)
SELECT count(*) AS promoted FROM promoted CROSS JOIN rung
