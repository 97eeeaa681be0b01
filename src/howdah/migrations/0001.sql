-- Version 1: the whole schema. Frozen once released: later versions are further files.

CREATE SCHEMA IF NOT EXISTS howdah;

CREATE TABLE howdah.schema_version (
    version integer PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    applied_by text NOT NULL DEFAULT session_user,
    via text NOT NULL,
    package_version text NOT NULL
);

-- The only clock. Tests move it by CREATE OR REPLACE. To find rows compare with (SELECT howdah.clock()), which an index
-- can serve; to judge an expiry call it per row, after the lock.
CREATE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT clock_timestamp()';

CREATE SEQUENCE howdah.job_id_seq;

-- The order of claiming. CACHE 1 and never set: the rule that lets a scan skip what is done rests on it.
CREATE SEQUENCE howdah.position_seq CACHE 1;

-- The order in which jobs of a subject were claimed: exact where the clock steps back.
CREATE SEQUENCE howdah.claim_seq;

-- The bell: 1 while somebody is idle. A sequence is not transactional, locks no row and leaves no dead ones.
CREATE SEQUENCE howdah.bell MINVALUE 0 MAXVALUE 1 START 0;

CREATE TABLE howdah.jobs (
    id bigint PRIMARY KEY DEFAULT nextval('howdah.job_id_seq'),
    position bigint NOT NULL DEFAULT nextval('howdah.position_seq'),
    claim_no bigint,
    origin_id bigint,
    superseded_by bigint,
    run_at timestamptz NOT NULL DEFAULT howdah.clock(),
    created_at timestamptz NOT NULL DEFAULT howdah.clock(),
    claimed_at timestamptz,
    started_at timestamptz,
    lease_expires_at timestamptz,
    expires_at timestamptz,
    cancel_requested_at timestamptz,
    attempt integer NOT NULL DEFAULT 0,
    excused integer NOT NULL DEFAULT 0,
    max_attempts integer,
    crashes integer NOT NULL DEFAULT 0,
    settled_attempt integer,
    priority smallint NOT NULL DEFAULT 0,
    needs_start boolean NOT NULL DEFAULT false,
    state text NOT NULL DEFAULT 'available',
    kind text NOT NULL,
    queue text NOT NULL DEFAULT 'default',
    worker text,
    key text,
    subject text,
    lane text,
    settled_by text,
    settled_event text,
    args jsonb NOT NULL DEFAULT '{}',
    headers jsonb NOT NULL DEFAULT '{}',
    tags text[] NOT NULL DEFAULT '{}',
    progress jsonb,
    errors jsonb NOT NULL DEFAULT '[]',
    CONSTRAINT state_is_not_final CHECK (state IN ('scheduled', 'blocked', 'available', 'running', 'unknown')),
    CONSTRAINT a_lease_while_held CHECK ((state IN ('running', 'unknown')) = (lease_expires_at IS NOT NULL)),
    CONSTRAINT held_by_a_worker CHECK (state NOT IN ('running', 'unknown') OR (worker IS NOT NULL AND claimed_at IS NOT NULL)),
    CONSTRAINT names_of_1_to_200_bytes CHECK (
        octet_length(kind) BETWEEN 1 AND 200 AND octet_length(queue) BETWEEN 1 AND 200
        AND octet_length(key) BETWEEN 1 AND 200 AND octet_length(subject) BETWEEN 1 AND 200
        AND octet_length(worker) BETWEEN 1 AND 200),
    CONSTRAINT moments_are_finite CHECK (
        isfinite(run_at) AND isfinite(created_at) AND isfinite(claimed_at) AND isfinite(started_at)
        AND isfinite(lease_expires_at) AND isfinite(expires_at) AND isfinite(cancel_requested_at)),
    CONSTRAINT attempts_only_grow CHECK (attempt >= 0 AND excused BETWEEN 0 AND attempt AND crashes BETWEEN 0 AND attempt
        AND max_attempts BETWEEN 1 AND 32767),
    CONSTRAINT json_objects CHECK (jsonb_typeof(args) = 'object' AND jsonb_typeof(headers) = 'object'
        AND jsonb_typeof(errors) = 'array')
) WITH (
    -- Room for extensions to stay in their page (HOT), and a vacuum that keeps up with a hot, small table.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_analyze_threshold = 5000,
    autovacuum_vacuum_cost_delay = 1
);

