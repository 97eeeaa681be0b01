-- The accept step, durable when it is answered whatever the role's setting; refuses an expired lease and a second start.
WITH durable AS MATERIALIZED ( -- for this transaction only; a stronger setting such as remote_apply is kept
    SELECT CASE
        WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN set_config('synchronous_commit', 'on', true)
        ELSE current_setting('synchronous_commit')
    END AS setting
),
locked AS MATERIALIZED (
    SELECT j.id, j.lease_expires_at FROM howdah.jobs j
    WHERE j.id = %(id)s::bigint AND j.attempt = %(token)s::integer AND j.state = 'running' AND j.started_at IS NULL
    FOR NO KEY UPDATE
),
live AS MATERIALIZED (
    SELECT l.id, c.now FROM locked l CROSS JOIN LATERAL (SELECT howdah.clock() AS now, l.id) c WHERE c.now < l.lease_expires_at
)
UPDATE howdah.jobs j SET started_at = l.now
FROM live l CROSS JOIN durable d
WHERE j.id = ANY (ARRAY[l.id]) AND d.setting IN ('on', 'remote_apply')
RETURNING j.lease_expires_at
