-- Whether this process does the sweep of this interval: one in the whole database, whoever comes first.
WITH turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(hashtextextended('howdah.sweep.' || %(name)s::text, 0::bigint)) AS mine
)
INSERT INTO howdah.sweeps AS s (name, last_at)
SELECT %(name)s::text, howdah.clock() FROM turn t WHERE t.mine
ON CONFLICT (name) DO UPDATE SET last_at = excluded.last_at
    WHERE s.last_at <= excluded.last_at - make_interval(secs => %(interval)s::double precision)
        OR s.last_at > excluded.last_at -- a clock that stepped back must not stop the sweeps
RETURNING s.name