-- The claim index equals the claim's ORDER BY and is append-only: a job that becomes available gets a new position.
CREATE INDEX jobs_claim ON howdah.jobs (queue, priority, position) WHERE state = 'available';
CREATE INDEX jobs_due ON howdah.jobs (run_at) WHERE state = 'scheduled';
-- No index holds lease_expires_at, or extending a lease would not be HOT.
CREATE INDEX jobs_held ON howdah.jobs (state, id) WHERE state IN ('running', 'unknown');
CREATE INDEX jobs_subject ON howdah.jobs (kind, subject, id) WHERE subject IS NOT NULL;
CREATE INDEX jobs_expiry ON howdah.jobs (expires_at)
    WHERE expires_at IS NOT NULL AND attempt = 0 AND state IN ('scheduled', 'blocked', 'available');

CREATE TABLE howdah.history (
    id bigint NOT NULL,
    claim_no bigint,
    origin_id bigint,
    superseded_by bigint,
    run_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    claimed_at timestamptz,
    started_at timestamptz,
    lease_expires_at timestamptz,
    expires_at timestamptz,
    cancel_requested_at timestamptz,
    finished_at timestamptz NOT NULL,
    attempt integer NOT NULL,
    excused integer NOT NULL,
    max_attempts integer NOT NULL,
    crashes integer NOT NULL,
    settled_attempt integer,
    priority smallint NOT NULL,
    state text NOT NULL,
    kind text NOT NULL,
    queue text NOT NULL,
    worker text,
    key text,
    subject text,
    lane text,
    settled_by text,
    settled_event text,
    args jsonb NOT NULL,
    headers jsonb NOT NULL,
    tags text[] NOT NULL,
    progress jsonb,
    errors jsonb NOT NULL,
    result jsonb,
    CONSTRAINT state_is_final CHECK (state IN ('completed', 'discarded', 'cancelled', 'superseded', 'expired'))
) PARTITION BY RANGE (finished_at);

CREATE INDEX history_id ON howdah.history (id);
CREATE INDEX history_subject ON howdah.history (kind, subject, id) WHERE subject IS NOT NULL;

CREATE TABLE howdah.kinds (
    kind text PRIMARY KEY,
    queue text NOT NULL DEFAULT 'default',
    max_attempts integer NOT NULL DEFAULT 10,
    retry_base double precision NOT NULL DEFAULT 5,
    retry_factor double precision NOT NULL DEFAULT 2,
    retry_cap double precision NOT NULL DEFAULT 3600,
    retry_jitter double precision NOT NULL DEFAULT 0.2,
    lease double precision NOT NULL DEFAULT 60,
    on_crash text NOT NULL DEFAULT 'retry',
    on_supersede text NOT NULL DEFAULT 'cancel',
    on_discard text,
    on_unknown text,
    pinned boolean NOT NULL DEFAULT false,
    declared jsonb,
    updated_at timestamptz NOT NULL DEFAULT howdah.clock(),
    CONSTRAINT names_of_1_to_200_bytes CHECK (
        octet_length(kind) BETWEEN 1 AND 200 AND octet_length(queue) BETWEEN 1 AND 200
        AND octet_length(on_discard) BETWEEN 1 AND 200 AND octet_length(on_unknown) BETWEEN 1 AND 200),
    CONSTRAINT a_lease_is_at_most_24_hours CHECK (lease > 0 AND lease <= 86400),
    CONSTRAINT retry_is_in_range CHECK (
        max_attempts BETWEEN 1 AND 32767 AND retry_base >= 0 AND retry_base <= 316224000
        AND retry_factor >= 1 AND retry_factor <= 1000 AND retry_cap >= 0 AND retry_cap <= 316224000
        AND retry_jitter BETWEEN 0 AND 1),
    CONSTRAINT on_crash_is_known CHECK (on_crash IN ('retry', 'discard', 'unknown')),
    CONSTRAINT on_supersede_is_known CHECK (on_supersede IN ('cancel', 'finish'))
);

