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
    key_for double precision,
    subject text,
    lane text,
    settled_by text,
    settled_event text,
    args jsonb NOT NULL DEFAULT '{}',
    headers jsonb NOT NULL DEFAULT '{}',
    tags text[] NOT NULL DEFAULT '{}',
    progress jsonb,
    errors jsonb NOT NULL DEFAULT '[]',
    -- A statement that writes one row pays 3 microseconds for every function in here, so this holds only what could pin a
    -- job for ever. Names, sizes and ranges are checked at the doors: the clients and howdah.enqueue.
    CONSTRAINT a_lease_while_held CHECK ((state IN ('running', 'unknown')) = (lease_expires_at IS NOT NULL)),
    CONSTRAINT moments_are_finite CHECK (
        run_at < '9999-12-31 00:00+00' AND isfinite(run_at) AND isfinite(created_at) AND isfinite(claimed_at)
        AND isfinite(started_at) AND isfinite(lease_expires_at) AND isfinite(expires_at)
        AND isfinite(cancel_requested_at))
) WITH (
    -- Room for extensions to stay in their page (HOT), and a vacuum that keeps up with a hot, small table.
    fillfactor = 50,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_insert_scale_factor = 0.1,
    autovacuum_analyze_scale_factor = 0.1,
    autovacuum_analyze_threshold = 5000,
    autovacuum_vacuum_cost_delay = 1,
    vacuum_truncate = false
);

-- The claim index equals the claim's ORDER BY and is append-only: a job that becomes available gets a new position.
CREATE INDEX jobs_claim ON howdah.jobs (queue, priority, position) WHERE state = 'available';
CREATE INDEX jobs_due ON howdah.jobs (run_at) WHERE state = 'scheduled';
-- No index holds lease_expires_at, or extending a lease would not be HOT.
CREATE INDEX jobs_held ON howdah.jobs (state, id) WHERE state IN ('running', 'unknown');
CREATE INDEX jobs_subject ON howdah.jobs (kind, subject, id) WHERE subject IS NOT NULL;
CREATE INDEX jobs_expiry ON howdah.jobs (expires_at)
    WHERE expires_at IS NOT NULL AND attempt = 0 AND state IN ('scheduled', 'blocked', 'available');

-- A drained queue that is vacuumed down to no pages makes every plan a Seq Scan, and a worker's prepared statement keeps
-- that plan into the next burst. So the table begins with a thousand pages, and vacuum leaves them to it.
ALTER TABLE howdah.jobs SET (fillfactor = 10);
INSERT INTO howdah.jobs (id, position, kind, args)
SELECT -n, -n, 'filler', jsonb_build_object('filler', repeat('x', 450)) FROM generate_series(1, 1000) AS n;
DELETE FROM howdah.jobs;
ALTER TABLE howdah.jobs SET (fillfactor = 50);

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
    own_max_attempts integer,
    crashes integer NOT NULL,
    settled_attempt integer,
    priority smallint NOT NULL,
    state text NOT NULL,
    kind text NOT NULL,
    queue text NOT NULL,
    worker text,
    key text,
    key_for double precision,
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
    kinds text[],
    running integer NOT NULL DEFAULT 0,
    stuck integer NOT NULL DEFAULT 0,
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
SELECT w.worker, w.hostname, w.pid, w.version, w.queues, w.kinds,
       (SELECT coalesce(sum(slots::integer), 0) FROM jsonb_each_text(w.queues) AS q (queue, slots)) AS slots,
       w.running, w.stuck, w.started_at, w.heartbeat_at,
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
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET client_min_messages = warning AS
$$
DECLARE
    leaf text := 'history_' || to_char(day, 'YYYYMMDD');
