-- The state of a job that is not final; no row when it is, or never was.
SELECT j.state FROM howdah.jobs j WHERE j.id = %(id)s::bigint
