-- Settles jobs: the event is data, so that the state table, keys, follow-ups and settled_* have one place.
-- Locks in the order of ids, judges under the lock, and gives the new state of each job that took the step.
WITH locked AS MATERIALIZED (
    SELECT x.event, x.delay, x.excused AS excuse, x.permanent, x.result, x.error, x.target,
        j.id, j.kind, j.state, j.attempt, j.excused, j.max_attempts, j.subject, j.claim_no, j.claimed_at, j.started_at,
        j.needs_start, j.lease_expires_at, j.expires_at, j.cancel_requested_at, j.worker, j.errors
    FROM (
        SELECT x.*
        FROM unnest(
            %(ids)s::bigint[], %(tokens)s::integer[], %(events)s::text[], %(delays)s::double precision[], %(excused)s::boolean[],
            %(permanent)s::boolean[], %(results)s::jsonb[], %(errors)s::jsonb[], %(targets)s::text[]
        ) AS x (id, token, event, delay, excused, permanent, result, error, target)
        ORDER BY x.id
    ) x
    CROSS JOIN LATERAL ( -- one row by its id, whatever the statistics say of how many are running
        SELECT j.* FROM howdah.jobs j
        WHERE j.id = x.id AND CASE
            WHEN %(actor)s::text IN ('worker', 'reaper') THEN j.state = 'running' AND j.attempt = x.token
            WHEN x.event = 'cancel' THEN j.state IN ('available', 'scheduled', 'blocked', 'running')
            WHEN x.event = 'resolve' THEN j.state = 'unknown'
            WHEN x.event IN ('supersede', 'expire') THEN j.state IN ('available', 'scheduled', 'blocked')
        END
        FOR NO KEY UPDATE
    ) j
),
judged AS MATERIALIZED ( -- the clock is read per row, after its lock
    SELECT l.*, howdah.clock() AS now, coalesce(l.max_attempts, k.max_attempts, 10) AS cap,
        coalesce(k.on_crash, 'retry') AS on_crash, coalesce(k.on_supersede, 'cancel') AS on_supersede, k.on_discard, k.on_unknown,
        coalesce(k.retry_base, 5) AS retry_base, coalesce(k.retry_factor, 2) AS retry_factor,
        coalesce(k.retry_cap, 3600) AS retry_cap, coalesce(k.retry_jitter, 0.2) AS retry_jitter,
        CASE WHEN l.subject IS NOT NULL THEN (
            SELECT max(newer.id)
            FROM (
                SELECT o.id FROM howdah.jobs o
                WHERE o.kind = l.kind AND o.subject = l.subject AND o.id > l.id
                    AND (o.state IN ('available', 'scheduled', 'blocked') OR o.claim_no > l.claim_no)
                UNION ALL
                SELECT h.id FROM howdah.history h
                WHERE h.kind = l.kind AND h.subject = l.subject AND h.id > l.id
                    AND h.claim_no > l.claim_no AND h.finished_at >= l.claimed_at - interval '1 hour'
            ) newer
        ) END AS newer
    FROM locked l LEFT JOIN howdah.kinds k ON k.kind = l.kind
),
decided AS MATERIALIZED (
    SELECT g.*,
        CASE g.event
            WHEN 'complete' THEN
                CASE WHEN g.newer IS NULL OR g.on_supersede <> 'cancel' THEN 'completed' ELSE 'superseded' END
            WHEN 'cancel' THEN CASE WHEN %(actor)s = 'operator' AND g.state = 'running' THEN 'running' ELSE 'cancelled' END
            WHEN 'discard' THEN 'discarded'
            WHEN 'supersede' THEN CASE WHEN g.newer IS NOT NULL THEN 'superseded' END
            WHEN 'expire' THEN CASE WHEN g.attempt = 0 AND g.expires_at <= g.now THEN 'expired' END
            WHEN 'resolve' THEN CASE WHEN g.target <> 'available' OR g.newer IS NULL THEN g.target END
            WHEN 'reap' THEN
                CASE
                    -- A lease is at most 24 hours: one that ends later than that was written by a clock that stepped back.
                    WHEN g.now < g.lease_expires_at AND g.lease_expires_at < g.now + interval '25 hours' THEN NULL
                    WHEN g.needs_start AND g.started_at IS NULL THEN
                        CASE
                            WHEN g.newer IS NOT NULL THEN 'superseded'
                            WHEN g.cancel_requested_at IS NOT NULL THEN 'cancelled'
                            ELSE 'available'
                        END
                    WHEN g.on_crash = 'unknown' THEN 'unknown'
                    WHEN g.newer IS NOT NULL THEN 'superseded'
                    WHEN g.cancel_requested_at IS NOT NULL THEN 'cancelled'
                    WHEN g.on_crash = 'discard' OR g.attempt - g.excused >= g.cap THEN 'discarded'
                    ELSE 'scheduled'
                END
            ELSE -- fail, snooze, release
                CASE
                    WHEN g.newer IS NOT NULL THEN 'superseded'
                    WHEN g.cancel_requested_at IS NOT NULL THEN 'cancelled'
                    WHEN g.event = 'snooze' THEN 'scheduled'
                    WHEN g.event = 'release' AND g.excuse THEN 'available'
                    WHEN g.permanent OR g.attempt - g.excused >= g.cap THEN 'discarded'
                    ELSE 'scheduled'
                END
        END AS outcome,
        g.event = 'reap' AND NOT (g.needs_start AND g.started_at IS NULL) AS crashed,
        coalesce(
            g.delay,
            least(g.retry_cap, g.retry_base * g.retry_factor ^ least(greatest(g.attempt - g.excused - 1, 0), 62))
                * (1 + g.retry_jitter * (2 * random() - 1))
        ) AS wait
    FROM judged g
),
verdict AS MATERIALIZED (
    SELECT d.*,
        CASE
            WHEN d.crashed THEN jsonb_build_object('event', 'crashed', 'type', 'LeaseExpired', 'message',
                'the lease of ' || d.worker || ' ended without a report')
            ELSE d.error
        END || jsonb_build_object('attempt', d.attempt, 'at', d.now, 'worker', d.worker) AS entry
    FROM decided d
    WHERE d.outcome IS NOT NULL
        AND NOT (%(in_transaction)s::boolean AND d.outcome = 'superseded') -- the handler's writes are rolled back first
),
gone AS (
    DELETE FROM howdah.jobs j USING verdict v
    WHERE j.id = ANY (ARRAY[v.id]) AND v.outcome IN ('completed', 'discarded', 'cancelled', 'superseded', 'expired')
    RETURNING j.*, v.outcome, v.event, v.newer, v.now, v.cap, v.result, v.entry, v.crashed, v.on_discard
),
dropped_keys AS (
    DELETE FROM howdah.keys k USING gone g
    WHERE k.kind = g.kind AND k.key = g.key AND k.job_id = g.id AND k.key_for IS NULL
),
freed_keys AS (
    UPDATE howdah.keys k SET free_at = g.now + make_interval(secs => k.key_for)
    FROM gone g
    WHERE k.kind = g.kind AND k.key = g.key AND k.job_id = g.id AND k.key_for IS NOT NULL
),
kept AS (
    INSERT INTO howdah.history (id, claim_no, origin_id, superseded_by, run_at, created_at, claimed_at, started_at,
        lease_expires_at, expires_at, cancel_requested_at, finished_at, attempt, excused, max_attempts, own_max_attempts, crashes,
        settled_attempt, priority, state, kind, queue, worker, key, key_for, subject, lane, settled_by, settled_event, args, headers,
        tags, progress, errors, result)
    SELECT g.id, g.claim_no, g.origin_id, CASE WHEN g.outcome = 'superseded' THEN g.newer END, g.run_at, g.created_at, g.claimed_at, g.started_at,
        NULL, g.expires_at, g.cancel_requested_at, g.now, g.attempt, g.excused, g.cap, g.max_attempts, g.crashes + g.crashed::integer,
        g.attempt, g.priority, g.outcome, g.kind, g.queue, g.worker, g.key, g.key_for, g.subject, g.lane, %(actor)s::text, g.event, g.args, g.headers,
        g.tags, g.progress,
        CASE WHEN g.entry IS NULL THEN g.errors WHEN jsonb_array_length(g.errors) >= 20 THEN (g.errors - 0) || g.entry ELSE g.errors || g.entry END,
        CASE WHEN g.outcome = 'completed' THEN g.result END
    FROM gone g
),
stayed AS (
    UPDATE howdah.jobs j SET
        state = v.outcome,
        position = CASE WHEN v.outcome = 'available' THEN nextval('howdah.position_seq'::regclass) ELSE j.position END,
        run_at = CASE WHEN v.outcome = 'scheduled' THEN v.now + make_interval(secs => v.wait) ELSE j.run_at END,
        -- As locked, not as j has it: CHECKs are first held against the snapshot's version, which may be from before a claim.
        lease_expires_at = CASE WHEN v.outcome IN ('running', 'unknown') THEN v.lease_expires_at END,
        excused = CASE
            WHEN v.event = 'resolve' THEN j.attempt
            WHEN v.event = 'snooze' OR v.outcome = 'available' THEN j.excused + 1
            ELSE j.excused
        END,
        crashes = j.crashes + v.crashed::integer,
        cancel_requested_at = CASE
            WHEN v.outcome = 'running' THEN coalesce(j.cancel_requested_at, v.now)
            WHEN v.event <> 'resolve' THEN j.cancel_requested_at
        END,
        claim_no = CASE WHEN v.event <> 'resolve' THEN j.claim_no END,
        claimed_at = CASE WHEN v.event <> 'resolve' THEN j.claimed_at END,
        started_at = CASE WHEN v.event <> 'resolve' THEN j.started_at END,
        expires_at = CASE WHEN v.event <> 'resolve' THEN j.expires_at END,
        superseded_by = CASE WHEN v.event <> 'resolve' THEN j.superseded_by END,
        settled_by = CASE WHEN v.outcome = 'running' THEN j.settled_by WHEN v.event <> 'resolve' THEN %(actor)s::text END,
        settled_event = CASE WHEN v.outcome = 'running' THEN j.settled_event WHEN v.event <> 'resolve' THEN v.event END,
        settled_attempt = CASE WHEN v.outcome = 'running' THEN j.settled_attempt WHEN v.event <> 'resolve' THEN j.attempt END,
        errors = CASE WHEN v.entry IS NULL THEN j.errors WHEN jsonb_array_length(j.errors) >= 20 THEN (j.errors - 0) || v.entry ELSE j.errors || v.entry END
    FROM verdict v
    WHERE j.id = ANY (ARRAY[v.id]) AND v.outcome IN ('running', 'scheduled', 'available', 'unknown')
    RETURNING j.id, j.kind, j.queue, j.attempt, j.args, j.headers, j.errors, j.origin_id, v.outcome, v.event, v.entry, v.on_unknown
),
followed AS ( -- a follow-up carries its origin and breeds none of its own
    INSERT INTO howdah.jobs AS f (kind, queue, args, headers, origin_id)
    SELECT o.follow_up, coalesce(k.queue, 'default'),
        jsonb_build_object('job_id', o.id, 'kind', o.kind, 'queue', o.queue, 'args', o.args, 'attempt', o.attempt,
            'error', coalesce(o.entry, o.errors -> -1), 'reason', o.event),
        o.headers, o.id
    FROM (
        SELECT g.on_discard AS follow_up, g.id, g.kind, g.queue, g.args, g.attempt, g.entry, g.errors, g.event, g.headers, g.origin_id
        FROM gone g WHERE g.outcome = 'discarded'
        UNION ALL
        SELECT s.on_unknown, s.id, s.kind, s.queue, s.args, s.attempt, s.entry, s.errors, s.event, s.headers, s.origin_id
        FROM stayed s WHERE s.outcome = 'unknown'
    ) o
    LEFT JOIN howdah.kinds k ON k.kind = o.follow_up
    WHERE o.follow_up IS NOT NULL AND o.origin_id IS NULL
    RETURNING f.queue
),
audited AS (
    INSERT INTO howdah.audit (action, job_id, kind, note, detail)
    SELECT v.event, v.id, v.kind, %(note)s::text, jsonb_build_object('from', v.state, 'to', v.outcome, 'attempt', v.attempt)
    FROM verdict v WHERE %(actor)s = 'operator'
),
rung AS MATERIALIZED (
    SELECT count(howdah.ring(q.queue))
    FROM (SELECT s.queue FROM stayed s WHERE s.outcome = 'available' UNION SELECT f.queue FROM followed f) q
)
SELECT v.id, v.outcome AS state FROM verdict v CROSS JOIN rung
