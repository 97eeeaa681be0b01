-- Howdah's roles: who may do what. Run it in the database that has the schema, as a superuser, or as the owner of the
-- schema with CREATEROLE. Run it again after every `howdah migrate`: it states what is granted, and takes back the rest.
--
--   howdah_owner        owns the schema: migrates it. Nothing runs as this role from day to day.
--   howdah_producer     enqueues, and nothing else: cannot read a job back, nor cancel one.
--   howdah_worker       runs jobs, sweeps, and does what operators do (cancel, requeue, resolve, pause, kinds); no DDL.
--   howdah_reader       reads states, names, numbers and moments; not what people and programs wrote into jobs.
--   howdah_reader_args  reads everything.
--
-- Nobody can log in as these. Grant them to roles that can, and let whoever migrates become the owner by itself:
--
--   GRANT howdah_producer TO shop;
--   GRANT howdah_worker TO shop_worker;
--   GRANT howdah_reader TO grafana;
--   GRANT howdah_owner TO deploy; ALTER ROLE deploy SET role = 'howdah_owner';
--
-- Roles belong to the server, not to a database: who is a producer here is one in every database with Howdah that it
-- may connect to. No role here contains another, so each list below is all there is.

BEGIN ISOLATION LEVEL READ COMMITTED;

SET LOCAL lock_timeout = '5s'; -- a change of owners must not make every job wait behind it
SET LOCAL search_path = pg_catalog, pg_temp;

DO $$
DECLARE
    wanted text;
BEGIN
    IF to_regclass('howdah.schema_version') IS NULL THEN
        RAISE EXCEPTION 'there is no schema howdah in database %', current_database()
            USING ERRCODE = '3F000', HINT = 'Run howdah migrate first.';
    END IF;
    FOREACH wanted IN ARRAY ARRAY['howdah_owner', 'howdah_producer', 'howdah_worker', 'howdah_reader', 'howdah_reader_args'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        END IF;
    END LOOP;
END
$$;

-- The schema goes to howdah_owner, so that functions with their owner's rights do not run as a superuser. Who owned it
-- before becomes a member, so that whatever ran as that role goes on.
DO $$
DECLARE
    owner_before name := (SELECT r.rolname FROM pg_namespace n JOIN pg_roles r ON r.oid = n.nspowner WHERE n.nspname = 'howdah');
    new_owner oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = 'howdah_owner');
    command text;
BEGIN
    IF NOT pg_has_role(owner_before, 'howdah_owner', 'USAGE') THEN
        EXECUTE format('GRANT howdah_owner TO %I', owner_before);
    END IF;
    FOR command IN
        SELECT 'ALTER SCHEMA howdah OWNER TO howdah_owner' FROM pg_namespace n WHERE n.nspname = 'howdah' AND n.nspowner <> new_owner
        UNION ALL
        SELECT format('ALTER TABLE %s OWNER TO howdah_owner', c.oid::regclass) -- PostgreSQL takes views and sequences here too
        FROM pg_class c
        WHERE c.relnamespace = 'howdah'::regnamespace AND c.relowner <> new_owner AND c.relkind IN ('r', 'p', 'v', 'S')
            -- an identity's sequence follows its table
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'i' AND c.relkind = 'S')
        UNION ALL
        SELECT format('ALTER ROUTINE %s OWNER TO howdah_owner', p.oid::regprocedure)
        FROM pg_proc p WHERE p.pronamespace = 'howdah'::regnamespace AND p.proowner <> new_owner
    LOOP
        EXECUTE command;
    END LOOP;
END
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA howdah FROM howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA howdah FROM howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;
REVOKE ALL ON ALL ROUTINES IN SCHEMA howdah FROM howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;
REVOKE ALL ON SCHEMA howdah FROM howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;

-- To look a name up, to ask for the time, and to tell an older schema from a newer one. Functions that a view calls are
-- called by its reader.
GRANT USAGE ON SCHEMA howdah TO howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;
GRANT EXECUTE ON FUNCTION howdah.clock TO howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;
GRANT SELECT ON howdah.schema_version TO howdah_producer, howdah_worker, howdah_reader, howdah_reader_args;

