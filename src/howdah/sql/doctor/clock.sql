-- The database's time.
SELECT howdah.clock() AS now