CREATE TABLE howdah.keys (
    kind text NOT NULL,
    key text NOT NULL,
    job_id bigint NOT NULL,
    key_for double precision,
    free_at timestamptz,
    PRIMARY KEY (kind, key),
    CONSTRAINT key_for_is_in_range CHECK (key_for >= 0 AND key_for <= 316224000),
    CONSTRAINT moments_are_finite CHECK (isfinite(free_at))
);

CREATE INDEX keys_free ON howdah.keys (free_at) WHERE free_at IS NOT NULL;

CREATE TABLE howdah.queues (
    queue text PRIMARY KEY,
    paused_at timestamptz,
    CONSTRAINT names_of_1_to_200_bytes CHECK (octet_length(queue) BETWEEN 1 AND 200)
);

CREATE TABLE howdah.workers (
    worker text PRIMARY KEY,
    hostname text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues jsonb NOT NULL,
    running integer NOT NULL DEFAULT 0,
    stopping boolean NOT NULL DEFAULT false,
    started_at timestamptz NOT NULL DEFAULT howdah.clock(),
    heartbeat_at timestamptz NOT NULL DEFAULT howdah.clock(),
    CONSTRAINT names_of_1_to_200_bytes CHECK (octet_length(worker) BETWEEN 1 AND 200)
) WITH (fillfactor = 50);

CREATE TABLE howdah.sweeps (
    name text PRIMARY KEY,
    last_at timestamptz NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE howdah.audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT howdah.clock(),
    actor text NOT NULL DEFAULT session_user,
    action text NOT NULL,
    job_id bigint,
    kind text,
    note text,
    detail jsonb
);

CREATE INDEX audit_job ON howdah.audit (job_id) WHERE job_id IS NOT NULL;

CREATE VIEW howdah.all_jobs AS
SELECT j.id, j.kind, j.queue, j.state, j.priority, j.attempt, j.excused,
       coalesce(j.max_attempts, k.max_attempts, 10) AS max_attempts,
       j.run_at, j.created_at, j.started_at, j.expires_at, j.claimed_at, j.lease_expires_at, j.worker, j.crashes,
       j.cancel_requested_at, j.key, j.subject, j.superseded_by, j.settled_by, j.settled_event, j.settled_attempt,
       j.lane, j.args, j.headers, j.tags, j.progress, j.errors,
       NULL::timestamptz AS finished_at, NULL::jsonb AS result
FROM howdah.jobs j LEFT JOIN howdah.kinds k ON k.kind = j.kind
UNION ALL
SELECT h.id, h.kind, h.queue, h.state, h.priority, h.attempt, h.excused,
       h.max_attempts,
       h.run_at, h.created_at, h.started_at, h.expires_at, h.claimed_at, h.lease_expires_at, h.worker, h.crashes,
       h.cancel_requested_at, h.key, h.subject, h.superseded_by, h.settled_by, h.settled_event, h.settled_attempt,
       h.lane, h.args, h.headers, h.tags, h.progress, h.errors,
       h.finished_at, h.result
FROM howdah.history h;

CREATE VIEW howdah.worker_status AS
SELECT w.worker, w.hostname, w.pid, w.version, w.queues,
       (SELECT coalesce(sum(slots::integer), 0) FROM jsonb_each_text(w.queues) AS q (queue, slots)) AS slots,
       w.running, w.started_at, w.heartbeat_at,
       extract(epoch FROM c.now - w.heartbeat_at)::double precision AS heartbeat_age_seconds,
       CASE
           WHEN c.now - w.heartbeat_at > interval '60 seconds' THEN 'lost'
           WHEN w.stopping THEN 'stopping'
           WHEN c.now - w.heartbeat_at > interval '15 seconds' THEN 'late'
           ELSE 'alive'
       END AS status
FROM howdah.workers w CROSS JOIN (SELECT howdah.clock() AS now) c;

