-- Which of history's next days are missing, and how far back it goes.
WITH today AS MATERIALIZED (SELECT (howdah.clock() AT TIME ZONE 'UTC')::date AS day)
SELECT
    ARRAY(
        SELECT t.day + n FROM today t CROSS JOIN generate_series(0, %(days)s::integer - 1) AS n
        WHERE to_regclass('howdah.history_' || to_char(t.day + n, 'YYYYMMDD')) IS NULL ORDER BY n
    ) AS missing,
    min(p.day) AS oldest,
    (SELECT t.day FROM today t) - min(p.day) AS oldest_days
FROM (
    SELECT to_date(substr(c.relname, 9), 'YYYYMMDD') AS day
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'howdah.history'::regclass AND c.relname ~ '^history_[0-9]{8}$'
) p
