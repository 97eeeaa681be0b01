-- Enqueues jobs with keys or subjects, in one call and so atomically even on an autocommit connection.
SELECT e.id, e.created FROM howdah.enqueue_jobs(%(jobs)s::jsonb) e
