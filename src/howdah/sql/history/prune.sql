-- One step of history's retention, in seconds; gives what it did, or nothing.
SELECT howdah.prune_history(%(retention)s::double precision) AS did
