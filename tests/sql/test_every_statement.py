"""Every .sql file: it runs, its first line says what it does, and it keeps the rules that all of them keep."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection
from psycopg.types.json import Jsonb

import howdah.sql
from howdah.sql import load, names
from tests.support.jobs import make_job

FOLDER = Path(howdah.sql.__file__).parent
SCHEMA = FOLDER.parent / "migrations" / "0001.sql"

WORKER = {"worker": "w", "hostname": "h", "pid": 1, "version": "1", "queues": Jsonb({"q": 1}), "kinds": ["k"]}
ONE = {"id": 1}
LEASE = {"id": 1, "token": 1}
NEW_JOB = {
    "kind": "k",
    "queue": None,
    "fallback_queue": "default",
    "priority": 0,
    "run_at": None,
    "delay": 1.5,
    "expires_in": 60.0,
    "max_attempts": 3,
    "args": "{}",
    "headers": "{}",
    "tags": ["t"],
}
COLUMNS = {
    "kinds": ["k", "k"],
    "queues": [None, "q"],
    "fallback_queues": ["default", "default"],
    "priorities": [0, 1],
    "delays": [None, 2.5],
    "run_ats": [None, None],
    "expires_ins": [None, 9.0],
    "max_attempts": [None, 2],
    "args": ["{}", "{}"],
    "headers": ["{}", "{}"],
    "tags": ["[]", '["t"]'],
}
REPORT = {
    "ids": [1, 2],
    "tokens": [1, 1],
    "events": ["fail", "complete"],
    "delays": [None, None],
    "excused": [False, False],
    "permanent": [False, False],
    "results": [None, "[1]"],
    "errors": ['{"event": "failed"}', None],
    "targets": [None, None],
    "actor": "worker",
    "note": None,
    "in_transaction": False,
}
RANGES = {"queues": ["q"], "lows": [-32768], "highs": [32767], "floors": [0], "quotas": [5]}
EXTENSIONS = {"ids": [1], "tokens": [1], "seconds": [60.0], "progress": ['{"done": 1}']}
POLICY = {"kind": "k", "queue": "q", "max_attempts": 3, "lease": 60, "on_crash": "retry", "on_supersede": "cancel"}
RETRY = {"retry_base": 5, "retry_factor": 2, "retry_cap": 60, "retry_jitter": 0.2}

PARAMS: dict[str, dict[str, Any]] = {
    "bell/arm": {},
    "bell/echo": {"channel": "c"},
    "bell/set": {"value": 0},
    "doctor/backend": {},
    "doctor/bounds": {"milliseconds": "1000"},
    "doctor/clock": {},
    "doctor/grants": {
        "roles": ["worker"],
        "whats": ["SELECT ON howdah.jobs"],
        "types": ["table"],
        "objects": ["howdah.jobs"],
        "fields": [None],
        "privileges": ["SELECT"],
        "writes": [False],
    },
    "doctor/horizon": {},
    "doctor/indexes": {},
    "doctor/kinds": {},
    "doctor/leases": {"overdue": 30.0},
    "doctor/loops": {"least": 10},
    "doctor/overdue": {"overdue": 30.0},
    "doctor/parked": {},
    "doctor/partitions": {"days": 3},
    "doctor/queues": {},
    "doctor/server": {},
    "doctor/sweeps": {},
    "doctor/tables": {},
    "doctor/workers": {},
    "history/ensure_partitions": {},
    "history/has_today": {},
    "history/prune": {"retention": 86400.0},
    "history/prune_keys": {"limit": 10},
    "history/take_turn": {"name": "jobs", "interval": 1.0},
    "jobs/audit": ONE,
    "jobs/claim": {**RANGES, "limit": 5, "worker": "w", "lease": None},
    "jobs/claim_job": {**ONE, "worker": "w", "lease": 30.0},
    "jobs/complete": {"ids": [1], "tokens": [1], "results": [None]},
    "jobs/enqueue": NEW_JOB,
    "jobs/enqueue_guarded": {"jobs": Jsonb([{"kind": "k", "key": "a", "subject": "s", "args": {}, "tags": ["t"]}])},
    "jobs/enqueue_many": COLUMNS,
    "jobs/find_late": {"limit": 10, "only": None},
    "jobs/get": ONE,
    "jobs/keep_evidence": {**LEASE, "event": "complete", "message": "late", "worker": "w"},
    "jobs/load": {},
    "jobs/mark": {},
    "jobs/promote": {"limit": 10},
    "jobs/readable": {},
    "jobs/requeue": {**ONE, "note": None},
    "jobs/ring": {"queues": ["q"]},
    "jobs/settle": REPORT,
    "jobs/standing": ONE,
    "jobs/state": ONE,
    "jobs/traces": {"ids": [1]},
    "kinds/known": {},
    "kinds/list": {},
    "kinds/queues": {"kinds": ["k"]},
    "kinds/register": {"policies": Jsonb([{**POLICY, **RETRY}]), "worker": "w"},
    "kinds/reset": {"kind": "k", "note": None},
    "kinds/set": {"defaults": Jsonb({**POLICY, **RETRY}), "changes": Jsonb({"lease": 5}), "note": "n"},
    "leases/asked": {"ids": [1], "tokens": [1]},
    "leases/extend": {**LEASE, "seconds": 60.0},
    "leases/extend_many": EXTENSIONS,
    "leases/find_expired": {"limit": 10, "after": 0, "only": None},
    "leases/standing": {"ids": [1]},
    "leases/start": LEASE,
    "queues/list": {},
    "queues/names": {},
    "queues/pause": {"queue": "q"},
    "queues/resume": {"queue": "q"},
    "queues/service": {**ONE, "most": 1000},
    "schema/session": {},
    "schema/version": {},
    "workers/beat": {**WORKER, "running": 1, "stuck": 0, "stopping": False},
    "workers/forget": {},
    "workers/knows": {"worker": "w"},
    "workers/leave": {"worker": "w"},
    "workers/list": {},
    "workers/register": WORKER,
}


def test_every_statement_is_tried_here() -> None:
    assert sorted(PARAMS) == sorted(names())


@pytest.mark.parametrize("name", sorted(set(PARAMS) - {"jobs/load"}))
def test_a_statement_runs_with_exactly_its_parameters(conn: Connection[Any], name: str) -> None:
    make_job(conn)
    assert set(re.findall(r"%\((\w+)\)", load(name))) == set(PARAMS[name])
    conn.execute(load(name).encode(), PARAMS[name])


def test_the_bulk_load_runs(conn: Connection[Any]) -> None:
    moment = datetime.now(UTC)
    with conn.cursor() as cursor, cursor.copy(load("jobs/load").encode()) as copy:
        copy.write_row(("k", "q", "available", 0, moment, None, None, "{}", "{}", ["t"]))
    assert conn.execute("SELECT kind, queue, position > 0 FROM howdah.jobs").fetchone() == ("k", "q", True)


@pytest.mark.parametrize("name", names())
def test_a_statement_begins_with_a_line_that_says_what_it_does(name: str) -> None:
    first = (FOLDER / f"{name}.sql").read_text().splitlines()[0]
    assert re.fullmatch(r"-- [A-Z].{10,130}[.,:;\w]", first), first


@pytest.mark.parametrize("name", names())
def test_a_parameter_has_a_type_and_stands_outside_quotes(name: str) -> None:
    """Without a cast PostgreSQL must guess; in quotes it would be text."""
    untyped = re.findall(r"%\((\w+)\)s(?!::)", load(name))
    typed = re.findall(r"%\((\w+)\)s::", load(name))
    assert set(untyped) <= set(typed)


def test_the_loader_refuses_a_parameter_in_quotes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "bad.sql").write_text("-- Bad.\nSELECT interval '%(ttl)s seconds'")
    monkeypatch.setattr("howdah.sql.resources.files", lambda _: tmp_path)
    with pytest.raises(ValueError, match="stands inside quotes"):
        load("jobs/bad")


# A bare howdah.clock() is volatile: an index cannot serve the comparison, 40 ms against 0.02. What *judges* reads it
# per row after the lock, in a SELECT list, and compares in the next step. Here are the comparisons that need no index.
JUDGING = {
    "jobs/requeue": "WHERE k.free_at <= howdah.clock() OR k.job_id = excluded.job_id",  # the row of the conflict
}


@pytest.mark.parametrize("name", names())
def test_what_finds_rows_reads_the_clock_once(name: str) -> None:
    text = load(name).replace(JUDGING.get(name, "\0"), "")
    assert not re.findall(r"(?:[<>]=?|\bBETWEEN\b|\bAND)\s*howdah\.clock\(\)|howdah\.clock\(\)\s*[<>]", text)


@pytest.mark.parametrize("name", names())
def test_there_is_one_clock(name: str) -> None:
    """Tests move it, and `now()` would be the transaction's start."""
    assert not re.findall(r"\bnow\(\)|clock_timestamp|current_timestamp|statement_timestamp|localtime", load(name))


