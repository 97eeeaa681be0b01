"""What a person asks reads little behind a long history, whatever PostgreSQL knows of the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from howdah.model.filter import Filter
from howdah.sql import load
from howdah.store import search
from howdah.store.following import Follower
from howdah.store.operation import Operation, Query, Selection
from tests.support.databases import database
from tests.support.jobs import run
from tests.support.servers import Server

FINISHED, LIVE, LIMIT = 200_000, 50_000, 50
FILL = f"""
SELECT howdah.ensure_partition((now() AT TIME ZONE 'UTC')::date - n) FROM generate_series(0, 3) AS n;
INSERT INTO howdah.history (id, run_at, created_at, finished_at, attempt, excused, max_attempts, crashes, priority,
    state, kind, queue, args, headers, tags, errors)
SELECT n, t, t, t, 1, 0, 10, 0, 0, CASE WHEN n % 100 = 0 THEN 'discarded' ELSE 'completed' END, 'k' || n % 7, 'q',
    '{{"to": "someone@example.com"}}', '{{}}', '{{}}', '[]'
FROM generate_series(1, {FINISHED}) AS n
CROSS JOIN LATERAL (SELECT now() - (1 - n::float / {FINISHED}) * interval '2 days' AS t) x;
INSERT INTO howdah.jobs (id, kind, queue, run_at)
SELECT {FINISHED} + n, 'k' || n % 7, 'q', now() FROM generate_series(1, {LIVE}) AS n;
"""
ASKED = {
    "all": Filter(),
    "a kind": Filter(kind="k3"),
    "finished of a state": Filter(states=("completed",)),
    "live of a state": Filter(states=("running",)),
    "of both": Filter(states=("discarded", "available")),
    "none that is older": Filter(older_than=60.0, states=("discarded",)),
}


@pytest.fixture(scope="module", params=["stale", "analysed"])
def grown(server: Server, template: str, request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    with (
        database(server, template=template) as name,
        psycopg.connect(server.dsn_for(name), autocommit=True) as conn,
    ):
        for command in (*FILL.split(";\n"), "ALTER TABLE howdah.jobs SET (autovacuum_enabled = off)"):
            conn.execute(command.encode())
        if request.param == "analysed":
            conn.execute("VACUUM ANALYZE")
        yield conn


def explain(conn: psycopg.Connection, text: str, params: Any) -> dict[str, Any]:
    with conn.transaction(force_rollback=True):
        row = conn.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {text}".encode(), params).fetchone()
    assert row is not None
    plan: dict[str, Any] = row[0][0]
    return plan


def buffers(plan: dict[str, Any]) -> int:
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def statement(operation: Operation[Any]) -> Selection:
    query = next(operation)
    if isinstance(query, Query):
        query = operation.send([{"errors": True}])
    assert isinstance(query, Selection)
    return query


@pytest.mark.parametrize("asked", ["all", "a kind", "finished of a state"])
def test_the_newest_are_found_without_sorting_or_reading_the_rest(
    grown: psycopg.Connection, asked: str, request: pytest.FixtureRequest
) -> None:
    query = statement(search.find(ASKED[asked], limit=LIMIT))
    plan = explain(grown, query.text, query.params)
    assert buffers(plan) < 3_000  # of some 10,000
    if request.node.callspec.params["grown"] == "stale" and asked == "a kind":
        return  # live jobs of which nothing is known are read once, as if the kind were rare; history is not
    assert all(node["Actual Rows"] <= 10 * LIMIT for node in nodes(plan["Plan"]))


@pytest.mark.parametrize("asked", sorted(ASKED))
def test_a_table_in_which_nothing_can_match_is_not_asked(grown: psycopg.Connection, asked: str) -> None:
    query = statement(search.find(ASKED[asked], limit=LIMIT))
    assert ("howdah.history" in query.text, "howdah.jobs" in query.text) == (
        ASKED[asked].wants_final,
        ASKED[asked].wants_live,
    )
    assert len(run(grown, search.find(ASKED[asked], limit=LIMIT))) == (0 if asked == "live of a state" else LIMIT)


def test_following_reads_the_end_of_history_and_not_the_rest(grown: psycopg.Connection) -> None:
    follower = Follower(Filter())
    assert run(grown, follower.look()) == []
    mark = run(grown, _mark())
    query = statement(search.find_finished(Filter(), mark["now"], mark["block"], mark["now"]))
    plan = explain(grown, query.text, query.params)
    assert {node["Node Type"] for node in nodes(plan["Plan"]) if "Scan" in node["Node Type"]} <= {"Tid Range Scan"}
    assert buffers(plan) < 200
    assert buffers(explain(grown, load("jobs/mark"), None)) < 300


def test_putting_one_job_back_is_as_cheap_before_the_first_analyze(grown: psycopg.Connection) -> None:
    """Its plan must not be priced for thousands of rows: PostgreSQL would compile it, for 200 ms, or read every day."""
    plan = explain(grown, load("jobs/requeue"), {"id": FINISHED // 2, "note": None})
    assert plan["Plan"]["Actual Rows"] == 1
    assert plan["Plan"]["Total Cost"] < 20_000
    assert buffers(plan) < 500


def _mark() -> Operation[Any]:
    return (yield Query("jobs/mark"))[0]
