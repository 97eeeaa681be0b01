"""How PostgreSQL runs the hot statements: by the right index, reading in proportion to the limit, whatever it knows.

The worst case is in every test: a worker's prepared statement was planned on an empty, analysed table, as it is after
each drained queue, and then 100,000 jobs come in one commit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import Connection, sql

from howdah.sql import load
from tests.support.databases import database
from tests.support.servers import Server

JOBS = 100_000  # of ten: six available in two queues and four priorities, two scheduled, half of them due, two running
BATCH = 200
FILL = f"""
INSERT INTO howdah.jobs (kind, queue, state, priority, run_at, expires_at, attempt, worker, claimed_at,
    lease_expires_at, subject, args)
SELECT 'k', 'q' || n % 2, s.state, n % 4,
    howdah.clock() + make_interval(secs => CASE WHEN n % 20 < 10 THEN -1 ELSE 3600 END),
    CASE WHEN s.state <> 'running' AND n % 100 = 0 THEN howdah.clock() - interval '1 s' END,
    (s.state = 'running')::integer, CASE WHEN s.state = 'running' THEN 'w' END,
    CASE WHEN s.state = 'running' THEN howdah.clock() END,
    CASE WHEN s.state = 'running' THEN howdah.clock() + interval '1 h' END,
    CASE WHEN n % 50 = 7 THEN 's' || n END, '{{"to": "someone@example.com", "n": 12345}}'
