-- Arms the bell (1: somebody is idle) or stills it (0). A hint: no truth hangs on it.
SELECT setval('howdah.bell'::regclass, %(value)s::bigint) AS value