CREATE VIEW howdah.queue_stats AS
WITH c AS MATERIALIZED (SELECT howdah.clock() AS now),
live AS (
    SELECT j.queue,
           count(*) FILTER (WHERE j.state = 'available') AS available,
           count(*) FILTER (WHERE j.state = 'scheduled') AS scheduled,
           count(*) FILTER (WHERE j.state = 'scheduled' AND j.attempt > 0) AS retrying,
           count(*) FILTER (WHERE j.state = 'blocked') AS blocked,
           count(*) FILTER (WHERE j.state = 'running') AS running,
           count(*) FILTER (WHERE j.state = 'unknown') AS unknown,
           count(*) FILTER (WHERE j.state = 'running' AND j.lease_expires_at <= c.now) AS leases_expired,
           min(j.run_at) FILTER (WHERE j.state = 'available') AS oldest_available,
           min(j.claimed_at) FILTER (WHERE j.state = 'running') AS oldest_running,
           min(j.run_at) FILTER (WHERE j.state = 'scheduled') AS next_run_at
    FROM howdah.jobs j CROSS JOIN c
    GROUP BY j.queue
),
listening AS (
    SELECT q.queue, count(*) AS workers, sum(q.slots::integer) AS slots
    FROM howdah.worker_status w CROSS JOIN LATERAL jsonb_each_text(w.queues) AS q (queue, slots)
    WHERE w.status IN ('alive', 'late')
    GROUP BY q.queue
),
names AS (SELECT queue FROM live UNION SELECT queue FROM listening UNION SELECT queue FROM howdah.queues)
SELECT n.queue,
       p.paused_at IS NOT NULL AS paused,
       p.paused_at,
       coalesce(l.available, 0) AS available,
       coalesce(l.scheduled, 0) AS scheduled,
       coalesce(l.retrying, 0) AS retrying,
       coalesce(l.blocked, 0) AS blocked,
       coalesce(l.running, 0) AS running,
       coalesce(l.unknown, 0) AS unknown,
       coalesce(l.leases_expired, 0) AS leases_expired,
       extract(epoch FROM c.now - l.oldest_available)::double precision AS oldest_available_age_seconds,
       extract(epoch FROM c.now - l.oldest_running)::double precision AS oldest_running_age_seconds,
       l.next_run_at,
       coalesce(s.workers, 0) AS workers,
       coalesce(s.slots, 0) AS slots,
       (coalesce(l.running, 0) / nullif(s.slots, 0)::double precision) AS utilization
FROM names n CROSS JOIN c
LEFT JOIN live l ON l.queue = n.queue
LEFT JOIN listening s ON s.queue = n.queue
LEFT JOIN howdah.queues p ON p.queue = n.queue;

CREATE VIEW howdah.lease_status AS
SELECT j.id AS job_id, j.kind, j.queue, j.worker, j.attempt, j.claimed_at, j.started_at, j.lease_expires_at,
       extract(epoch FROM j.lease_expires_at - c.now)::double precision AS lease_remaining_seconds,
       j.lease_expires_at <= c.now AS expired,
       j.cancel_requested_at IS NOT NULL AS cancel_requested,
       j.progress
FROM howdah.jobs j CROSS JOIN (SELECT howdah.clock() AS now) c
WHERE j.state = 'running';

CREATE VIEW howdah.unknown_jobs AS
SELECT j.id, j.kind, j.queue, j.attempt, j.worker, j.started_at, j.lease_expires_at,
       extract(epoch FROM c.now - j.lease_expires_at)::double precision AS unknown_for_seconds,
       j.key, j.subject, j.args, j.errors
FROM howdah.jobs j CROSS JOIN (SELECT howdah.clock() AS now) c
WHERE j.state = 'unknown';

-- A hint to look again, sent only while somebody is idle. It carries the queue's name and no truth.
CREATE FUNCTION howdah.ring(queue text) RETURNS void LANGUAGE sql VOLATILE AS
$$SELECT CASE WHEN pg_sequence_last_value('howdah.bell'::regclass) = 1 THEN pg_notify('howdah', queue) END$$;

