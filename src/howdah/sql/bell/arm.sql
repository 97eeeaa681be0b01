-- Arms the bell, unless somebody has done so already.
SELECT setval('howdah.bell'::regclass, 1::bigint) AS value WHERE pg_sequence_last_value('howdah.bell'::regclass) IS DISTINCT FROM 1
