-- Bulk-loads jobs without keys or subjects; the positions come from the column's default.
COPY howdah.jobs (kind, queue, state, priority, run_at, expires_at, max_attempts, args, headers, tags) FROM STDIN
