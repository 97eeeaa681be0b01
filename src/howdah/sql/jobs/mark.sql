-- Where the tables stand, and which transactions are open: what a reader who follows changes measures itself by.
SELECT c.now,
    pg_snapshot_xmin(s.snapshot)::text::bigint AS oldest,
    pg_snapshot_xmax(s.snapshot)::text::bigint AS next,
    coalesce(greatest((SELECT max(j.id) FROM howdah.jobs j), (SELECT max(h.id) FROM howdah.history h)), 0) AS id,
    coalesce(
        pg_relation_size(to_regclass('howdah.history_' || to_char(c.now AT TIME ZONE 'UTC', 'YYYYMMDD')))
            / current_setting('block_size')::integer,
        0
    ) AS block
FROM (SELECT howdah.clock() AS now OFFSET 0) c CROSS JOIN (SELECT pg_current_snapshot() AS snapshot) s