BEGIN
    IF to_regclass('howdah.' || leaf) IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('howdah.ensure_partition', 0));
    -- Somebody may have made it meanwhile. CREATE sees that; to_regclass would answer from this session's cache.
    EXECUTE format('CREATE TABLE IF NOT EXISTS howdah.%I (LIKE howdah.history INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', leaf);
    IF pg_partition_root(to_regclass('howdah.' || leaf)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('ALTER TABLE howdah.history ATTACH PARTITION howdah.%I FOR VALUES FROM (%L) TO (%L)', leaf,
        to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
END
$$;

-- One step of retention: empties the oldest day that is past, or drops an empty one; says what it did, or nothing.
-- It never waits longer than the timeout for a lock, since completions would queue behind a waiting DROP.
CREATE FUNCTION howdah.prune_history(retention double precision) RETURNS text
LANGUAGE plpgsql STRICT SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS
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
            run_at timestamptz, expires_in double precision, max_attempts integer, key text, key_for double precision,
            subject text, headers jsonb, tags text[]
        )) WITH ORDINALITY AS x (kind, args, queue, fallback_queue, priority, delay, run_at, expires_in, max_attempts,
            key, key_for, subject, headers, tags, n)
    ),
    timed AS MATERIALIZED (
        SELECT g.*, c.now, coalesce(g.run_at, c.now + make_interval(secs => coalesce(g.delay, 0))) AS due
        FROM given g CROSS JOIN (SELECT howdah.clock() AS now) c
        WHERE holders[g.n] = ids[g.n]
    ),
    added AS (
        INSERT INTO howdah.jobs AS j (id, kind, queue, state, priority, run_at, created_at, expires_at, max_attempts,
            key, key_for, subject, args, headers, tags)
        SELECT ids[t.n], t.kind, coalesce(t.queue, k.queue, t.fallback_queue, 'default'),
            CASE WHEN t.due > t.now THEN 'scheduled' ELSE 'available' END,
            coalesce(t.priority, 0), t.due, t.now, t.now + make_interval(secs => t.expires_in), t.max_attempts,
            t.key, t.key_for, t.subject, coalesce(t.args, '{}'), coalesce(t.headers, '{}'), coalesce(t.tags, '{}')
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
DECLARE
    today date := (howdah.clock() AT TIME ZONE 'UTC')::date;
BEGIN
    IF to_regclass('howdah.history_' || to_char(today, 'YYYYMMDD')) IS NULL THEN
        PERFORM howdah.ensure_partition(today); -- only where nobody has swept for two weeks
    END IF;
    -- Written so that no plan can read a whole index, also one that was made and kept when the table was empty.
    WITH given AS MATERIALIZED (
        SELECT j.id, j.kind, j.subject FROM howdah.jobs j WHERE j.id = ANY (ids)
    ),
    newest AS MATERIALIZED (
        SELECT g.kind, g.subject, max(g.id) AS id FROM given g WHERE g.subject IS NOT NULL GROUP BY g.kind, g.subject
    ),
    old AS MATERIALIZED (
        SELECT o.id, n.id AS newer
        FROM newest n
        CROSS JOIN LATERAL (
            SELECT j.id FROM howdah.jobs j
            WHERE j.kind = n.kind AND j.subject = n.subject AND j.id < n.id
                AND j.state IN ('available', 'scheduled', 'blocked')
            FOR NO KEY UPDATE SKIP LOCKED
        ) o
    ),
    gone AS (
        DELETE FROM howdah.jobs j USING old o WHERE j.id = ANY (ARRAY[o.id]) RETURNING j.*, o.newer
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
        lease_expires_at, expires_at, cancel_requested_at, finished_at, attempt, excused, max_attempts, own_max_attempts, crashes,
        settled_attempt, priority, state, kind, queue, worker, key, key_for, subject, lane, settled_by, settled_event, args, headers,
        tags, progress, errors, result)
    SELECT g.id, g.claim_no, g.origin_id, g.newer, g.run_at, g.created_at, g.claimed_at, g.started_at,
        NULL, g.expires_at, g.cancel_requested_at, c.now, g.attempt, g.excused, coalesce(g.max_attempts, k.max_attempts, 10), g.max_attempts, g.crashes,
        g.attempt, g.priority, 'superseded', g.kind, g.queue, g.worker, g.key, g.key_for, g.subject, g.lane, 'enqueue', 'supersede', g.args, g.headers,
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
    ELSIF octet_length(queue) NOT BETWEEN 1 AND 200 OR octet_length(key) NOT BETWEEN 1 AND 200
        OR octet_length(subject) NOT BETWEEN 1 AND 200 THEN
        RAISE EXCEPTION 'howdah.enqueue: queue, key and subject must be 1 to 200 bytes' USING ERRCODE = '22023';
    ELSIF jsonb_typeof(args) <> 'object' OR jsonb_typeof(headers) <> 'object' THEN
        RAISE EXCEPTION 'howdah.enqueue: args and headers must be JSON objects' USING ERRCODE = '22023';
    ELSIF headers <> '{}' AND EXISTS (SELECT FROM jsonb_each(headers) AS h (name, value) WHERE jsonb_typeof(h.value) <> 'string') THEN
        RAISE EXCEPTION 'howdah.enqueue: the values of headers must be text' USING ERRCODE = '22023';
    ELSIF array_position(tags, NULL) IS NOT NULL OR array_position(tags, '') IS NOT NULL THEN
        RAISE EXCEPTION 'howdah.enqueue: tags must be names, none of them null or empty' USING ERRCODE = '22023';
    ELSIF octet_length(args::text) > 1048576 THEN
        RAISE EXCEPTION 'howdah.enqueue: args are over 1 MiB' USING ERRCODE = '22023', HINT = 'Store a reference instead.';
    ELSIF delay < 0 OR delay > 316224000 OR expires_in < 0 OR expires_in > 316224000
        OR key_for < 0 OR key_for > 316224000 THEN
        RAISE EXCEPTION 'howdah.enqueue: delay, expires_in and key_for are seconds, from 0 to ten years'
            USING ERRCODE = '22023';
    ELSIF delay IS NOT NULL AND run_at IS NOT NULL THEN
        RAISE EXCEPTION 'howdah.enqueue: say either delay or run_at, not both' USING ERRCODE = '22023';
    ELSIF NOT isfinite(run_at) OR run_at >= '9999-12-31 00:00+00' OR run_at < '0001-01-02 00:00+00' THEN
        RAISE EXCEPTION 'howdah.enqueue: run_at must be a moment of the years 1 to 9999, in every time zone' USING ERRCODE = '22023';
    ELSIF max_attempts NOT BETWEEN 1 AND 32767 THEN
        RAISE EXCEPTION 'howdah.enqueue: max_attempts must be from 1 to 32767' USING ERRCODE = '22023';
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
) RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS
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

