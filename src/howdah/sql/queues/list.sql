-- How each queue stands, by name.
SELECT q.queue, q.paused, q.paused_at, q.available, q.scheduled, q.retrying, q.blocked, q.running, q.unknown, q.leases_expired,
    q.oldest_available_age_seconds, q.oldest_running_age_seconds, q.next_run_at, q.workers, q.slots, q.utilization
FROM howdah.queue_stats q ORDER BY q.queue
