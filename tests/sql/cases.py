"""Jobs in every state, with every fact that a statement looks at: what the conformance test runs the statements on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count, product
from typing import Any, get_args

from psycopg import Connection

from howdah.model.job import FINAL, UNSTARTED, JobState, OnCrash, OnSupersede
from howdah.model.transitions import Facts

CAP = 3
CLAIM_NO = 100
QUEUE, ELSEWHERE = "q", "elsewhere"
# What makes a job outdated, and what only looks so: (table, state, claim_no) of the newer job.
NEWER_UNSTARTED = (("jobs", "available", None), ("jobs", "scheduled", None), ("jobs", "blocked", None))
NEWER_WAYS = (
    *NEWER_UNSTARTED,
    ("jobs", "running", CLAIM_NO + 1),
    ("jobs", "unknown", CLAIM_NO + 1),
    ("history", "completed", CLAIM_NO + 1),
)
NEWER_CLAIMED_BEFORE = (("jobs", "running", CLAIM_NO - 1), ("history", "completed", CLAIM_NO - 1), None)


@dataclass
class Case:
    """One job: the facts about it, its id, and those of the jobs beside it."""

    facts: Facts
    id: int = 0
    newer: int | None = None
    key: str | None = None
    key_for: float | None = None
    rows: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def token(self) -> int:
        return self.facts.attempt if self.facts.token_is_current else self.facts.attempt - 1

    def __str__(self) -> str:
        default = Facts(state=self.facts.state)
        names = (name for name in Facts.__slots__ if getattr(self.facts, name) != getattr(default, name))
        return f"{self.facts.state} " + ", ".join(f"{name}={getattr(self.facts, name)}" for name in names)


def all_facts() -> Iterator[Facts]:
    """Every state with every combination of what can differ there."""
    flags = (False, True)
    for state, outdated, late, attempt in product(sorted(UNSTARTED), flags, flags, (0, 2)):
        for _, due in product(NEWER_WAYS, flags if state is JobState.SCHEDULED else (True,)):
            yield Facts(state=state, outdated=outdated, late=late, attempt=attempt, due=due, max_attempts=CAP)
    for policy, excused, outdated, cancelled in product(_policies(), (0, 1), flags, flags):
        held = Facts(
            state=JobState.RUNNING,
            attempt=CAP,
            excused=excused,
            max_attempts=CAP,
            on_crash=policy[0],
            on_supersede=policy[1],
            outdated=outdated,
            cancel_requested=cancelled,
        )
        for expired, (needs_start, started) in product(flags, ((False, False), (True, False), (True, True))):
            yield replace(held, lease_expired=expired, needs_start=needs_start, started=started)
        yield replace(held, state=JobState.UNKNOWN, lease_expired=True, started=True)
    for state, key_held, newer in product(sorted(FINAL), flags, flags):
        yield Facts(state=state, attempt=CAP, max_attempts=CAP, key_held=key_held, newer_unfinished=newer)


def insert(conn: Connection[Any], facts: Iterable[Facts]) -> list[Case]:
    """Write a job for each of these facts, in one database and apart from each other."""
    cases = [Case(fact) for fact in facts]
    found = conn.execute("SELECT nextval('howdah.job_id_seq') FROM generate_series(1, %s)", [3 * len(cases)]).fetchall()
    ids = iter(sorted(row[0] for row in found))
    for place, case in enumerate(cases):
        case.id = next(ids)
        _describe(case, place, ids)
    conn.cursor().executemany(
        "INSERT INTO howdah.kinds (kind, max_attempts, on_crash, on_supersede) VALUES (%s, %s, %s, %s)"
        " ON CONFLICT DO NOTHING",
        [(_kind(policy), CAP, *policy) for policy in _policies()],
    )
    for table in ("jobs", "history", "keys"):
        rows = [row for case in cases for name, row in case.rows if name == table]
        conn.execute(
            f"INSERT INTO howdah.{table} SELECT * FROM jsonb_populate_recordset(NULL::howdah.{table}, %s)",
            [json.dumps(rows, default=str)],
        )
    return cases


def _describe(case: Case, place: int, ids: Iterator[int]) -> None:
    facts, newer = case.facts, _newer(case.facts, place)
    subject = f"s{case.id}" if newer or place % 2 else None
    kind = _kind((facts.on_crash, facts.on_supersede))
    row = _row(case.id, kind, facts.state, facts.attempt, subject=subject, queue=QUEUE)
    row["excused"] = facts.excused
    if facts.state in UNSTARTED:
        row["run_at"] = _moment(-1 if facts.due else 3600)
        row["expires_at"] = _moment(-1) if facts.late else (None, _moment(3600))[place % 2]
    row["needs_start"] = facts.needs_start
    row["started_at"] = _moment(-5) if facts.started else None
    row["cancel_requested_at"] = _moment(-2) if facts.cancel_requested else None
    if facts.state in (JobState.RUNNING, JobState.UNKNOWN):
        row["lease_expires_at"] = _moment(-1 if facts.lease_expired else 3600)
    if place // 3 % 2 or facts.key_held:
        _add_key(case, row, place, ids)
    case.rows.append((_table(facts.state), row))
    if newer:
        case.newer = next(ids)
        table, state, claim_no = newer
        case.rows.append(
            (table, _row(case.newer, kind, state, 1 if claim_no else 0, subject=subject, claim_no=claim_no))
        )


def _newer(facts: Facts, place: int) -> tuple[str, str, int | None] | None:
    """A newer job of the subject: one that makes this one outdated, or one that looks as if."""
    if facts.newer_unfinished:
        return (("jobs", "running", CLAIM_NO - 1), ("jobs", "scheduled", None))[place % 2]
    if facts.state in FINAL:
        return (("history", "completed", CLAIM_NO + 1), None)[place % 2]
    if not facts.outdated:
        return NEWER_CLAIMED_BEFORE[place % 3]
    ways = NEWER_UNSTARTED if facts.attempt == 0 else NEWER_WAYS
    return ways[place % len(ways)]


def _add_key(case: Case, row: dict[str, Any], place: int, ids: Iterator[int]) -> None:
    case.key = row["key"] = f"key{case.id}"
    case.key_for = row["key_for"] = (None, 60.0)[place // 6 % 2]
    key = {"kind": row["kind"], "key": case.key, "job_id": case.id, "key_for": case.key_for, "free_at": None}
    if case.facts.key_held:
        other = _row(next(ids), row["kind"], "scheduled", 0, key=case.key)
        case.rows.append(("jobs", other))
        key["job_id"] = other["id"]
    elif case.facts.state in FINAL:
        if case.key_for is None:
            return
        key["free_at"] = _moment(3600)
    case.rows.append(("keys", key))


_positions = count(1)


def _row(job_id: int, kind: str, state: str, attempt: int, **columns: Any) -> dict[str, Any]:
    row = {
        "id": job_id,
        "position": next(_positions),
        "kind": kind,
        "state": state,
        "queue": ELSEWHERE,
        "run_at": _moment(3600 if state == "scheduled" else -1),
        "created_at": _moment(-10),
        "attempt": attempt,
        "excused": 0,
        "crashes": 0,
        "priority": 0,
        "needs_start": False,
        "args": {"n": job_id},
        "headers": {"h": "1"},
        "tags": ["t"],
        "errors": [{"event": "failed", "type": "Old", "message": "before", "attempt": 1}],
        "progress": {"p": 1},
        "origin_id": None,
    }
    if attempt:
        row |= {"claim_no": CLAIM_NO, "claimed_at": _moment(-10), "worker": "w"}
    if state in ("running", "unknown"):
        row["lease_expires_at"] = _moment(3600)
    if state in FINAL:
        settled = {"settled_by": "worker", "settled_event": "complete", "settled_attempt": attempt, "superseded_by": 1}
        row |= {"finished_at": _moment(0), "max_attempts": CAP, **settled}
    return {**row, **columns}


def _policies() -> Sequence[tuple[OnCrash, OnSupersede]]:
    return list(product(get_args(OnCrash), get_args(OnSupersede)))


def _kind(policy: tuple[OnCrash, OnSupersede]) -> str:
    return "-".join(policy)


def _table(state: JobState) -> str:
    return "history" if state in FINAL else "jobs"


def _moment(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)