DO $$
BEGIN
    PERFORM howdah.ensure_partition((now() AT TIME ZONE 'UTC')::date + n) FROM generate_series(-1, 14) AS n;
END
$$;

-- What everything is, for psql's \d+, catalogues and dashboards. Seconds are double precision, moments timestamptz.
COMMENT ON TABLE howdah.jobs IS 'Every job that is not final, and nothing else. Ask howdah.all_jobs about any job; columns marked Private may change in any release.';
COMMENT ON COLUMN howdah.jobs.position IS 'Private: the order of claiming within queue and priority; a new one whenever the job becomes available.';
COMMENT ON COLUMN howdah.jobs.key_for IS 'Private: for how many seconds after its end its key stays taken.';
COMMENT ON COLUMN howdah.jobs.claim_no IS 'Private: the order in which jobs of a subject were claimed, exact where the clock steps back.';
COMMENT ON COLUMN howdah.jobs.origin_id IS 'Private: the job whose landing this one is; such a job is followed by no landing of its own.';
COMMENT ON COLUMN howdah.jobs.needs_start IS 'Private: whether the running attempt uses the start step, as decided by its claim.';
COMMENT ON COLUMN howdah.jobs.id IS 'The job''s number: unique for ever, kept when it moves to history. Larger means enqueued later, not committed later.';
COMMENT ON COLUMN howdah.jobs.kind IS 'What the job does: selects its handler, and its policy in howdah.kinds.';
COMMENT ON COLUMN howdah.jobs.queue IS 'The line in which it waits: the unit of claiming, pausing and limiting.';
COMMENT ON COLUMN howdah.jobs.priority IS 'The lower number runs first.';
COMMENT ON COLUMN howdah.jobs.attempt IS 'How often it has been claimed; the number of the running attempt is the fencing token. Only grows.';
COMMENT ON COLUMN howdah.jobs.excused IS 'How many attempts do not count against max_attempts.';
COMMENT ON COLUMN howdah.jobs.crashes IS 'How many attempts ended with their worker: the lease ran out.';
COMMENT ON COLUMN howdah.jobs.run_at IS 'Not before this moment: a caller''s run_at or delay, a backoff, a snooze.';
COMMENT ON COLUMN howdah.jobs.created_at IS 'When it was enqueued, by the database''s clock.';
COMMENT ON COLUMN howdah.jobs.started_at IS 'When the start step was committed, for jobs that use it: the handler may have begun. Null: it has not.';
COMMENT ON COLUMN howdah.jobs.expires_at IS 'If it has not been claimed by this moment, it expires. Null: never.';
COMMENT ON COLUMN howdah.jobs.claimed_at IS 'When its newest attempt was claimed. Null: never since it was enqueued or put back.';
COMMENT ON COLUMN howdah.jobs.worker IS 'Who holds the job, or held it last.';
COMMENT ON COLUMN howdah.jobs.cancel_requested_at IS 'When somebody asked for its end while it was running: what it becomes is decided as the attempt ends.';
COMMENT ON COLUMN howdah.jobs.key IS 'Its unique key: at most one live job per kind and key, see howdah.keys.';
COMMENT ON COLUMN howdah.jobs.subject IS 'What it is about: the newest job of a kind and subject supersedes the older ones.';
COMMENT ON COLUMN howdah.jobs.superseded_by IS 'The id of the newer job of its subject that replaced it.';
COMMENT ON COLUMN howdah.jobs.settled_by IS 'Who ended the last attempt or state: worker, reaper, operator, enqueue, claim or promoter.';
COMMENT ON COLUMN howdah.jobs.settled_event IS 'By which event: complete, fail, snooze, release, reap, cancel and so on.';
COMMENT ON COLUMN howdah.jobs.settled_attempt IS 'Which attempt that was.';
COMMENT ON COLUMN howdah.jobs.lane IS 'Its FIFO line inside the queue. Not used yet.';
COMMENT ON COLUMN howdah.jobs.args IS 'What the handler gets: a JSON object of at most 1 MiB. May hold personal data.';
COMMENT ON COLUMN howdah.jobs.headers IS 'Text by name, for tracing and the like; the handler sees it in its context.';
COMMENT ON COLUMN howdah.jobs.tags IS 'Names to find it by.';
COMMENT ON COLUMN howdah.jobs.progress IS 'What the handler last said of its progress.';
COMMENT ON COLUMN howdah.jobs.errors IS 'The newest 20 failures: objects with attempt, at, event, type, message, traceback, worker.';
COMMENT ON COLUMN howdah.jobs.state IS 'scheduled, blocked, available, running or unknown; never a final state.';
COMMENT ON COLUMN howdah.jobs.lease_expires_at IS 'Until when the worker may run and report this attempt, while running or unknown.';
COMMENT ON COLUMN howdah.jobs.max_attempts IS 'The cap of counted attempts set on this job. Null: its kind''s, see all_jobs.';

