-- Keeps the refused report of a worker that came back after its job was parked; changes no state.
UPDATE howdah.jobs j SET
    errors = CASE WHEN jsonb_array_length(j.errors) >= 20 THEN j.errors - 0 ELSE j.errors END
        || jsonb_build_object('event', 'late', 'type', %(event)s::text, 'message', %(message)s::text,
            'attempt', j.attempt, 'at', howdah.clock(), 'worker', %(worker)s::text)
WHERE j.id = %(id)s::bigint AND j.attempt = %(token)s::integer AND j.state = 'unknown'
    AND NOT j.errors @> jsonb_build_array(jsonb_build_object('event', 'late', 'type', %(event)s::text, 'attempt', j.attempt))
RETURNING j.id