-- Enqueueing. With a key or a subject it goes through functions that have their owner's rights, since it looks at other
-- jobs, at keys and at history. A plain job is a bare INSERT, for speed: of these columns only, so that nobody enqueues a
-- job that is running, holds a key, or has been attempted; and it returns these three, so those can be read.
GRANT EXECUTE ON FUNCTION howdah.enqueue, howdah.enqueue_job, howdah.enqueue_jobs, howdah.ring TO howdah_producer, howdah_worker;
GRANT INSERT (id, kind, queue, state, priority, run_at, created_at, expires_at, max_attempts, args, headers, tags)
    ON howdah.jobs TO howdah_producer;
GRANT SELECT (id, queue, state) ON howdah.jobs TO howdah_producer;
GRANT SELECT (kind, queue) ON howdah.kinds TO howdah_producer; -- a job without a queue goes to its kind's
GRANT USAGE ON SEQUENCE howdah.job_id_seq, howdah.position_seq TO howdah_producer, howdah_worker;
GRANT SELECT ON SEQUENCE howdah.bell TO howdah_producer, howdah_worker; -- is somebody idle?

-- Working. The rights are those of the statements: claiming, settling and reaping write jobs, keys and history. Operators
-- act with this role too: its statements decide the fate of every job anyway, reconcilers resolve jobs from inside of a
-- handler, and `howdah jobs requeue` works where a worker works. What they did is in the audit, which this role can add to
-- and not change; the actor and the moment are not its to say.
GRANT SELECT, INSERT, UPDATE, DELETE ON howdah.jobs, howdah.keys, howdah.kinds, howdah.workers TO howdah_worker;
GRANT SELECT, INSERT, DELETE ON howdah.history TO howdah_worker; -- DELETE: a requeue takes its job out of history
GRANT UPDATE (lane) ON howdah.history TO howdah_worker; -- and locks it first, for which PostgreSQL wants a column to write
GRANT SELECT, INSERT, UPDATE ON howdah.queues, howdah.sweeps TO howdah_worker;
GRANT SELECT, INSERT (action, job_id, kind, note, detail) ON howdah.audit TO howdah_worker;
GRANT SELECT ON howdah.all_jobs, howdah.queue_stats, howdah.worker_status, howdah.lease_status, howdah.unknown_jobs TO howdah_worker;
GRANT USAGE ON SEQUENCE howdah.claim_seq TO howdah_worker;
GRANT UPDATE ON SEQUENCE howdah.bell TO howdah_worker;
GRANT EXECUTE ON FUNCTION howdah.ensure_partition, howdah.prune_history TO howdah_worker; -- the only DDL, with their owner's rights

-- Reading. Without args, headers, progress, errors and results, which may hold anything, and without notes. Keys, subjects
-- and tags are names to find a job by: keep personal data out of them. `SELECT *` is refused where a column is: name them.
GRANT SELECT (id, kind, queue, state, priority, attempt, excused, max_attempts, run_at, created_at, started_at, expires_at,
    claimed_at, lease_expires_at, worker, crashes, cancel_requested_at, key, subject, superseded_by, settled_by,
    settled_event, settled_attempt, lane, tags) ON howdah.jobs TO howdah_reader;
GRANT SELECT (id, kind, queue, state, priority, attempt, excused, max_attempts, run_at, created_at, started_at, expires_at,
    claimed_at, lease_expires_at, worker, crashes, cancel_requested_at, key, subject, superseded_by, settled_by,
    settled_event, settled_attempt, lane, tags, finished_at) ON howdah.history, howdah.all_jobs TO howdah_reader;
GRANT SELECT (job_id, kind, queue, worker, attempt, claimed_at, started_at, lease_expires_at, lease_remaining_seconds,
    expired, cancel_requested) ON howdah.lease_status TO howdah_reader;
GRANT SELECT (id, kind, queue, attempt, worker, started_at, lease_expires_at, unknown_for_seconds, key, subject)
    ON howdah.unknown_jobs TO howdah_reader;
GRANT SELECT (id, at, actor, action, job_id, kind, detail) ON howdah.audit TO howdah_reader;
GRANT SELECT ON howdah.queue_stats, howdah.worker_status, howdah.kinds, howdah.keys, howdah.queues, howdah.workers, howdah.sweeps
    TO howdah_reader, howdah_reader_args;
GRANT SELECT ON howdah.jobs, howdah.history, howdah.all_jobs, howdah.lease_status, howdah.unknown_jobs, howdah.audit
    TO howdah_reader_args;

COMMIT;