COMMENT ON TABLE howdah.history IS 'Finished jobs, one partition per UTC day of finished_at; retention drops the days. Columns marked Private may change in any release.';
COMMENT ON COLUMN howdah.history.key_for IS 'Private: for how many seconds after its end its key stays taken.';
COMMENT ON COLUMN howdah.history.own_max_attempts IS 'Private: the cap that was set on this job. Null: it had its kind''s.';
COMMENT ON COLUMN howdah.history.claim_no IS 'Private: the order in which jobs of a subject were claimed, exact where the clock steps back.';
COMMENT ON COLUMN howdah.history.origin_id IS 'Private: the job whose landing this one is; such a job is followed by no landing of its own.';
COMMENT ON COLUMN howdah.history.id IS 'The job''s number: unique for ever, kept when it moves to history. Larger means enqueued later, not committed later.';
COMMENT ON COLUMN howdah.history.kind IS 'What the job does: selects its handler, and its policy in howdah.kinds.';
COMMENT ON COLUMN howdah.history.queue IS 'The line in which it waits: the unit of claiming, pausing and limiting.';
COMMENT ON COLUMN howdah.history.priority IS 'The lower number runs first.';
COMMENT ON COLUMN howdah.history.attempt IS 'How often it has been claimed; the number of the running attempt is the fencing token. Only grows.';
COMMENT ON COLUMN howdah.history.excused IS 'How many attempts do not count against max_attempts.';
COMMENT ON COLUMN howdah.history.crashes IS 'How many attempts ended with their worker: the lease ran out.';
COMMENT ON COLUMN howdah.history.run_at IS 'Not before this moment: a caller''s run_at or delay, a backoff, a snooze.';
COMMENT ON COLUMN howdah.history.created_at IS 'When it was enqueued, by the database''s clock.';
COMMENT ON COLUMN howdah.history.started_at IS 'When the start step was committed, for jobs that use it: the handler may have begun. Null: it has not.';
COMMENT ON COLUMN howdah.history.expires_at IS 'If it has not been claimed by this moment, it expires. Null: never.';
COMMENT ON COLUMN howdah.history.claimed_at IS 'When its newest attempt was claimed. Null: never since it was enqueued or put back.';
COMMENT ON COLUMN howdah.history.worker IS 'Who holds the job, or held it last.';
COMMENT ON COLUMN howdah.history.cancel_requested_at IS 'When somebody asked for its end while it was running: what it becomes is decided as the attempt ends.';
COMMENT ON COLUMN howdah.history.key IS 'Its unique key: at most one live job per kind and key, see howdah.keys.';
COMMENT ON COLUMN howdah.history.subject IS 'What it is about: the newest job of a kind and subject supersedes the older ones.';
COMMENT ON COLUMN howdah.history.superseded_by IS 'The id of the newer job of its subject that replaced it.';
COMMENT ON COLUMN howdah.history.settled_by IS 'Who ended the last attempt or state: worker, reaper, operator, enqueue, claim or promoter.';
COMMENT ON COLUMN howdah.history.settled_event IS 'By which event: complete, fail, snooze, release, reap, cancel and so on.';
COMMENT ON COLUMN howdah.history.settled_attempt IS 'Which attempt that was.';
COMMENT ON COLUMN howdah.history.lane IS 'Its FIFO line inside the queue. Not used yet.';
COMMENT ON COLUMN howdah.history.args IS 'What the handler gets: a JSON object of at most 1 MiB. May hold personal data.';
COMMENT ON COLUMN howdah.history.headers IS 'Text by name, for tracing and the like; the handler sees it in its context.';
COMMENT ON COLUMN howdah.history.tags IS 'Names to find it by.';
COMMENT ON COLUMN howdah.history.progress IS 'What the handler last said of its progress.';
COMMENT ON COLUMN howdah.history.errors IS 'The newest 20 failures: objects with attempt, at, event, type, message, traceback, worker.';
COMMENT ON COLUMN howdah.history.state IS 'completed, discarded, cancelled, superseded or expired.';
COMMENT ON COLUMN howdah.history.lease_expires_at IS 'Always null: the lease ended with the job.';
COMMENT ON COLUMN howdah.history.max_attempts IS 'The cap of counted attempts that applied as it ended.';
COMMENT ON COLUMN howdah.history.finished_at IS 'When it ended, by the database''s clock.';
COMMENT ON COLUMN howdah.history.result IS 'What the handler returned: JSON of at most 1 MiB.';

