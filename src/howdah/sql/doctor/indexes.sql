-- The indexes of the tables that change most: how large they are, and how many entries they have.
SELECT i.relname::text AS name, pg_relation_size(i.oid) AS bytes,
    CASE WHEN i.reltuples < 0 THEN greatest(s.n_live_tup, 0) ELSE i.reltuples END::double precision AS entries
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_stat_all_tables s ON s.relid = x.indrelid
WHERE x.indrelid IN ('howdah.jobs'::regclass, 'howdah.keys'::regclass)
ORDER BY i.relname
