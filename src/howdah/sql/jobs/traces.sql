-- What became of jobs whose report found no current lease: decides between a repeat and a lost lease.
SELECT x.n, a.state, a.attempt, a.settled_by, a.settled_event, a.settled_attempt
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS x (id, n)
CROSS JOIN LATERAL ( -- OFFSET 0, or a plan reads the whole view to join it
    SELECT a.* FROM howdah.all_jobs a WHERE a.id = x.id OFFSET 0
) a
ORDER BY x.n