COMMENT ON VIEW howdah.all_jobs IS 'Every job, live or finished: the one place to ask about any job.';
COMMENT ON COLUMN howdah.all_jobs.id IS 'The job''s number: unique for ever, kept when it moves to history. Larger means enqueued later, not committed later.';
COMMENT ON COLUMN howdah.all_jobs.kind IS 'What the job does: selects its handler, and its policy in howdah.kinds.';
COMMENT ON COLUMN howdah.all_jobs.queue IS 'The line in which it waits: the unit of claiming, pausing and limiting.';
COMMENT ON COLUMN howdah.all_jobs.priority IS 'The lower number runs first.';
COMMENT ON COLUMN howdah.all_jobs.attempt IS 'How often it has been claimed; the number of the running attempt is the fencing token. Only grows.';
COMMENT ON COLUMN howdah.all_jobs.excused IS 'How many attempts do not count against max_attempts.';
COMMENT ON COLUMN howdah.all_jobs.crashes IS 'How many attempts ended with their worker: the lease ran out.';
COMMENT ON COLUMN howdah.all_jobs.run_at IS 'Not before this moment: a caller''s run_at or delay, a backoff, a snooze.';
COMMENT ON COLUMN howdah.all_jobs.created_at IS 'When it was enqueued, by the database''s clock.';
COMMENT ON COLUMN howdah.all_jobs.started_at IS 'When the start step was committed, for jobs that use it: the handler may have begun. Null: it has not.';
COMMENT ON COLUMN howdah.all_jobs.expires_at IS 'If it has not been claimed by this moment, it expires. Null: never.';
COMMENT ON COLUMN howdah.all_jobs.claimed_at IS 'When its newest attempt was claimed. Null: never since it was enqueued or put back.';
COMMENT ON COLUMN howdah.all_jobs.worker IS 'Who holds the job, or held it last.';
COMMENT ON COLUMN howdah.all_jobs.cancel_requested_at IS 'When somebody asked for its end while it was running: what it becomes is decided as the attempt ends.';
COMMENT ON COLUMN howdah.all_jobs.key IS 'Its unique key: at most one live job per kind and key, see howdah.keys.';
COMMENT ON COLUMN howdah.all_jobs.subject IS 'What it is about: the newest job of a kind and subject supersedes the older ones.';
COMMENT ON COLUMN howdah.all_jobs.superseded_by IS 'The id of the newer job of its subject that replaced it.';
COMMENT ON COLUMN howdah.all_jobs.settled_by IS 'Who ended the last attempt or state: worker, reaper, operator, enqueue, claim or promoter.';
COMMENT ON COLUMN howdah.all_jobs.settled_event IS 'By which event: complete, fail, snooze, release, reap, cancel and so on.';
COMMENT ON COLUMN howdah.all_jobs.settled_attempt IS 'Which attempt that was.';
COMMENT ON COLUMN howdah.all_jobs.lane IS 'Its FIFO line inside the queue. Not used yet.';
COMMENT ON COLUMN howdah.all_jobs.args IS 'What the handler gets: a JSON object of at most 1 MiB. May hold personal data.';
COMMENT ON COLUMN howdah.all_jobs.headers IS 'Text by name, for tracing and the like; the handler sees it in its context.';
COMMENT ON COLUMN howdah.all_jobs.tags IS 'Names to find it by.';
COMMENT ON COLUMN howdah.all_jobs.progress IS 'What the handler last said of its progress.';
COMMENT ON COLUMN howdah.all_jobs.errors IS 'The newest 20 failures: objects with attempt, at, event, type, message, traceback, worker.';
COMMENT ON COLUMN howdah.all_jobs.state IS 'Live: scheduled, blocked, available, running, unknown. Final: completed, discarded, cancelled, superseded, expired.';
COMMENT ON COLUMN howdah.all_jobs.lease_expires_at IS 'Until when the worker may run and report this attempt, while running or unknown.';
COMMENT ON COLUMN howdah.all_jobs.max_attempts IS 'The cap of counted attempts in effect: the job''s own, else its kind''s, else 10.';
COMMENT ON COLUMN howdah.all_jobs.finished_at IS 'When it ended. Null: it has not.';
COMMENT ON COLUMN howdah.all_jobs.result IS 'What the handler returned, once completed.';

