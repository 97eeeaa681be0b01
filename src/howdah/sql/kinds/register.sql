-- Writes the policies that a worker's code declares; a pinned row keeps what an operator has set. Gives what changed.
WITH given AS MATERIALIZED (
    SELECT p.* FROM jsonb_to_recordset(%(policies)s::jsonb) AS p (
        kind text, queue text, max_attempts integer, retry_base double precision, retry_factor double precision,
        retry_cap double precision, retry_jitter double precision, lease double precision, on_crash text, on_supersede text,
        on_discard text, on_unknown text
    )
),
written AS (
    INSERT INTO howdah.kinds AS k (kind, queue, max_attempts, retry_base, retry_factor, retry_cap, retry_jitter, lease, on_crash,
        on_supersede, on_discard, on_unknown, declared)
    SELECT g.kind, g.queue, g.max_attempts, g.retry_base, g.retry_factor, g.retry_cap, g.retry_jitter, g.lease, g.on_crash,
        g.on_supersede, g.on_discard, g.on_unknown, to_jsonb(g) - 'kind'
    FROM given g
    ORDER BY g.kind -- one order for all workers that start together
    ON CONFLICT (kind) DO UPDATE SET
        queue = CASE WHEN k.pinned THEN k.queue ELSE excluded.queue END,
        max_attempts = CASE WHEN k.pinned THEN k.max_attempts ELSE excluded.max_attempts END,
        retry_base = CASE WHEN k.pinned THEN k.retry_base ELSE excluded.retry_base END,
        retry_factor = CASE WHEN k.pinned THEN k.retry_factor ELSE excluded.retry_factor END,
        retry_cap = CASE WHEN k.pinned THEN k.retry_cap ELSE excluded.retry_cap END,
        retry_jitter = CASE WHEN k.pinned THEN k.retry_jitter ELSE excluded.retry_jitter END,
        lease = CASE WHEN k.pinned THEN k.lease ELSE excluded.lease END,
        on_crash = CASE WHEN k.pinned THEN k.on_crash ELSE excluded.on_crash END,
        on_supersede = CASE WHEN k.pinned THEN k.on_supersede ELSE excluded.on_supersede END,
        on_discard = CASE WHEN k.pinned THEN k.on_discard ELSE excluded.on_discard END,
        on_unknown = CASE WHEN k.pinned THEN k.on_unknown ELSE excluded.on_unknown END,
        declared = excluded.declared,
        updated_at = howdah.clock()
    WHERE k.declared IS DISTINCT FROM excluded.declared
    RETURNING k.kind, k.declared, k.pinned
),
audited AS ( -- the snapshot still shows the old policies, which is what a reader of the audit wants to see
    INSERT INTO howdah.audit (action, kind, note, detail)
    SELECT 'declare', w.kind, %(worker)s::text, jsonb_build_object('from', o.declared, 'to', w.declared)
    FROM written w JOIN howdah.kinds o ON o.kind = w.kind
)
SELECT w.kind, w.pinned FROM written w
