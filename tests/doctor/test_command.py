"""`howdah doctor` as a person, and as a monitor, uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

import howdah.sql
from howdah.cli import main
from howdah.diagnosis import CHECKS, work_rules
from howdah.sql import load
from howdah.store import diagnosis
from tests.doctor.conftest import ask
from tests.sql.test_every_statement import PARAMS
from tests.support.jobs import make_job
from tests.support.roles import apply, login


def doctor(dsn: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--dsn", dsn, *arguments])


def test_a_person_sees_what_is_wrong_and_what_to_do(dsn: str, conn: psycopg.Connection[Any]) -> None:
    make_job(conn, "unknown", kind="pay\n\x1b[2J")
    result = doctor(dsn)
    assert result.exit_code == 1
    assert "warning  unknown-jobs: 1 job for a person to resolve" in result.output
    assert "→ Find out what happened, then: howdah jobs resolve" in result.output
    assert "\x1b" not in result.output
    assert "ok " not in result.output
    assert "ok       grants: this role has all a worker needs" in doctor(dsn, "--all").output


def test_the_same_advice_is_given_once_and_the_sum_is_said(cloned_dsn: str, fresh_dsn: str) -> None:
    apply(cloned_dsn)
    with login(cloned_dsn, "howdah_producer") as producer:
        said = doctor(producer).output
    assert said.count("not checked") == 10
    assert said.count("Run it as a member of") == 1
    assert said.endswith("1 warning, 11 notes; 12 of 24 checks are fine\n")
    assert doctor(fresh_dsn).output.endswith("1 problem; the other checks need it fixed first\n")


def test_a_monitor_reads_json(dsn: str, conn: psycopg.Connection[Any]) -> None:
    job_id = make_job(conn, "unknown")
    result = doctor(dsn, "-o", "jsonl")
    said = {row["id"]: row for row in map(json.loads, result.output.splitlines())}
    assert (said["unknown-jobs"]["severity"], said["unknown-jobs"]["facts"]["jobs"]) == ("warning", [job_id])
    assert said["reachable"]["severity"] == "ok"


def test_the_exit_status_says_how_it_is(dsn: str, fresh_dsn: str) -> None:
    for finding in json.loads(doctor(dsn, "-o", "json").output):
        assert finding["severity"] == "ok" or finding["id"] == "durability"
    assert doctor(fresh_dsn).exit_code == 3
    assert doctor("host=/nowhere dbname=x password=hunter2").exit_code == 1
    assert doctor("mysql://x").exit_code == 2


def test_a_question_that_takes_too_long_costs_only_its_own_checks(
    own: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "LONGEST", 0.2)
    own.execute("BEGIN; LOCK TABLE howdah.kinds")
    try:
        said = ask(own.info.dsn)
    finally:
        own.execute("ROLLBACK")
    assert list(said) == ["unknown-kinds"]
    assert said["unknown-kinds"][0].title.startswith("not checked")


def test_a_connection_that_is_lost_meanwhile_is_a_problem(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(reader: diagnosis.Reader) -> Any:
        reader._connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(diagnosis.Reader, "_clock", cut)
    last = json.loads(doctor(dsn, "-o", "jsonl").output.splitlines()[-1])
    assert (last["id"], last["severity"]) == ("reachable", "problem")


@pytest.mark.parametrize("name", ["queues", "kinds", "loops", "leases", "overdue", "parked"])
def test_no_statement_reads_all_jobs(name: str, dsn: str, conn: psycopg.Connection[Any]) -> None:
    """Also with statistics from when the table was empty: jobs come out of an index, in its order."""
    conn.execute("INSERT INTO howdah.jobs (kind) SELECT 'k' FROM generate_series(1, 30000)")
    with conn.transaction():
        conn.execute(load("doctor/bounds").encode(), {"milliseconds": "0"})
        plan = conn.execute(f"EXPLAIN {load(f'doctor/{name}')}".encode(), PARAMS[f"doctor/{name}"]).fetchall()
    text = "\n".join(line for (line,) in plan)
    assert "Index" in text
    assert not re.search(r"(Seq|Bitmap Heap) Scan on jobs|Sort Key: j", text), text


def test_statements_count_as_far_as_the_rules_say() -> None:
    for name in ("leases", "overdue", "parked", "loops"):
        assert load(f"doctor/{name}").endswith(f"LIMIT {work_rules.SCAN}")


def test_every_set_of_facts_is_wanted() -> None:
    there = {file.stem for file in (Path(howdah.sql.__file__).parent / "doctor").glob("*.sql")}
    assert there - {"backend", "bounds"} == {check.facts for check in CHECKS} - {"pooler"}