COMMENT ON TABLE howdah.kinds IS 'The policy of each kind: what settling statements and the reaper decide by, without the handler''s code. Written by workers as they start.';
COMMENT ON COLUMN howdah.kinds.kind IS 'The kind''s stable name.';
COMMENT ON COLUMN howdah.kinds.queue IS 'Where a job goes that was enqueued without a queue.';
COMMENT ON COLUMN howdah.kinds.max_attempts IS 'The cap of counted attempts, unless the job has its own.';
COMMENT ON COLUMN howdah.kinds.retry_base IS 'The delay before the first retry, in seconds.';
COMMENT ON COLUMN howdah.kinds.retry_factor IS 'By how much each further delay grows.';
COMMENT ON COLUMN howdah.kinds.retry_cap IS 'The longest delay before a retry, in seconds.';
COMMENT ON COLUMN howdah.kinds.retry_jitter IS 'By what part of itself a delay varies, from 0 to 1.';
COMMENT ON COLUMN howdah.kinds.lease IS 'How long a lease lasts, in seconds; at most 24 hours.';
COMMENT ON COLUMN howdah.kinds.on_crash IS 'What the reaper does with an attempt whose worker vanished: retry, discard, or unknown (parked for a person).';
COMMENT ON COLUMN howdah.kinds.on_supersede IS 'Whether a running job is told to end when a newer one of its subject comes: cancel, or finish.';
COMMENT ON COLUMN howdah.kinds.on_discard IS 'The kind of the job that is enqueued when one of this kind is discarded.';
COMMENT ON COLUMN howdah.kinds.on_unknown IS 'The kind of the job that is enqueued when one of this kind becomes unknown.';
COMMENT ON COLUMN howdah.kinds.pinned IS 'Private: an operator''s policy is in force and workers do not change it.';
COMMENT ON COLUMN howdah.kinds.declared IS 'Private: the policy as the code last declared it.';
COMMENT ON COLUMN howdah.kinds.updated_at IS 'When this row last changed.';

COMMENT ON TABLE howdah.keys IS 'Who holds a unique key: a row while its job lives, and for key_for seconds after its end.';
COMMENT ON COLUMN howdah.keys.kind IS 'The kind that the key belongs to.';
COMMENT ON COLUMN howdah.keys.key IS 'The unique key.';
COMMENT ON COLUMN howdah.keys.job_id IS 'The job that holds it.';
COMMENT ON COLUMN howdah.keys.key_for IS 'For how many seconds after the job''s end the key stays taken. Null: it is free at once.';
COMMENT ON COLUMN howdah.keys.free_at IS 'When the key becomes free. Null: its job lives.';

COMMENT ON TABLE howdah.queues IS 'Queues of which there is something to say; a queue without a row here is not paused.';
COMMENT ON COLUMN howdah.queues.queue IS 'The queue''s name.';
COMMENT ON COLUMN howdah.queues.paused_at IS 'Since when nothing of it is claimed. Null: it is not paused.';

COMMENT ON TABLE howdah.workers IS 'Workers and their heartbeats; worker_status is the view to read. Nothing but this list depends on it.';
COMMENT ON COLUMN howdah.workers.worker IS 'The worker''s name, unique to the process.';
COMMENT ON COLUMN howdah.workers.hostname IS 'The machine it runs on.';
COMMENT ON COLUMN howdah.workers.pid IS 'Its process id there.';
COMMENT ON COLUMN howdah.workers.version IS 'The version of its package howdah.';
COMMENT ON COLUMN howdah.workers.queues IS 'The queues it serves: a JSON object, queue to slots.';
COMMENT ON COLUMN howdah.workers.kinds IS 'The kinds it has handlers for. Null: it did not say.';
COMMENT ON COLUMN howdah.workers.running IS 'How many attempts it was running at its last heartbeat.';
COMMENT ON COLUMN howdah.workers.stuck IS 'How many handlers went on although their lease was over or their time was up, each of them in a slot.';
COMMENT ON COLUMN howdah.workers.stopping IS 'Whether it is stopping: no new claims.';
COMMENT ON COLUMN howdah.workers.started_at IS 'When it started.';
COMMENT ON COLUMN howdah.workers.heartbeat_at IS 'When it was last heard of.';

COMMENT ON TABLE howdah.sweeps IS 'Private: when each kind of sweep last ran, so that one per interval serves the whole database.';
COMMENT ON COLUMN howdah.sweeps.name IS 'Private: which sweep.';
COMMENT ON COLUMN howdah.sweeps.last_at IS 'Private: when it last began.';

