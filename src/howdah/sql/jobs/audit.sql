-- What operators did with one job, newest first.
SELECT a.at, a.actor, a.action, a.note, a.detail FROM howdah.audit a WHERE a.job_id = %(id)s::bigint ORDER BY a.id DESC LIMIT 100
