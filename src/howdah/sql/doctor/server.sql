-- Settings of the server, and how full it is.
SELECT pg_is_in_recovery() AS standby,
    current_setting('default_transaction_read_only') = 'on' AS read_only,
    current_setting('fsync') AS fsync,
    current_setting('full_page_writes') AS full_page_writes,
    current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('max_connections')::integer AS max_connections,
    current_setting('superuser_reserved_connections')::integer AS reserved_connections,
    (SELECT sum(d.numbackends)::integer FROM pg_stat_database d) AS connections,
    (SELECT age(d.datfrozenxid) FROM pg_database d WHERE d.datname = current_database()) AS frozen_age
