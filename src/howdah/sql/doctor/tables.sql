-- The tables that change, history apart: storage options and dead rows.
SELECT c.relname::text AS name, c.reloptions AS options, s.n_live_tup AS live, s.n_dead_tup AS dead, s.last_autovacuum,
    current_setting('autovacuum') AS autovacuum, current_setting('track_counts') AS track_counts
FROM pg_class c JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relnamespace = 'howdah'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
ORDER BY c.relname
