-- A log of every change of every job, in the order of the changes of each, by triggers that only this test has.
CREATE TABLE public.effects (job_id bigint, token integer);
CREATE TABLE public.changes (
    seq bigserial, at timestamptz, job_id bigint, op text, by text,
    old_state text, new_state text, old_attempt integer, new_attempt integer,
    old_excused integer, new_excused integer, old_lease timestamptz, new_lease timestamptz
);
CREATE INDEX ON public.changes (job_id, seq);
CREATE FUNCTION public.log_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO public.changes (at, job_id, op, by, old_state, new_state, old_attempt, new_attempt, old_excused,
        new_excused, old_lease, new_lease)
    VALUES (clock_timestamp(), coalesce(new.id, old.id), tg_op, new.settled_by, old.state, new.state, old.attempt,
        new.attempt, old.excused, new.excused, old.lease_expires_at, new.lease_expires_at);
    RETURN NULL;
END $$;
CREATE TRIGGER log_change AFTER INSERT OR UPDATE OR DELETE ON howdah.jobs FOR EACH ROW EXECUTE FUNCTION public.log_change();
