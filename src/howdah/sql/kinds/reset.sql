-- Gives a pinned kind the policy back that its code last declared; one that no code has declared is forgotten.
WITH returned AS (
    UPDATE howdah.kinds k SET (queue, max_attempts, retry_base, retry_factor, retry_cap, retry_jitter, lease, on_crash,
        on_supersede, on_discard, on_unknown, pinned, updated_at) = (
        SELECT p.queue, p.max_attempts, p.retry_base, p.retry_factor, p.retry_cap, p.retry_jitter, p.lease, p.on_crash,
            p.on_supersede, p.on_discard, p.on_unknown, false, howdah.clock()
        FROM jsonb_populate_record(k, k.declared) p
    )
    WHERE k.kind = %(kind)s::text AND k.pinned AND k.declared IS NOT NULL
    RETURNING k.kind, k.declared
),
forgotten AS (
    DELETE FROM howdah.kinds k WHERE k.kind = %(kind)s::text AND k.pinned AND k.declared IS NULL RETURNING k.kind
),
changed AS MATERIALIZED (
    SELECT r.kind, r.declared FROM returned r UNION ALL SELECT f.kind, NULL FROM forgotten f
),
audited AS ( -- the snapshot still shows the old policy
    INSERT INTO howdah.audit (action, kind, note, detail)
    SELECT 'kinds reset', c.kind, %(note)s::text,
        jsonb_build_object('from', to_jsonb(o) - '{kind,declared,updated_at}'::text[], 'to', c.declared)
    FROM changed c JOIN howdah.kinds o ON o.kind = c.kind
)
SELECT c.kind, c.declared FROM changed c
