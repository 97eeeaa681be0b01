-- The policies of all kinds in force, and what the code declares where an operator has set another.
SELECT k.kind, k.queue, k.max_attempts, k.retry_base, k.retry_factor, k.retry_cap, k.retry_jitter, k.lease, k.on_crash,
    k.on_supersede, k.on_discard, k.on_unknown, k.pinned, k.declared, k.updated_at
FROM howdah.kinds k ORDER BY k.kind
