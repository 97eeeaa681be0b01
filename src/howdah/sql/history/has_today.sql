-- Whether history has its partition for today.
SELECT to_regclass('howdah.history_' || to_char(howdah.clock() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL AS there
