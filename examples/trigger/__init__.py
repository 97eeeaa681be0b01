"""Jobs enqueued by a trigger: whoever writes to the table, the job is there."""
