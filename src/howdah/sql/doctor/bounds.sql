-- Keeps what follows in this transaction short: it must not become the trouble that it looks for. The statistics of a table
-- that fills and drains may be stale, and then only indexes bound what is read.
SELECT set_config('statement_timeout', %(milliseconds)s::text, true), set_config('lock_timeout', '500', true),
    set_config('jit', 'off', true), set_config('enable_sort', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true)
