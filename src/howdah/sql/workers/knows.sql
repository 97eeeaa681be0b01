-- Whether a worker is on the list here: its name is its own, so this tells its database from every other.
SELECT EXISTS (SELECT FROM howdah.workers w WHERE w.worker = %(worker)s::text) AS known, current_database() AS database
