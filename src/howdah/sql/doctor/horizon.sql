-- Who holds back the horizon below which vacuum may remove dead rows; the oldest first.
WITH holders AS (
    SELECT 'session' AS holder, a.pid::text AS name, a.usename::text AS username, a.application_name AS application, a.state,
        a.xact_start AS since, greatest(age(a.backend_xmin), age(a.backend_xid)) AS xids, left(a.query, 300) AS statement
    FROM pg_stat_activity a
    WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
        AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
        AND a.backend_type IS DISTINCT FROM 'autovacuum worker' -- vacuum does not wait for vacuum
        AND NOT EXISTS (SELECT FROM pg_stat_progress_vacuum v WHERE v.pid = a.pid)
    UNION ALL
    SELECT 'prepared', p.gid, p.owner::text, NULL, 'prepared', p.prepared, age(p.transaction), NULL
    FROM pg_prepared_xacts p WHERE p.database = current_database()
    UNION ALL
    SELECT 'slot', s.slot_name::text, NULL, s.plugin::text, CASE WHEN s.active THEN 'active' ELSE 'inactive' END, NULL,
        greatest(age(s.xmin), age(s.catalog_xmin)), NULL
    FROM pg_replication_slots s WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
    UNION ALL
    SELECT 'standby', r.pid::text, r.usename::text, r.application_name, r.state, NULL, age(r.backend_xmin), NULL
    FROM pg_stat_replication r WHERE r.backend_xmin IS NOT NULL
)
SELECT h.holder, h.name, h.username, h.application, h.state, h.xids, h.statement,
    extract(epoch FROM (SELECT howdah.clock()) - h.since)::double precision AS seconds
FROM holders h
ORDER BY h.xids DESC NULLS LAST, h.since NULLS LAST
LIMIT 50
