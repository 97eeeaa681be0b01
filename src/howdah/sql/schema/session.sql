-- The isolation level that a statement of its own would run at, and the backend: another than the driver was told of
-- means that a pooler is in between, which may give each transaction another backend.
SELECT current_setting('default_transaction_isolation') AS level, pg_backend_pid() AS pid
