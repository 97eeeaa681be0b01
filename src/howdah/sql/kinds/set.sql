-- Changes parts of a kind's policy and pins it: what workers declare is kept aside until it is reset.
WITH written AS (
    INSERT INTO howdah.kinds AS k (kind, queue, max_attempts, retry_base, retry_factor, retry_cap, retry_jitter, lease, on_crash,
        on_supersede, on_discard, on_unknown, pinned)
    SELECT p.kind, p.queue, p.max_attempts, p.retry_base, p.retry_factor, p.retry_cap, p.retry_jitter, p.lease, p.on_crash,
        p.on_supersede, p.on_discard, p.on_unknown, true
    FROM jsonb_populate_record(NULL::howdah.kinds, %(defaults)s::jsonb || %(changes)s::jsonb) p
    ON CONFLICT (kind) DO UPDATE SET (queue, max_attempts, retry_base, retry_factor, retry_cap, retry_jitter, lease, on_crash,
        on_supersede, on_discard, on_unknown, pinned, updated_at) = (
        SELECT p.queue, p.max_attempts, p.retry_base, p.retry_factor, p.retry_cap, p.retry_jitter, p.lease, p.on_crash,
            p.on_supersede, p.on_discard, p.on_unknown, true, howdah.clock()
        FROM jsonb_populate_record(k, %(changes)s::jsonb) p
    )
    RETURNING k.*
),
audited AS ( -- the snapshot still shows the old policy
    INSERT INTO howdah.audit (action, kind, note, detail)
    SELECT 'kinds set', w.kind, %(note)s::text,
        jsonb_build_object('from', to_jsonb(o) - '{kind,declared,updated_at}'::text[], 'changes', %(changes)s::jsonb)
    FROM written w LEFT JOIN howdah.kinds o ON o.kind = w.kind
)
SELECT w.kind, w.queue, w.max_attempts, w.retry_base, w.retry_factor, w.retry_cap, w.retry_jitter, w.lease, w.on_crash,
    w.on_supersede, w.on_discard, w.on_unknown, w.pinned, w.declared, w.updated_at
FROM written w
