-- What the handlers of these leases have been asked to do meanwhile; only those that have been asked. Writes nothing.
SELECT a.id, a.attempt, a.cancelled, a.outdated
FROM unnest(%(ids)s::bigint[], %(tokens)s::integer[]) AS x (id, token)
CROSS JOIN LATERAL ( -- one row by its id, whatever the statistics say
    SELECT j.id, j.attempt, j.cancel_requested_at IS NOT NULL AS cancelled,
        j.subject IS NOT NULL AND coalesce((SELECT k.on_supersede FROM howdah.kinds k WHERE k.kind = j.kind), 'cancel') = 'cancel' AND (
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
    FROM howdah.jobs j
    WHERE j.id = x.id AND j.attempt = x.token AND j.state = 'running'
    OFFSET 0
) a
WHERE a.cancelled OR a.outdated
