-- Makes history's partitions from yesterday to 14 days ahead, where they are missing.
SELECT howdah.ensure_partition(d.day)
FROM (SELECT (howdah.clock() AT TIME ZONE 'UTC')::date + n AS day FROM generate_series(-1, 14) AS n) d
WHERE to_regclass('howdah.history_' || to_char(d.day, 'YYYYMMDD')) IS NULL
ORDER BY d.day