COMMENT ON TABLE howdah.audit IS 'What operators did, and policies that changed: one row each.';
COMMENT ON COLUMN howdah.audit.id IS 'The entry''s number.';
COMMENT ON COLUMN howdah.audit.at IS 'When, by the database''s clock.';
COMMENT ON COLUMN howdah.audit.actor IS 'Who: the database role of the session.';
COMMENT ON COLUMN howdah.audit.action IS 'What: cancel, requeue, resolve, pause, resume, declare and so on.';
COMMENT ON COLUMN howdah.audit.job_id IS 'The job it was about, if any.';
COMMENT ON COLUMN howdah.audit.kind IS 'The kind it was about, if any.';
COMMENT ON COLUMN howdah.audit.note IS 'What the actor said, or the worker that declared a kind.';
COMMENT ON COLUMN howdah.audit.detail IS 'The facts of the action as a JSON object, such as from and to.';

COMMENT ON TABLE howdah.schema_version IS 'The ledger of the schema''s versions, written by every way of migrating; the largest is the current one.';
COMMENT ON COLUMN howdah.schema_version.version IS 'The version.';
COMMENT ON COLUMN howdah.schema_version.applied_at IS 'When it was applied.';
COMMENT ON COLUMN howdah.schema_version.applied_by IS 'The database role that applied it.';
COMMENT ON COLUMN howdah.schema_version.via IS 'How it was applied.';
COMMENT ON COLUMN howdah.schema_version.package_version IS 'The version of the package howdah that it came with.';

COMMENT ON VIEW howdah.worker_status IS 'Which workers there are, and how they are.';
COMMENT ON COLUMN howdah.worker_status.worker IS 'The worker''s name.';
COMMENT ON COLUMN howdah.worker_status.hostname IS 'The machine it runs on.';
COMMENT ON COLUMN howdah.worker_status.pid IS 'Its process id there.';
COMMENT ON COLUMN howdah.worker_status.version IS 'The version of its package howdah.';
COMMENT ON COLUMN howdah.worker_status.queues IS 'The queues it serves: a JSON object, queue to slots.';
COMMENT ON COLUMN howdah.worker_status.kinds IS 'The kinds it has handlers for. Null: it did not say.';
COMMENT ON COLUMN howdah.worker_status.slots IS 'How many attempts it can run at once, over all queues.';
COMMENT ON COLUMN howdah.worker_status.running IS 'How many attempts it was running at its last heartbeat.';
COMMENT ON COLUMN howdah.worker_status.stuck IS 'How many of these go on although their lease is over or their time is up.';
COMMENT ON COLUMN howdah.worker_status.started_at IS 'When it started.';
COMMENT ON COLUMN howdah.worker_status.heartbeat_at IS 'When it was last heard of.';
COMMENT ON COLUMN howdah.worker_status.heartbeat_age_seconds IS 'How long ago that was, in seconds.';
COMMENT ON COLUMN howdah.worker_status.status IS 'alive; late: silent for over 15 seconds; stopping; lost: silent for over 60 seconds.';

COMMENT ON VIEW howdah.queue_stats IS 'How each queue stands: one row per queue that has live jobs, a worker, or was ever paused.';
COMMENT ON COLUMN howdah.queue_stats.queue IS 'The queue.';
COMMENT ON COLUMN howdah.queue_stats.paused IS 'Whether it is paused: nothing of it is claimed.';
COMMENT ON COLUMN howdah.queue_stats.paused_at IS 'Since when.';
COMMENT ON COLUMN howdah.queue_stats.available IS 'Jobs that may be claimed now.';
COMMENT ON COLUMN howdah.queue_stats.scheduled IS 'Jobs that are due later.';
COMMENT ON COLUMN howdah.queue_stats.retrying IS 'Those of the scheduled that have been attempted before: backoff or snooze.';
COMMENT ON COLUMN howdah.queue_stats.blocked IS 'Jobs that wait for a lane.';
COMMENT ON COLUMN howdah.queue_stats.running IS 'Jobs that are leased.';
COMMENT ON COLUMN howdah.queue_stats.unknown IS 'Jobs that began and whose worker vanished; each waits for a person.';
COMMENT ON COLUMN howdah.queue_stats.leases_expired IS 'Running jobs whose lease is over and that wait for the reaper.';
COMMENT ON COLUMN howdah.queue_stats.oldest_available_age_seconds IS 'How long the available job that was due first has been waiting, in seconds.';
COMMENT ON COLUMN howdah.queue_stats.oldest_running_age_seconds IS 'How long ago the longest-running attempt was claimed, in seconds.';
COMMENT ON COLUMN howdah.queue_stats.next_run_at IS 'When the next scheduled job is due.';
COMMENT ON COLUMN howdah.queue_stats.workers IS 'How many workers serve the queue, alive or late.';
COMMENT ON COLUMN howdah.queue_stats.slots IS 'How many attempts those can run at once of it.';
COMMENT ON COLUMN howdah.queue_stats.utilization IS 'The running part of these slots: 1 is fully busy. Null without slots.';

