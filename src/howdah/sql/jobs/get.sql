-- One job, wherever it is: one statement, so that a job on its way to history or back is always found.
SELECT a.* FROM howdah.all_jobs a WHERE a.id = %(id)s::bigint