FORBIDDEN_BEFORE_16 = {
    "RETURNING OLD/NEW": r"\bRETURNING\b[^;]*\b(?:old|new)\.",
    "MERGE": r"\bMERGE\b",
    "transaction_timeout": r"transaction_timeout",
    "uuidv7": r"uuidv7|uuidv4",
    "virtual columns": r"\bVIRTUAL\b",
    "any_value": r"any_value",
    "JSON constructors and JSON_TABLE": r"\bJSON_(?:TABLE|OBJECT|ARRAY|EXISTS|VALUE|QUERY|SCALAR)\b|\bIS JSON\b",
    "hexadecimal or underscored numbers": r"\b0x[0-9a-f]|\b\d+_\d",
    "pg_input_is_valid": r"pg_input_is_valid",
}


@pytest.mark.parametrize("feature", FORBIDDEN_BEFORE_16)
def test_nothing_needs_a_postgresql_newer_than_15(feature: str) -> None:
    users = [
        name for name, text in _everywhere().items() if re.search(FORBIDDEN_BEFORE_16[feature], text, re.IGNORECASE)
    ]
    assert not users


def test_whoever_writes_history_writes_the_same_columns() -> None:
    lists = {
        " ".join(columns.split())
        for text in _everywhere().values()
        for columns in re.findall(r"INSERT INTO howdah\.history \(([^)]*)\)", text)
    }
    assert len(lists) == 1
    created = re.search(r"CREATE TABLE howdah\.history \((.*?)CONSTRAINT", SCHEMA.read_text(), re.DOTALL)
    assert created
    assert re.findall(r"^\s+(\w+) ", created[1], re.MULTILINE) == lists.pop().split(", ")


