-- Deletes keys whose window is over; gives how many.
WITH free AS MATERIALIZED (
    SELECT k.kind, k.key FROM howdah.keys k
    WHERE k.free_at <= (SELECT howdah.clock()) AND k.free_at IS NOT NULL
    ORDER BY k.free_at
    LIMIT %(limit)s::integer
    FOR UPDATE SKIP LOCKED
),
deleted AS (
    DELETE FROM howdah.keys k USING free f WHERE k.kind = f.kind AND k.key = f.key RETURNING k.key
)
SELECT count(*) AS deleted FROM deleted
