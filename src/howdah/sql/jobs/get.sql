-- One job, wherever it is: one statement, so that a job on its way to history or back is always found.
SELECT a.id, a.kind, a.queue, a.state, a.priority, a.attempt, a.excused, a.max_attempts, a.run_at, a.created_at, a.started_at,
    a.expires_at, a.claimed_at, a.lease_expires_at, a.worker, a.crashes, a.cancel_requested_at, a.key, a.subject, a.superseded_by,
    a.settled_by, a.settled_event, a.settled_attempt, a.args, a.headers, a.tags, a.progress, a.errors, a.finished_at, a.result
FROM howdah.all_jobs a WHERE a.id = %(id)s::bigint
