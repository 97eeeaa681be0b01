-- What decides whether a job can be claimed now.
SELECT a.state, a.attempt, a.kind, a.queue, a.run_at, a.expires_at, a.worker, a.lease_expires_at, howdah.clock() AS now,
    EXISTS (SELECT FROM howdah.kinds k WHERE k.kind = a.kind AND k.declared IS NOT NULL) AS kind_is_known,
    EXISTS (SELECT FROM howdah.queues q WHERE q.queue = a.queue AND q.paused_at IS NOT NULL) AS queue_paused,
    a.state IN ('scheduled', 'blocked', 'available') AND a.subject IS NOT NULL AND (
        SELECT max(newer.id)
        FROM (
            SELECT o.id FROM howdah.jobs o
            WHERE o.kind = j.kind AND o.subject = j.subject AND o.id > j.id
                AND (o.state IN ('available', 'scheduled', 'blocked') OR o.claim_no > j.claim_no)
            UNION ALL
            SELECT h.id FROM howdah.history h
            WHERE h.kind = j.kind AND h.subject = j.subject AND h.id > j.id
                AND h.claim_no > j.claim_no AND h.finished_at >= j.claimed_at - interval '1 hour'
        ) newer
    ) IS NOT NULL AS outdated
FROM howdah.all_jobs a LEFT JOIN howdah.jobs j ON j.id = a.id
WHERE a.id = %(id)s::bigint