COMMENT ON VIEW howdah.lease_status IS 'Every running job and its lease.';
COMMENT ON COLUMN howdah.lease_status.job_id IS 'The job.';
COMMENT ON COLUMN howdah.lease_status.kind IS 'Its kind.';
COMMENT ON COLUMN howdah.lease_status.queue IS 'Its queue.';
COMMENT ON COLUMN howdah.lease_status.worker IS 'Who holds the lease.';
COMMENT ON COLUMN howdah.lease_status.attempt IS 'The attempt''s number, which is the fencing token.';
COMMENT ON COLUMN howdah.lease_status.claimed_at IS 'When the attempt was claimed.';
COMMENT ON COLUMN howdah.lease_status.started_at IS 'When its start step was committed, if it uses one.';
COMMENT ON COLUMN howdah.lease_status.lease_expires_at IS 'Until when the lease lasts.';
COMMENT ON COLUMN howdah.lease_status.lease_remaining_seconds IS 'How long that is from now, in seconds; negative once it is over.';
COMMENT ON COLUMN howdah.lease_status.expired IS 'Whether it is over: the reaper will settle the attempt.';
COMMENT ON COLUMN howdah.lease_status.cancel_requested IS 'Whether the handler has been asked to end.';
COMMENT ON COLUMN howdah.lease_status.progress IS 'What the handler last said of its progress.';

COMMENT ON VIEW howdah.unknown_jobs IS 'Jobs that began and whose worker vanished, for a person or a reconciler to resolve.';
COMMENT ON COLUMN howdah.unknown_jobs.id IS 'The job''s number.';
COMMENT ON COLUMN howdah.unknown_jobs.kind IS 'Its kind.';
COMMENT ON COLUMN howdah.unknown_jobs.queue IS 'Its queue.';
COMMENT ON COLUMN howdah.unknown_jobs.attempt IS 'The attempt of which the outcome is unknown.';
COMMENT ON COLUMN howdah.unknown_jobs.worker IS 'The worker that vanished.';
COMMENT ON COLUMN howdah.unknown_jobs.started_at IS 'When its start step was committed: it may have begun from then on.';
COMMENT ON COLUMN howdah.unknown_jobs.lease_expires_at IS 'When its lease ran out.';
COMMENT ON COLUMN howdah.unknown_jobs.unknown_for_seconds IS 'How long ago that was, in seconds.';
COMMENT ON COLUMN howdah.unknown_jobs.key IS 'Its unique key, which it still holds.';
COMMENT ON COLUMN howdah.unknown_jobs.subject IS 'What it is about.';
COMMENT ON COLUMN howdah.unknown_jobs.args IS 'What its handler got.';
COMMENT ON COLUMN howdah.unknown_jobs.errors IS 'Its newest failures, and reports that came too late, as evidence.';

COMMENT ON SEQUENCE howdah.job_id_seq IS 'Private: the ids of jobs.';
COMMENT ON SEQUENCE howdah.position_seq IS 'Private: the order of claiming. Never set it.';
COMMENT ON SEQUENCE howdah.claim_seq IS 'Private: the order in which jobs of a subject were claimed.';
COMMENT ON SEQUENCE howdah.bell IS 'Private: 1 while a worker is idle and wants to be notified.';

COMMENT ON FUNCTION howdah.clock() IS 'The time that every statement of Howdah goes by.';
COMMENT ON FUNCTION howdah.enqueue IS 'Enqueues a job in the caller''s transaction, from triggers and other languages; gives its id, or that of the live job that holds the key. Durations are seconds.';
COMMENT ON FUNCTION howdah.enqueue_job IS 'As howdah.enqueue, and says whether the job is new.';
COMMENT ON FUNCTION howdah.ensure_partition(date) IS 'Makes history''s partition for a UTC day, where it is missing.';
COMMENT ON FUNCTION howdah.prune_history(double precision) IS 'One step of retention, given in seconds and at least a day: empties the oldest day that is past, or drops it when empty. Says what it did, or null. Waits at most 100 ms for a lock.';
COMMENT ON FUNCTION howdah.ring(text) IS 'Private: notifies the channel howdah with the queue''s name, if a worker is idle.';
COMMENT ON FUNCTION howdah.enqueue_jobs(jsonb) IS 'Private: enqueues a batch with keys and subjects, atomically.';
COMMENT ON FUNCTION howdah.take_key(text, text, bigint, double precision) IS 'Private: takes a unique key for a job, or gives the job that holds it.';
COMMENT ON FUNCTION howdah.supersede_older(bigint[]) IS 'Private: moves to history the unstarted jobs that these replace, as far as they can be locked now.';
