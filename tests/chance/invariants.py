"""The invariants as SQL: each query gives the rows that break it."""

from __future__ import annotations

INVARIANTS = {
    "I5: a job is claimed only while nobody holds it": """
        SELECT job_id, seq FROM public.changes
        WHERE op = 'UPDATE' AND new_state = 'running' AND new_attempt > old_attempt AND old_state <> 'available'""",
    "I6: each claim has a token greater by one than the one before": """
        SELECT job_id, seq FROM (
            SELECT job_id, seq, new_attempt, lag(new_attempt) OVER (PARTITION BY job_id ORDER BY seq) AS before
            FROM public.changes WHERE op = 'UPDATE' AND new_state = 'running' AND new_attempt > old_attempt) c
        WHERE new_attempt <> coalesce(before, 0) + 1""",
    "I7, I14: the attempt changes in a claim only": """
        SELECT job_id, seq FROM public.changes
        WHERE op = 'UPDATE' AND new_attempt <> old_attempt
            AND NOT (old_state = 'available' AND new_state = 'running')""",
    "I8: an expired lease is never extended, and none is shortened": """
        SELECT job_id, seq FROM public.changes
        WHERE op = 'UPDATE' AND old_state = 'running' AND new_state = 'running' AND new_attempt = old_attempt
            AND new_lease <> old_lease AND (at - interval '0.2 s' > old_lease OR new_lease < old_lease)""",
    "I11: a job is taken back only after its lease has expired": """
        SELECT job_id, seq FROM public.changes
        WHERE op = 'UPDATE' AND by = 'reaper' AND old_state = 'running'
            AND new_state <> 'running' AND at < old_lease""",
    "I11: also into history": """
        SELECT h.id, c.seq FROM howdah.history h JOIN LATERAL (
            SELECT *
                FROM public.changes c WHERE c.job_id = h.id AND c.op = 'DELETE' ORDER BY seq DESC LIMIT 1) c ON true
        WHERE h.settled_by = 'reaper' AND c.at < c.old_lease""",
    "I12: a step is excused by one at most": """
        SELECT job_id, seq FROM public.changes
        WHERE op = 'UPDATE' AND new_excused NOT IN (old_excused, old_excused + 1) AND new_excused <> old_attempt""",
    "I14: attempts are committed claims": """
        SELECT a.id, a.attempt FROM howdah.all_jobs a
        WHERE a.attempt <> (SELECT count(*) FROM public.changes c
            WHERE c.job_id = a.id AND c.op = 'UPDATE' AND c.new_state = 'running' AND c.new_attempt > c.old_attempt)""",
    "I14: never over the cap": """
        SELECT id, attempt, excused FROM howdah.all_jobs WHERE attempt - excused > max_attempts""",
    "I9, I13: one end per job": """
        SELECT id, count(*) FROM howdah.all_jobs GROUP BY id HAVING count(*) > 1""",
    "I17: only steps of the table": """
        SELECT job_id, old_state, new_state FROM public.changes
        WHERE op = 'UPDATE' AND old_state <> new_state AND (old_state, new_state) NOT IN (
            ('scheduled', 'available'), ('available', 'running'), ('running', 'scheduled'), ('running', 'available'),
            ('running', 'unknown'), ('unknown', 'available'))""",
    "I18: what must not run twice started once, unless a person said so": """
        SELECT job_id, count(*) FROM public.changes c JOIN howdah.all_jobs a ON a.id = c.job_id
        WHERE a.kind = 'once' AND c.old_state = 'running' AND c.new_state = 'scheduled'
            AND c.new_excused = c.old_excused
        GROUP BY job_id""",
    "I22: a superseded job points to a newer one": """
        SELECT id, superseded_by FROM howdah.history
        WHERE state = 'superseded' AND NOT coalesce(superseded_by > id, false)""",
    "I22: at quiescence at most one job of a subject waits": """
        SELECT kind, subject, count(*) FROM howdah.jobs
        WHERE subject IS NOT NULL AND state IN ('available', 'scheduled', 'blocked')
        GROUP BY 1, 2 HAVING count(*) > 1""",
    "keys: no live job without its key, no key of a job that ended": """
        SELECT j.id FROM howdah.jobs j WHERE j.key IS NOT NULL AND NOT EXISTS (
            SELECT FROM howdah.keys k WHERE k.kind = j.kind AND k.key = j.key AND k.job_id = j.id AND k.free_at IS NULL)
        UNION ALL
        SELECT k.job_id FROM howdah.keys k WHERE k.free_at IS NULL AND NOT EXISTS (SELECT
            FROM howdah.jobs j WHERE j.id = k.job_id)""",
    "effects in the transaction: one per completion, none of any other end": """
        SELECT a.id, count(e.token) FROM howdah.all_jobs a LEFT JOIN public.effects e ON e.job_id = a.id
        WHERE a.kind = 'paid' AND a.settled_by = 'worker' AND a.worker NOT IN ('puller', 'by id')
            AND NOT EXISTS (SELECT FROM howdah.audit r WHERE r.job_id = a.id AND r.action = 'requeue')
        GROUP BY a.id, a.state, a.settled_event
        HAVING count(e.token) <> (a.state = 'completed')::integer""",
    "follow-ups: one for each discarded job": """
        SELECT h.id FROM howdah.history h WHERE h.kind = 'paid' AND h.state = 'discarded'
            AND NOT EXISTS (
                SELECT FROM howdah.all_jobs a WHERE a.kind = 'landed' AND (a.args ->> 'job_id')::bigint = h.id)""",
}
