-- The isolation level that a statement of its own would run at.
SELECT current_setting('default_transaction_isolation') AS level
