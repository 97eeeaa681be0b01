-- What became of jobs whose report found no current lease: decides between a repeat and a lost lease.
SELECT x.n, a.state, a.attempt, a.settled_by, a.settled_event, a.settled_attempt
FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS x (id, n)
JOIN howdah.all_jobs a ON a.id = x.id
ORDER BY x.n
