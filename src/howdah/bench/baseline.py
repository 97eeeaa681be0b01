"""The baseline: the same table, the same history, by the plainest SQL that a good programmer would write first.

No fencing, no leases that anybody extends, no retries, no wake-ups: what is left is what PostgreSQL can do.
"""

from __future__ import annotations

CLAIM = """
WITH picked AS MATERIALIZED (
    SELECT id FROM howdah.jobs WHERE state = 'available' AND queue = 'default'
    ORDER BY priority, position LIMIT %s FOR UPDATE SKIP LOCKED
)
UPDATE howdah.jobs j SET state = 'running', attempt = attempt + 1, claimed_at = c.now,
    lease_expires_at = c.now + interval '60 seconds', worker = 'raw'
FROM picked p, (SELECT clock_timestamp() AS now OFFSET 0) c WHERE j.id = p.id RETURNING j.id, j.kind, j.args, j.attempt
"""

COMPLETE = """
WITH gone AS (DELETE FROM howdah.jobs WHERE id = ANY (%s) RETURNING *)
INSERT INTO howdah.history (id, claim_no, origin_id, superseded_by, run_at, created_at, claimed_at, started_at,
    expires_at, cancel_requested_at, finished_at, attempt, excused, max_attempts, own_max_attempts, crashes,
    settled_attempt, priority, state, kind, queue, worker, key, key_for, subject, lane, settled_by, settled_event,
    args, headers, tags, progress, errors)
SELECT id, claim_no, origin_id, superseded_by, run_at, created_at, claimed_at, started_at,
    expires_at, cancel_requested_at, c.now, attempt, excused, coalesce(max_attempts, 10), max_attempts, crashes,
    attempt, priority, 'completed', kind, queue, worker, key, key_for, subject, lane, 'worker', 'complete',
    args, headers, tags, progress, errors
FROM gone, (SELECT clock_timestamp() AS now OFFSET 0) c
"""

INSERT = "INSERT INTO howdah.jobs (kind, args) VALUES (%s, %s::jsonb)"

INSERT_AND_NOTIFY = """
WITH added AS (INSERT INTO howdah.jobs (kind, args) VALUES (%s, %s::jsonb) RETURNING id)
SELECT pg_notify('bench', '') FROM added
"""

LISTEN = "LISTEN bench"

INSERT_MANY = """
INSERT INTO howdah.jobs (kind, args) SELECT k, a FROM unnest(%s::text[], %s::jsonb[]) AS x (k, a) RETURNING id
"""

COPY = "COPY howdah.jobs (kind, args) FROM STDIN"

EFFECT = "INSERT INTO public.effects (n, text) VALUES (%s, %s)"

# So many jobs in a claim, and in an INSERT from arrays: the best of the sizes that were tried, for the first.
CLAIM_OF = 500
CHUNK = 5_000