def test_outdated_is_said_in_the_same_words_everywhere() -> None:
    rules = {name: _outdated_rule(text) for name, text in _everywhere().items() if "claim_no >" in text}
    assert rules.keys() >= {"jobs/claim", "jobs/claim_job", "jobs/settle", "jobs/standing", "leases/extend_many"}
    assert len(set(rules.values())) == 1, rules


@pytest.mark.parametrize("name", names())
def test_several_rows_are_locked_by_skipping_what_others_hold(name: str) -> None:
    """Save for settling, which locks in the order of ids, and for what waits for one row."""
    text = load(name)
    locks = re.findall(r"FOR (?:NO KEY )?UPDATE(?: OF \w)?( SKIP LOCKED)?", text)
    in_order = name in ("jobs/settle", "jobs/complete") and "ORDER BY x.id" in text
    waits_for_one = re.search(r"WHERE \w\.id = %\(id\)s", text) is not None
    assert all(locks) or (len(locks) == 1 and (in_order or waits_for_one))


def _outdated_rule(text: str) -> str:
    """The sub-select over newer jobs, with the judged job's alias as `?`."""
    found = re.findall(r"SELECT max\(newer\.id\).*?\) newer\b", text, re.DOTALL)
    assert len(found) == 1
    words = " ".join(found[0].split())
    judged = re.search(r"o\.kind = (\w)\.kind", words)
    assert judged
    return re.sub(rf"\b{judged[1]}\.", "?.", words)


def _everywhere() -> dict[str, str]:
    schema = re.sub(r"--[^\n]*", "", SCHEMA.read_text())
    return {**{name: load(name) for name in names()}, "0001.sql": schema}