-- History's partitions are UTC days. A plain table, then ATTACH: neither stops a completion beside an open reader.
CREATE FUNCTION howdah.ensure_partition(day date) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    leaf text := 'history_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass('howdah.' || leaf) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('howdah.ensure_partition', 0));
    IF to_regclass('howdah.' || leaf) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE howdah.%I (LIKE howdah.history INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', leaf);
    EXECUTE format('ALTER TABLE howdah.history ATTACH PARTITION howdah.%I FOR VALUES FROM (%L) TO (%L)', leaf,
        to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
END
$$;

-- One step of retention: empties the oldest day that is past, or drops an empty one; says what it did, or nothing.
-- It never waits longer than the timeout for a lock, since completions would queue behind a waiting DROP.
CREATE FUNCTION howdah.prune_history(retention double precision) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS
$$
DECLARE
    oldest_kept date := ((howdah.clock() - make_interval(secs => greatest(retention, 86400))) AT TIME ZONE 'UTC')::date;
    day record;
BEGIN
    FOR day IN
        SELECT c.oid, c.relname
        FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'howdah.history'::regclass AND c.relname ~ '^history_[0-9]{8}$'
            AND to_date(substr(c.relname, 9), 'YYYYMMDD') < oldest_kept
        ORDER BY c.relname
    LOOP
        IF pg_relation_size(day.oid) > 0 THEN
            EXECUTE format('TRUNCATE howdah.%I', day.relname);
            RETURN 'emptied ' || day.relname;
        END IF;
        EXECUTE format('DROP TABLE howdah.%I', day.relname);
        RETURN 'dropped ' || day.relname;
    END LOOP;
    RETURN NULL;
END
$$;

-- Takes a unique key for a job: gives the id of the job that holds it now, this one or the one that was there.
-- It waits only for another open transaction that inserts the same key, as every unique index makes it.
CREATE FUNCTION howdah.take_key(kind text, key text, job_id bigint, key_for double precision) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    holder record;
BEGIN
    LOOP
        INSERT INTO howdah.keys AS k (kind, key, job_id, key_for)
        VALUES (take_key.kind, take_key.key, take_key.job_id, take_key.key_for)
        ON CONFLICT DO NOTHING;
        IF FOUND THEN
            RETURN take_key.job_id;
        END IF;
        SELECT k.job_id, k.free_at INTO holder FROM howdah.keys k WHERE k.kind = take_key.kind AND k.key = take_key.key;
        CONTINUE WHEN NOT FOUND;
        IF holder.free_at IS NULL OR holder.free_at > howdah.clock() THEN
            RETURN holder.job_id;
        END IF;
        UPDATE howdah.keys k SET job_id = take_key.job_id, key_for = take_key.key_for, free_at = NULL
        WHERE k.kind = take_key.kind AND k.key = take_key.key AND k.free_at <= howdah.clock();
        IF FOUND THEN
            RETURN take_key.job_id;
        END IF;
    END LOOP;
END
$$;

-- Enqueues jobs with keys or subjects, atomically even on an autocommit connection: ids in the order of the input, keys
-- taken in sorted order, rows inserted in the order of the input. The key decides first; then the newest of a subject
-- supersedes what it sees and can lock. Each job is an object with the fields listed below.
CREATE FUNCTION howdah.enqueue_jobs(jobs jsonb) RETURNS TABLE (id bigint, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
DECLARE
    ids bigint[] := ARRAY(SELECT nextval('howdah.job_id_seq') FROM generate_series(1, jsonb_array_length(jobs)));
    holders bigint[] := ids;
    keyed record;
    rung bigint;
BEGIN
    FOR keyed IN
        SELECT job ->> 'kind' AS kind, job ->> 'key' AS key, (job ->> 'key_for')::double precision AS key_for, n
        FROM jsonb_array_elements(jobs) WITH ORDINALITY AS x (job, n)
        WHERE job ->> 'key' IS NOT NULL
        ORDER BY job ->> 'kind' COLLATE "C", job ->> 'key' COLLATE "C", n
    LOOP
        holders[keyed.n] := howdah.take_key(keyed.kind, keyed.key, ids[keyed.n], keyed.key_for);
    END LOOP;

    WITH given AS (
        SELECT x.*
        FROM ROWS FROM (jsonb_to_recordset(jobs) AS (
            kind text, args jsonb, queue text, fallback_queue text, priority smallint, delay double precision,
            run_at timestamptz, expires_in double precision, max_attempts integer, key text, subject text,
            headers jsonb, tags text[]
        )) WITH ORDINALITY AS x (kind, args, queue, fallback_queue, priority, delay, run_at, expires_in, max_attempts,
            key, subject, headers, tags, n)
    ),
    timed AS MATERIALIZED (
        SELECT g.*, c.now, coalesce(g.run_at, c.now + make_interval(secs => coalesce(g.delay, 0))) AS due
        FROM given g CROSS JOIN (SELECT howdah.clock() AS now) c
        WHERE holders[g.n] = ids[g.n]
    ),
    added AS (
        INSERT INTO howdah.jobs AS j (id, kind, queue, state, priority, run_at, created_at, expires_at, max_attempts,
            key, subject, args, headers, tags)
        SELECT ids[t.n], t.kind, coalesce(t.queue, k.queue, t.fallback_queue, 'default'),
            CASE WHEN t.due > t.now THEN 'scheduled' ELSE 'available' END,
            coalesce(t.priority, 0), t.due, t.now, t.now + make_interval(secs => t.expires_in), t.max_attempts,
            t.key, t.subject, coalesce(t.args, '{}'), coalesce(t.headers, '{}'), coalesce(t.tags, '{}')
        FROM timed t LEFT JOIN howdah.kinds k ON k.kind = t.kind
        ORDER BY t.n
        RETURNING j.queue, j.state
    )
    SELECT count(howdah.ring(q.queue)) INTO rung FROM (SELECT DISTINCT a.queue FROM added a WHERE a.state = 'available') q;

    -- Above READ COMMITTED even SKIP LOCKED raises 40001 on a row that changed after the snapshot; there the claim
    -- supersedes instead.
    IF jobs @? '$[*].subject ? (@ != null)' AND current_setting('transaction_isolation') = 'read committed' THEN
        PERFORM howdah.supersede_older(ids);
    END IF;

    RETURN QUERY SELECT h.id, h.id = ids[h.n] FROM unnest(holders) WITH ORDINALITY AS h (id, n) ORDER BY h.n;
END
$$;

-- Moves to history the unstarted jobs whose subject has a newer job among `ids`, as far as they can be locked now.
-- It waits for nobody and writes no running job; the claim judges what it passes over.
CREATE FUNCTION howdah.supersede_older(ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    WITH newest AS MATERIALIZED (
        SELECT j.kind, j.subject, max(j.id) AS id
        FROM howdah.jobs j WHERE j.id = ANY (ids) AND j.subject IS NOT NULL
        GROUP BY j.kind, j.subject
    ),
    old AS MATERIALIZED (
        SELECT j.id, n.id AS newer
        FROM newest n JOIN howdah.jobs j ON j.kind = n.kind AND j.subject = n.subject AND j.id < n.id
        WHERE j.state IN ('available', 'scheduled', 'blocked')
        FOR NO KEY UPDATE OF j SKIP LOCKED
    ),
    gone AS (
        DELETE FROM howdah.jobs j USING old o WHERE j.id = o.id RETURNING j.*, o.newer
    ),
    clock AS MATERIALIZED (SELECT howdah.clock() AS now),
    dropped_keys AS (
        DELETE FROM howdah.keys k USING gone g
        WHERE k.kind = g.kind AND k.key = g.key AND k.job_id = g.id AND k.key_for IS NULL
    ),
    freed_keys AS (
        UPDATE howdah.keys k SET free_at = c.now + make_interval(secs => k.key_for)
        FROM gone g CROSS JOIN clock c
        WHERE k.kind = g.kind AND k.key = g.key AND k.job_id = g.id AND k.key_for IS NOT NULL
    )
    INSERT INTO howdah.history (id, claim_no, origin_id, superseded_by, run_at, created_at, claimed_at, started_at,
        lease_expires_at, expires_at, cancel_requested_at, finished_at, attempt, excused, max_attempts, crashes,
        settled_attempt, priority, state, kind, queue, worker, key, subject, lane, settled_by, settled_event, args, headers,
        tags, progress, errors, result)
    SELECT g.id, g.claim_no, g.origin_id, g.newer, g.run_at, g.created_at, g.claimed_at, g.started_at,
        NULL, g.expires_at, g.cancel_requested_at, c.now, g.attempt, g.excused, coalesce(g.max_attempts, k.max_attempts, 10), g.crashes,
        g.attempt, g.priority, 'superseded', g.kind, g.queue, g.worker, g.key, g.subject, g.lane, 'enqueue', 'supersede', g.args, g.headers,
        g.tags, g.progress, g.errors, NULL
    FROM gone g CROSS JOIN clock c LEFT JOIN howdah.kinds k ON k.kind = g.kind;
END
$$;

-- What `howdah.enqueue` does, and whether the job is new: false where a live job with this key was there already.
CREATE FUNCTION howdah.enqueue_job(
    kind text,
    args jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    priority integer DEFAULT 0,
    delay double precision DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    expires_in double precision DEFAULT NULL,
    max_attempts integer DEFAULT NULL,
    key text DEFAULT NULL,
    key_for double precision DEFAULT NULL,
    subject text DEFAULT NULL,
    headers jsonb DEFAULT '{}',
    tags text[] DEFAULT '{}'
) RETURNS TABLE (id bigint, created boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
$$
BEGIN
    IF kind IS NULL OR octet_length(kind) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION 'howdah.enqueue: kind must be 1 to 200 bytes' USING ERRCODE = '22023';
    ELSIF octet_length(args::text) > 1048576 THEN
        RAISE EXCEPTION 'howdah.enqueue: args are over 1 MiB' USING ERRCODE = '22023', HINT = 'Store a reference instead.';
    ELSIF delay < 0 OR delay > 316224000 OR expires_in < 0 OR expires_in > 316224000 OR key_for < 0 THEN
        RAISE EXCEPTION 'howdah.enqueue: delay, expires_in and key_for are seconds, from 0 to ten years'
            USING ERRCODE = '22023';
    ELSIF delay IS NOT NULL AND run_at IS NOT NULL THEN
        RAISE EXCEPTION 'howdah.enqueue: say either delay or run_at, not both' USING ERRCODE = '22023';
    ELSIF priority NOT BETWEEN -32768 AND 32767 THEN
        RAISE EXCEPTION 'howdah.enqueue: priority must be from -32768 to 32767' USING ERRCODE = '22023';
    ELSIF key_for IS NOT NULL AND key IS NULL THEN
        RAISE EXCEPTION 'howdah.enqueue: key_for needs a key' USING ERRCODE = '22023';
    END IF;
    RETURN QUERY SELECT e.id, e.created FROM howdah.enqueue_jobs(jsonb_build_array(jsonb_build_object(
        'kind', kind, 'args', args, 'queue', queue, 'priority', priority, 'delay', delay, 'run_at', run_at,
        'expires_in', expires_in, 'max_attempts', max_attempts, 'key', key, 'key_for', key_for, 'subject', subject,
        'headers', headers, 'tags', tags))) e;
END
$$;

-- Enqueues a job in the caller's transaction: for triggers and other languages. Gives its id, or that of the live job
-- that holds the key. Durations are seconds.
CREATE FUNCTION howdah.enqueue(
    kind text,
    args jsonb DEFAULT '{}',
    queue text DEFAULT NULL,
    priority integer DEFAULT 0,
    delay double precision DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    expires_in double precision DEFAULT NULL,
    max_attempts integer DEFAULT NULL,
    key text DEFAULT NULL,
    key_for double precision DEFAULT NULL,
    subject text DEFAULT NULL,
    headers jsonb DEFAULT '{}',
    tags text[] DEFAULT '{}'
) RETURNS bigint LANGUAGE sql VOLATILE AS
$$
SELECT e.id FROM howdah.enqueue_job(enqueue.kind, enqueue.args, enqueue.queue, enqueue.priority, enqueue.delay,
    enqueue.run_at, enqueue.expires_in, enqueue.max_attempts, enqueue.key, enqueue.key_for, enqueue.subject,
    enqueue.headers, enqueue.tags) e
$$;

-- PostgreSQL gives EXECUTE to everybody by default; these run with the owner's rights or serve those that do.
REVOKE ALL ON FUNCTION howdah.ensure_partition(date), howdah.prune_history(double precision), howdah.enqueue_jobs(jsonb),
    howdah.supersede_older(bigint[]), howdah.take_key(text, text, bigint, double precision) FROM PUBLIC;
REVOKE ALL ON FUNCTION howdah.enqueue_job(text, jsonb, text, integer, double precision, timestamptz, double precision, integer,
    text, double precision, text, jsonb, text[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION howdah.enqueue(text, jsonb, text, integer, double precision, timestamptz, double precision, integer,
    text, double precision, text, jsonb, text[]) FROM PUBLIC;

SELECT howdah.ensure_partition((now() AT TIME ZONE 'UTC')::date + n) FROM generate_series(-1, 14) AS n;