FROM generate_series(1, {JOBS}) AS n
CROSS JOIN LATERAL (
    SELECT CASE WHEN n % 10 < 6 THEN 'available' WHEN n % 10 < 8 THEN 'scheduled' ELSE 'running' END AS state
) s
"""
ONE_QUEUE = {"queues": ["q1"], "lows": [-32768], "highs": [32767], "floors": [0], "quotas": [BATCH]}
TWO_QUEUES = {
    "queues": ["none", "q0", "q1"],
    "lows": [-32768] * 3,
    "highs": [32767] * 3,
    "floors": [0] * 3,
    "quotas": [10, 50, BATCH],
}
ONE_PRIORITY = {**ONE_QUEUE, "lows": [1], "highs": [1]}
CLAIM = {"limit": BATCH, "worker": "w", "lease": None}
NOTHING: list[None] = [None] * BATCH
SETTLE = {
    "tokens": [1] * BATCH,
    "events": ["fail"] * BATCH,
    "delays": NOTHING,
    "excused": [False] * BATCH,
    "permanent": [False] * BATCH,
    "results": NOTHING,
    "errors": NOTHING,
    "targets": NOTHING,
    "actor": "worker",
    "note": None,
    "in_transaction": False,
}

# statement, params (`ids` are filled in), the index it must find its rows by, how many rows it handles
STATEMENTS: dict[str, tuple[str, dict[str, Any], str, int]] = {
    "claim of one queue": ("jobs/claim", {**ONE_QUEUE, **CLAIM}, "jobs_claim", BATCH),
    "claim of several queues": ("jobs/claim", {**TWO_QUEUES, **CLAIM}, "jobs_claim", BATCH),
    "claim of one priority": ("jobs/claim", {**ONE_PRIORITY, **CLAIM}, "jobs_claim", BATCH),
    "claim of one job": ("jobs/claim_job", {"id": ..., "worker": "w", "lease": None}, "jobs_pkey", 1),
    "complete": ("jobs/complete", {"tokens": [1] * BATCH, "results": NOTHING}, "jobs_pkey|jobs_held", BATCH),
    "settle": ("jobs/settle", SETTLE, "jobs_pkey|jobs_held", BATCH),
    "extend": (
        "leases/extend_many",
        {"tokens": [1] * BATCH, "seconds": [60.0] * BATCH, "progress": NOTHING},
        "jobs_pkey|jobs_held",
        BATCH,
    ),
    "explain lost leases": ("jobs/traces", {}, "jobs_pkey", BATCH),
    "explain busy leases": ("leases/standing", {}, "jobs_pkey", BATCH),
    "promote": ("jobs/promote", {"limit": BATCH}, "jobs_due", BATCH),
    "find late jobs": ("jobs/find_late", {"limit": BATCH, "only": None}, "jobs_expiry", BATCH),
    "get": ("jobs/get", {"id": ...}, "jobs_pkey", 1),
}
# The buffers that one row may cost: its page, its entries in five indexes, their copies in history.
A_ROW, A_STATEMENT = 60, 300


class Explained:
    """A plan that has been run."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self.nodes = list(_nodes(plan))
        self.buffers = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        self.rows = plan["Actual Rows"]

    def index_scans(self) -> set[str]:
        return {node["Index Name"] for node in self.nodes if "Index Name" in node}

    def whole_scans(self) -> list[str]:
        return [
            node["Node Type"]
            for node in self.nodes
            if node["Node Type"] == "Seq Scan" and node["Relation Name"] == "jobs"
        ]

    def most_read(self) -> float:
        """The most rows that any node has seen, the filtered ones included."""
        return max(
            (node["Actual Rows"] + node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Join Filter", 0))
            * node["Actual Loops"]
            for node in self.nodes
        )

    def locked(self) -> float:
        return sum(
            round(node["Actual Rows"] * node["Actual Loops"]) for node in self.nodes if node["Node Type"] == "LockRows"
        )


class Grown:
    """A session whose statements were prepared on an empty table, which holds many jobs now."""

    def __init__(self, conn: Connection[Any], dsn: str) -> None:
        self.conn = conn
        conn.execute("ALTER TABLE howdah.jobs SET (autovacuum_enabled = false)")
        conn.execute("VACUUM ANALYZE howdah.jobs")
        running = list(range(1, BATCH + 1))
        self.params = {name: _with_ids(params, running, 1) for name, (_, params, _, _) in STATEMENTS.items()}
        for number, (name, (statement, *_)) in enumerate(STATEMENTS.items()):
            self.prepare(f"kept{number}", statement)
            for _ in range(7):  # from the sixth time on PostgreSQL keeps the plan
                conn.execute(self.execute(f"kept{number}", name))
        with psycopg.connect(dsn, autocommit=True) as other:
            other.execute(FILL)
        ids = "SELECT id FROM howdah.jobs WHERE state = %s AND subject IS NULL ORDER BY id LIMIT %s"
        running = [row[0] for row in conn.execute(ids, ["running", 20 * BATCH])][::20]
        available = [row[0] for row in conn.execute(ids, ["available", 1])]
        self.params = {name: _with_ids(params, running, available[0]) for name, (_, params, _, _) in STATEMENTS.items()}

    def prepare(self, prepared: str, statement: str) -> None:
        text = load(statement)
        for number, name in enumerate(_names(text), start=1):
            text = text.replace(f"%({name})s", f"${number}")
        self.conn.execute(sql.SQL("PREPARE {} AS {}").format(sql.Identifier(prepared), sql.SQL(text)))

    def execute(self, prepared: str, name: str) -> sql.Composed:
        given = [sql.Literal(self.params[name][param]) for param in _names(load(STATEMENTS[name][0]))]
        return sql.SQL("EXECUTE {} ({})").format(sql.Identifier(prepared), sql.SQL(", ").join(given))

    def explain(self, name: str, mode: str) -> Explained:
        """Run the statement by a plan of this sort, and undo what it did."""
        prepared = f"kept{list(STATEMENTS).index(name)}"
        if mode != "kept":
            prepared = "fresh"
            self.prepare(prepared, STATEMENTS[name][0])
        try:
            with self.conn.transaction(force_rollback=True):
                # As the product runs it, but for a plan that nobody can wait for.
                self.conn.execute("SET LOCAL statement_timeout = '60s'")
                mode_of_plan = "custom" if mode == "custom" else "generic"
                self.conn.execute(f"SET LOCAL plan_cache_mode = force_{mode_of_plan}_plan")
                explain = sql.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ") + self.execute(prepared, name)
                row = self.conn.execute(explain).fetchone()
        finally:
            if mode != "kept":
                self.conn.execute("DEALLOCATE fresh")
        assert row is not None
        return Explained(row[0][0]["Plan"])


def _grown(server: Server, template: str, *, analysed: bool) -> Iterator[Grown]:
    with database(server, template=template) as name:
        dsn = server.dsn_for(name)
        with psycopg.connect(dsn, autocommit=True, prepare_threshold=None) as conn:
            grown = Grown(conn, dsn)
            if analysed:
                conn.execute("ANALYZE howdah.jobs")
            yield grown


@pytest.fixture(scope="module")
def stale(server: Server, template: str) -> Iterator[Grown]:
    """The table was last analysed when it was empty."""
    yield from _grown(server, template, analysed=False)


@pytest.fixture(scope="module")
def analysed(server: Server, template: str) -> Iterator[Grown]:
    """The table has just been analysed."""
    yield from _grown(server, template, analysed=True)


@pytest.mark.parametrize("mode", ["kept", "custom", "generic"])
@pytest.mark.parametrize("name", STATEMENTS)
@pytest.mark.parametrize("statistics", ["stale", "analysed"])
def test_a_statement_reads_in_proportion_to_its_limit(
    request: pytest.FixtureRequest, statistics: str, name: str, mode: str
) -> None:
    plan = request.getfixturevalue(statistics).explain(name, mode)
    _, _, index, rows = STATEMENTS[name]
    assert not plan.whole_scans()
    assert any(re.fullmatch(index, used) for used in plan.index_scans()), plan.index_scans()
    assert plan.buffers <= A_STATEMENT + A_ROW * rows
    assert plan.most_read() <= 20 * rows + 50


@pytest.mark.parametrize("mode", ["kept", "custom", "generic"])
@pytest.mark.parametrize("name", ["claim of one queue", "claim of several queues", "claim of one priority", "promote"])
@pytest.mark.parametrize("statistics", ["stale", "analysed"])
def test_what_is_taken_in_order_is_never_sorted(
    request: pytest.FixtureRequest, statistics: str, name: str, mode: str
) -> None:
    plan = request.getfixturevalue(statistics).explain(name, mode)
    assert not [node for node in plan.nodes if "Sort" in node["Node Type"]]


@pytest.mark.parametrize(
    "switched_off", ["", "nestloop", "hashjoin", "mergejoin", "indexscan", "bitmapscan", "material", "seqscan"]
)
@pytest.mark.parametrize("name", ["claim of one queue", "claim of several queues", "claim of one priority", "promote"])
def test_under_no_plan_are_more_rows_locked_or_given_than_the_limit(stale: Grown, switched_off: str, name: str) -> None:
    with stale.conn.transaction(force_rollback=True):
        if switched_off:
            stale.conn.execute(f"SET LOCAL enable_{switched_off} = off")
        plan = stale.explain(name, "custom")
    assert abs(plan.locked() - BATCH) <= 1  # before 18 PostgreSQL rounds what each of several ranges gave
    assert plan.rows <= BATCH


@pytest.mark.parametrize("statistics", ["stale", "analysed"])
def test_the_reaper_reads_the_running_rows_and_no_others(request: pytest.FixtureRequest, statistics: str) -> None:
    grown = request.getfixturevalue(statistics)
    with grown.conn.transaction(force_rollback=True):
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + load("leases/find_expired")
        row = grown.conn.execute(explain.encode(), {"limit": BATCH, "after": 0, "only": None}).fetchone()
    assert row is not None
    plan = Explained(row[0][0]["Plan"])
    assert plan.index_scans() == {"jobs_held"}
    assert plan.most_read() <= JOBS // 5


@pytest.mark.parametrize("statistics", ["stale", "analysed"])
def test_an_enqueue_finds_the_older_jobs_of_its_subject_by_the_index(
    request: pytest.FixtureRequest, statistics: str
) -> None:
    conn = request.getfixturevalue(statistics).conn
    with conn.transaction(force_rollback=True):
        enqueue = "SELECT howdah.enqueue('k', subject => 's7')"
        for _ in range(7):
            conn.execute(enqueue)
        row = conn.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + enqueue).fetchone()
    assert row is not None
    assert Explained(row[0][0]["Plan"]).buffers < A_STATEMENT


def _with_ids(params: dict[str, Any], running: list[int], available: int) -> dict[str, Any]:
    return {"ids": running, **{name: available if value is ... else value for name, value in params.items()}}


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)
