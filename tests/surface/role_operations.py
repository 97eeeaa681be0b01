"""Everything that somebody may want to do to a database with Howdah, and which of the roles may."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from howdah import Client, Fail
from howdah.model.job import Policy, Vitals, WorkerInfo
from howdah.store import sweeping, workers
from tests.support.jobs import lease_of, make_job, run

OWNER, PRODUCER, WORKER = "howdah_owner", "howdah_producer", "howdah_worker"
READER, READER_ARGS = "howdah_reader", "howdah_reader_args"
ROLES = (OWNER, PRODUCER, WORKER, READER, READER_ARGS)

ENQUEUES = {OWNER, PRODUCER, WORKER}
WORKS = {OWNER, WORKER}
READS = {OWNER, WORKER, READER, READER_ARGS}
READS_ALL = {OWNER, WORKER, READER_ARGS}
ALL = set(ROLES)

INFO = WorkerInfo("roles", "host", 1, "1", {"default": 1})


@dataclass(frozen=True)
class Acting:
    """Who acts: a client and a connection of the role; `admin` prepares what there is to act on."""

    client: Client
    conn: Connection[Any]
    admin: Connection[Any]

    def held(self) -> Any:
        """The lease of a running job."""
        return lease_of(self.admin, make_job(self.admin, "running", queue="elsewhere"))

    def job(self, state: str, **columns: Any) -> int:
        """A job in this state, in a queue of its own."""
        return make_job(self.admin, state, queue="elsewhere", **columns)


@dataclass(frozen=True)
class Act:
    """Something to do, and the roles that may."""

    may: set[str]
    do: Callable[[Acting], object]


def sql(may: set[str], *statements: str) -> Act:
    def do(acting: Acting) -> None:
        for statement in statements:
            acting.conn.execute(statement.encode())

    return Act(may, do)


ENQUEUEING = {
    "enqueue": Act(ENQUEUES, lambda a: a.client.enqueue("k", {"a": 1}, tags=["t"], headers={"h": "1"}, delay=5)),
    "enqueue with a key": Act(ENQUEUES, lambda a: a.client.enqueue("k", {}, key="key", key_for=1)),
    "enqueue with a subject": Act(ENQUEUES, lambda a: [a.client.enqueue("k", {}, subject="s") for _ in range(2)]),
    "enqueue_many": Act(ENQUEUES, lambda a: a.client.enqueue_many([a.client.new("k", {})] * 3)),
    "enqueue_many with keys": Act(ENQUEUES, lambda a: a.client.enqueue_many([a.client.new("k", {}, key="many")])),
    "load": Act(ENQUEUES, lambda a: a.client.load([a.client.new("k", {})] * 3)),
    "enqueue on a connection": Act(ENQUEUES, lambda a: a.client.enqueue("k", {}, on=a.conn)),
    "howdah.enqueue": sql(ENQUEUES, "SELECT howdah.enqueue('k', subject => 'x', key => 'y')"),
    "howdah.enqueue_job": sql(ENQUEUES, "SELECT * FROM howdah.enqueue_job('k')"),
    "forge a running job": sql(
        WORKS,
        "INSERT INTO howdah.jobs (kind, state, attempt, lease_expires_at) VALUES ('k', 'running', 1, now())",
    ),
    "forge a key": sql(WORKS, "INSERT INTO howdah.keys (kind, key, job_id) VALUES ('forged', gen_random_uuid(), 1)"),
    "take a key": sql({OWNER}, "SELECT howdah.take_key('k', 'taken', 1, NULL)"),
    "supersede": sql({OWNER}, "SELECT howdah.supersede_older('{1}')"),
}

WORKING = {
    "claim": Act(WORKS, lambda a: a.client.claim(["nobody's"], worker="w")),
    "claim_job": Act(WORKS, lambda a: a.client.claim_job(a.job("available"), worker="w")),
    "claim_job with a subject": Act(
        WORKS, lambda a: a.client.claim_job(a.job("available", subject=f"s{id(a)}"), worker="w")
    ),
    "start": Act(WORKS, lambda a: a.client.start(a.held())),
    "extend": Act(WORKS, lambda a: a.client.extend(a.held(), 60)),
    "complete": Act(WORKS, lambda a: a.client.complete(a.held(), {"r": 1})),
    "complete with a key": Act(
        WORKS, lambda a: a.client.complete(lease_of(a.admin, a.job("running", key=f"k{id(a)}", subject="done")))
    ),
    "complete on a connection": Act(WORKS, lambda a: a.client.complete(a.held(), on=a.conn)),
    "fail": Act(WORKS, lambda a: a.client.fail(a.held(), "no")),
    "snooze": Act(WORKS, lambda a: a.client.snooze(a.held(), 60)),
    "release": Act(WORKS, lambda a: a.client.release(a.held(), "stopping")),
    "settle_many": Act(WORKS, lambda a: a.client.settle_many([(a.held(), Fail("no", permanent=True))])),
    "reap": Act(WORKS, lambda a: a.client.reap()),
    "sweep": Act(WORKS, lambda a: a.client.sweep()),
    "take turns to sweep": Act(WORKS, lambda a: run(a.conn, sweeping.take_turn("roles", 1))),
    "register kinds": Act(WORKS, lambda a: run(a.conn, workers.register_kinds([Policy(f"k{id(a)}")], "w"))),
    "register a worker": Act(WORKS, lambda a: run(a.conn, workers.register_worker(INFO))),
    "beat": Act(WORKS, lambda a: run(a.conn, workers.beat(INFO, Vitals(1)))),
    "leave": Act(WORKS, lambda a: run(a.conn, workers.leave(INFO))),
    "arm the bell": sql(WORKS, "SELECT setval('howdah.bell', 1)"),
    "make a partition": sql(WORKS, "SELECT howdah.ensure_partition('2037-01-01')"),
    "prune": sql(WORKS, "SELECT howdah.prune_history(31536000)"),
    "cancel": Act(WORKS, lambda a: a.client.cancel(a.job("available"))),
    "requeue": Act(WORKS, lambda a: a.client.requeue(a.job("discarded"))),
    "requeue with a key": Act(WORKS, lambda a: a.client.requeue(a.job("discarded", key=f"r{id(a)}"))),
    "resolve": Act(WORKS, lambda a: a.client.resolve(a.job("unknown"), "completed", "seen")),
    "pause and resume": Act(WORKS, lambda a: (a.client.pause("p"), a.client.resume("p"))),
}

READING = {
    "get": Act(READS_ALL, lambda a: a.client.get(a.job("completed"))),
    "count jobs": sql(READS, "SELECT count(*) FROM howdah.all_jobs"),
    "read states": sql(READS, "SELECT id, kind, state, finished_at FROM howdah.all_jobs WHERE state = 'running'"),
    "read live jobs": sql(READS, "SELECT id, kind, queue, worker, key, subject, tags FROM howdah.jobs"),
    "read args": sql(READS_ALL, "SELECT args FROM howdah.all_jobs"),
    "read live args": sql(READS_ALL, "SELECT args FROM howdah.jobs"),
    "read old args": sql(READS_ALL, "SELECT args FROM howdah.history"),
    "read errors": sql(READS_ALL, "SELECT errors FROM howdah.all_jobs"),
    "read results": sql(READS_ALL, "SELECT result FROM howdah.all_jobs"),
    "read headers": sql(READS_ALL, "SELECT headers FROM howdah.all_jobs"),
    "read progress": sql(READS_ALL, "SELECT progress FROM howdah.lease_status"),
    "read unknown args": sql(READS_ALL, "SELECT args FROM howdah.unknown_jobs"),
    "read unknown jobs": sql(READS, "SELECT id, kind, worker, unknown_for_seconds FROM howdah.unknown_jobs"),
    "read leases": sql(READS, "SELECT job_id, worker, expired FROM howdah.lease_status"),
    "read queue_stats": sql(READS, "SELECT * FROM howdah.queue_stats"),
    "read worker_status": sql(READS, "SELECT * FROM howdah.worker_status"),
    "read kinds": sql(READS, "SELECT * FROM howdah.kinds"),
    "read the audit": sql(READS, "SELECT id, at, actor, action, job_id, kind, detail FROM howdah.audit"),
    "read notes": sql(READS_ALL, "SELECT note FROM howdah.audit"),
    "ask for the version": sql(ALL, "SELECT max(version) FROM howdah.schema_version"),
}

BREAKING = {
    "create a table": sql({OWNER}, "CREATE TABLE howdah.mine (n integer)", "DROP TABLE howdah.mine"),
    "create a function": sql(
        {OWNER},
        "CREATE FUNCTION howdah.mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "DROP FUNCTION howdah.mine()",
    ),
    "replace the clock": sql(
        {OWNER},
        "CREATE OR REPLACE FUNCTION howdah.clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()'",
    ),
    "alter a function": sql({OWNER}, "ALTER FUNCTION howdah.enqueue SET search_path = pg_catalog, pg_temp"),
    "drop a column": sql({OWNER}, "ALTER TABLE howdah.audit ADD spare text", "ALTER TABLE howdah.audit DROP spare"),
    "drop a view": sql({OWNER}, "BEGIN", "DROP VIEW howdah.lease_status", "ROLLBACK"),
    "truncate history": sql({OWNER}, "TRUNCATE howdah.history"),
    "truncate jobs": sql({OWNER}, "TRUNCATE howdah.jobs"),
    "rewrite history": sql({OWNER}, "UPDATE howdah.history SET state = 'completed'"),
    "forge the audit": sql({OWNER}, "INSERT INTO howdah.audit (actor, action) VALUES ('you', 'cancel')"),
    "rewrite the audit": sql({OWNER}, "UPDATE howdah.audit SET note = 'no'"),
    "empty the audit": sql({OWNER}, "DELETE FROM howdah.audit"),
    "empty the jobs": sql(WORKS, "DELETE FROM howdah.jobs WHERE id < 0"),
    "write the ledger": sql({OWNER}, "DELETE FROM howdah.schema_version WHERE version = 99"),
    "move the positions": sql({OWNER}, "SELECT setval('howdah.position_seq', nextval('howdah.position_seq'))"),
    "change the storage": sql({OWNER}, "ALTER TABLE howdah.jobs SET (fillfactor = 50)"),
}

ACTS = {**ENQUEUEING, **WORKING, **READING, **BREAKING}
