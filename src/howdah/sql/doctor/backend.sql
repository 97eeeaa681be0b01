-- The process that serves this statement; behind a pooler it may be another with each transaction.
SELECT pg_backend_pid() AS pid
