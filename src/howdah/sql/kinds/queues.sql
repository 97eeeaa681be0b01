-- The queues that kinds go to, and the database's time.
SELECT howdah.clock() AS now, x.kind, k.queue
FROM unnest(%(kinds)s::text[]) AS x (kind) LEFT JOIN howdah.kinds k ON k.kind = x.kind
UNION ALL
SELECT howdah.clock(), NULL, NULL
