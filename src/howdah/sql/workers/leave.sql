-- Takes a worker that has stopped off the list. Its leases, if any are left, simply expire.
DELETE FROM howdah.workers w WHERE w.worker = %(worker)s::text RETURNING w.worker
